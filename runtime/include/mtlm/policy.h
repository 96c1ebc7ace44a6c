#ifndef MTLM_POLICY_H
#define MTLM_POLICY_H

/* mtlm-dag's graph for scheduling policies: nodes, messages, durations,
 * dependencies.  StarPU's structures do not have this information.
 *
 * Write a policy as StarPU's manual says ("Defining A New Scheduling Policy").
 * Compile the policy to a shared library with this header and StarPU's.  Select
 * the policy on every rank by
 *
 *     STARPU_SCHED_LIB=./mine.so STARPU_SCHED=mine
 *
 * The program defines the functions below: a library links with StarPU only.
 * runtime/policies/ of the sources has policies to copy.
 *
 * This interface costs no time unless a policy calls mtlm_policy_watch(). */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header: increments on an incompatible change. */
#define MTLM_POLICY_VERSION 2

struct starpu_task;

/* Stamp: the versions for which a library was built.  A library defines its
 * stamp by the line
 *
 *     MTLM_POLICY_PLUGIN;
 *
 * outside functions, after including starpu.h and starpu_scheduler.h.
 *
 * The program refuses a library built for another version of this header or for
 * another StarPU.  StarPU with SimGrid, which runs in virtual time, is another
 * StarPU.  The program accepts a library without a stamp, with a warning. */
struct mtlm_policy_stamp {
    int32_t version, starpu_major, starpu_minor, starpu_release;
    uint64_t policy_bytes, task_bytes; /* sizes of StarPU's structures */
    int32_t virtual_time;              /* 1: built for StarPU with SimGrid */
};
extern const struct mtlm_policy_stamp mtlm_policy_stamp;

#ifdef STARPU_SIMGRID
#define MTLM_POLICY_VIRTUAL_TIME 1
#else
#define MTLM_POLICY_VIRTUAL_TIME 0
#endif
#define MTLM_POLICY_STAMP                                                      \
    {                                                                          \
        MTLM_POLICY_VERSION, STARPU_MAJOR_VERSION, STARPU_MINOR_VERSION,       \
            STARPU_RELEASE_VERSION, sizeof(struct starpu_sched_policy),        \
            sizeof(struct starpu_task), MTLM_POLICY_VIRTUAL_TIME               \
    }
#define MTLM_POLICY_PLUGIN                                                     \
    const struct mtlm_policy_stamp mtlm_policy_stamp = MTLM_POLICY_STAMP

/* Where a node runs: on a worker (COMPUTE); in the communication engine as a
 * message of tensor (TP), pipeline (PP) or data parallelism (DP); or in the
 * threads that read and write the disk of --offload (DISK).  Later versions may
 * append lanes. */
enum mtlm_lane {
    MTLM_LANE_COMPUTE,
    MTLM_LANE_TP,
    MTLM_LANE_PP,
    MTLM_LANE_DP,
    MTLM_LANE_DISK,
};

/* The part of the training step that a node belongs to. */
enum mtlm_phase {
    MTLM_PHASE_FORWARD,   /* F */
    MTLM_PHASE_BACKWARD,  /* B: gradients of activations */
    MTLM_PHASE_WEIGHT,    /* W: gradients of weights */
    MTLM_PHASE_OPTIMIZER, /* once per iteration: packed weights,
                           * reductions, norm, Adam */
    MTLM_PHASE_INIT,      /* once per run */
    MTLM_PHASE_EVAL,      /* validation */
    MTLM_PHASE_SAVE,      /* copies for a checkpoint, after an iteration */
};

/* What a node is.  Everything but a task counts as a message.  Later versions
 * may append kinds. */
enum mtlm_policy_kind {
    MTLM_POLICY_TASK, /* on a worker: a task of StarPU */
    MTLM_POLICY_SEND,
    MTLM_POLICY_RECEIVE,
    MTLM_POLICY_COLLECTIVE,
    MTLM_POLICY_LOAD,  /* from the disk of --offload */
    MTLM_POLICY_STORE, /* to that disk */
};

/* A node of this rank's graph: a task or a message.  Fields do not change.
 *
 * The program owns nodes.  A node lives until the node and all nodes that wait
 * for the node have ended.  A message lives at least until ended() returns.
 * Two uses are safe:
 *   - the node of a task, from the task's submission to the task's end;
 *   - a message that the policy stores in ready() and removes in ended(), both
 *     under a lock of the policy.  Use the message, and nodes that wait for the
 *     message, under the same lock. */
struct mtlm_policy_node {
    enum mtlm_policy_kind kind;
    enum mtlm_lane lane;
    enum mtlm_phase phase;
    const char *name;  /* of the operation: "linear_fwd", "all_reduce" */
    int64_t job;       /* number of the submission on this rank, in program
                        * order; a node depends on smaller numbers only */
    int64_t iteration; /* from 0 */
    int microbatch;    /* in the iteration or validation; -1: none */
    int microbatches;  /* of the iteration or validation on this rank */
    int stage;         /* virtual stage, as the model counts them */
    int chunk;         /* virtual stage, as this rank counts them: 0, 1 .. */
    int layer;         /* in the model; -1: outside the layers */
    int peer;          /* other rank of a send or receive; else -1 */
    int priority;      /* as in struct starpu_task */
    int rank;          /* of this process, as in mtlm_policy_rank() */
    /* 1: the first, the last task of a pass in program order.  A pass: F, B or
     * W of a microbatch on a virtual stage.  Tasks that only read samples or
     * add up losses are no ends.  A pass of one task has both. */
    int first, last;
    /* Of a collective: its place among the collectives of this rank's
     * iteration, from 0, in the planned order.  With --collective-order plan
     * the engine issues collectives in this order.  In mtlm-dag-sim the order
     * is the evaluator's, and nothing enforces the order.  -1: no plan.  By
     * default the leader issues ready collectives by priority.  Sends and
     * receives are issued as soon as they are ready. */
    int order;
    /* Floating-point operations; bytes of the operands that the node reads and
     * writes.  An operand updated in place counts twice.  A message has the
     * bytes of its data: an all-gather, those of one rank's block. */
    double flops, bytes;
};

/* Functions of a policy that the program calls at events of messages; NULL: not
 * called.  Threads of StarPU and of the communication engine call these
 * functions, several at a time.  For a LOAD or STORE, the threads of the disk
 * call started() and ended().
 *
 * The functions must be quick, and must not submit tasks, wait, or call MPI.
 * The calling thread may hold the lock around MPI. */
struct mtlm_policy_watch {
    /* The data to send is there, or the memory to receive into is free.  The
     * engine issues the message in its turn. */
    void (*ready)(const struct mtlm_policy_node *message);
    /* The engine has issued the message. */
    void (*started)(const struct mtlm_policy_node *message);
    /* The transfer is complete.  Nodes that wait for the message become ready
     * after ended() has returned. */
    void (*ended)(const struct mtlm_policy_node *message);
};

/* Makes the program keep nodes and report events of messages.  Copies *watch.
 * Call this in init_sched(), and with NULL in deinit_sched(). */
void mtlm_policy_watch(const struct mtlm_policy_watch *watch);

/* Returns the node of a task.  Returns NULL if the task is StarPU's own, was
 * submitted while no policy watched, or has ended.  In post_exec_hook() the
 * task has ended.
 *
 * With --comm-node task, messages are tasks.  A worker that runs no other tasks
 * runs them; the policy does not place them.  In mode strict of an order with
 * lanes, a lane's passes run on the worker of the lane; the policy does not
 * place them, either.  StarPU calls the policy's
 * submit_hook(), push_task_notify() and pre_exec_hook() for such a task, and
 * post_exec_hook() when the message is complete.  A second task of the message,
 * "message_end", goes through the same functions and has no node: NULL. */
const struct mtlm_policy_node *mtlm_policy_node(const struct starpu_task *task);

/* Any thread may call the functions below, also while it holds locks of the
 * policy. */

/* Returns the time in nanoseconds: CLOCK_MONOTONIC, or virtual time in
 * mtlm-dag-sim. */
int64_t mtlm_policy_now_ns(void);

/* Returns the number of ranks whose tasks this process schedules: 1, in
 * mtlm-dag-sim all simulated ranks. */
int mtlm_policy_ranks(void);

/* Returns the rank of a worker, 0 .. mtlm_policy_ranks() - 1.  A worker runs
 * tasks of its rank only. */
int mtlm_policy_rank(unsigned worker);

/* A rank's place in the job. */
struct mtlm_policy_job {
    int tensor, pipeline, data; /* sizes of the groups: t, p, d ranks */
    int tensor_rank, pipeline_rank, data_rank; /* of this rank, from 0 */
    int virtual_stages;                        /* v of this rank */
    int workers;                               /* of this rank that compute */
    int microbatches; /* m of an iteration, after a batch ramp-up; a node has
                       * the number of its iteration */
};

/* Returns the place of a rank, 0 .. mtlm_policy_ranks() - 1.  All fields are 0
 * before the first task, so not in init_sched().  In mtlm-dag-sim a rank stands
 * for its tensor-parallel group and its replicas: tensor_rank and data_rank are
 * 0. */
struct mtlm_policy_job mtlm_policy_job(int rank);

/* The activation slots of a virtual stage on a rank.  A slot takes one
 * microbatch.  A microbatch has a slot of both kinds from the start of its F
 * on. */
struct mtlm_policy_slots {
    int backward; /* slots of activations that B reads last; until B ends */
    int weight;   /* slots of activations that W reads last; until W ends */
    int free;     /* microbatches whose F finds slots of both kinds now */
};

/* Returns the slots of a rank's virtual stage, 0 <= chunk < virtual_stages.
 * Without mtlm_policy_watch() all slots count as free.  Microbatches take slots
 * in turn: the F of a microbatch may wait for one slot while another slot is
 * free.  With an order (--schedule-file) the slots are the most that the order
 * keeps. */
struct mtlm_policy_slots mtlm_policy_slots(int rank, int chunk);

/* Makes StarPU call pop_task() for a worker at when_ns, though no task becomes
 * ready.  Replaces the worker's last call; INT64_MAX: never.  In a real run a
 * worker that sleeps already looks a millisecond late at most.  Does nothing
 * where StarPU was built with --enable-blocking-drivers. */
void mtlm_policy_ask_again(unsigned worker, int64_t when_ns);

enum mtlm_policy_state {
    MTLM_POLICY_WAITING, /* a message: waits for other nodes; a task: has not
                          * started */
    MTLM_POLICY_READY,   /* a message only: ready() */
    MTLM_POLICY_RUNNING,
    MTLM_POLICY_DONE,
};

/* Returns the state of a node. */
enum mtlm_policy_state mtlm_policy_state(const struct mtlm_policy_node *node);

/* Returns the expected duration of a node in nanoseconds; -1: unknown.  The
 * duration of a receive is always unknown.
 *
 * The source is earlier executions of the same node, for other microbatches.
 * Before the first execution, the source is the model of a synthetic run.
 *
 *   task               moving average, from start to end
 *   send, collective,  from ready() to end; a shorter duration counts at once,
 *   load, store        a longer one slowly
 *
 * Long durations of messages count slowly because they include waits for other
 * ranks. */
int64_t mtlm_policy_duration_ns(const struct mtlm_policy_node *node);

/* Returns the end of a node on the clock of mtlm_policy_now_ns(); -1: unknown,
 * or the node is WAITING.  The end is expected until the node is DONE, and may
 * lie in the past.
 *
 * The end of a receive is unknown until the sender announces the message.  The
 * sender does so when the pass starts that ends with the message: F, B or W of
 * a microbatch on a virtual stage.  The durations of earlier passes give the
 * time. Without earlier passes, the sender announces the message once the data
 * is ready. */
int64_t mtlm_policy_end_ns(const struct mtlm_policy_node *node);

/* Returns the task that continues the microbatch of a node.  NULL: another rank
 * continues the microbatch, or the node has ended.
 *
 * The successor of a node is the first submitted node of the same microbatch
 * that waits for the node.  Successors of the same phase come first.  Behind a
 * message, the function returns the successor of the message. */
const struct mtlm_policy_node *mtlm_policy_next(
    const struct mtlm_policy_node *node);

/* Writes the nodes for which a node waits to on [n], at most n.  Returns their
 * number, which may exceed n.  Leaves out nodes that had ended when the node
 * was submitted. */
size_t mtlm_policy_predecessors(const struct mtlm_policy_node *node,
                                const struct mtlm_policy_node *on[], size_t n);

/* What an evaluation of the job says about waits for messages, if the job has
 * pipeline ranks.  A share in the variable MTLM_HOLD replaces the
 * evaluation's. */
struct mtlm_policy_advice {
    double share; /* patience of the hold rule, as a share of the ready task's
                   * duration; 0: do not wait */
    int leaves_backward; /* B may be the ready task, too: priorities are places
                          * in an order */
};

/* Returns the advice.  Before the first task: do not wait. */
struct mtlm_policy_advice mtlm_policy_advice(void);

/* The hold rule.  Returns whether a free worker leaves a ready task for a more
 * urgent task that will be ready at when_ns.  The patience is a share of the
 * ready task's duration.  when_ns lies within the patience, and the worker
 * waits until when_ns plus the patience: less than twice the patience.  A task
 * that comes later than expected thus delays nothing for ever. */
static inline int mtlm_policy_holds(int64_t now_ns, int64_t when_ns,
                                    int64_t patience_ns)
{
    return when_ns < now_ns + patience_ns && now_ns < when_ns + patience_ns;
}

#ifdef __cplusplus
}
#endif

#endif /* MTLM_POLICY_H */
