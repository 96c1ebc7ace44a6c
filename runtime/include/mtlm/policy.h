#ifndef MTLM_POLICY_H
#define MTLM_POLICY_H

#include <stddef.h>
#include <stdint.h>

/* For scheduling policies: what StarPU's structures do not tell a scheduler of
 * mtlm-dag's graph.
 *
 * A policy is written as StarPU's manual says ("Defining A New Scheduling
 * Policy"), and compiled to a shared library with this header and StarPU's.
 * Every rank selects the policy by
 *
 *     STARPU_SCHED_LIB=./mine.so STARPU_SCHED=mine
 *
 * The program defines the functions below: a library links with StarPU only.
 * runtime/policies/ of the sources has policies to copy.
 *
 * Nothing here costs time unless a policy calls mtlm_policy_watch(). */

#ifdef __cplusplus
extern "C" {
#endif

/* Increments on an incompatible change of this header. */
#define MTLM_POLICY_VERSION 1

struct starpu_task;

/* What a library was built for.  A library writes MTLM_POLICY_PLUGIN; once,
 * outside functions, after including starpu.h and starpu_scheduler.h.  The
 * program refuses a library built for another version of this header or for
 * another StarPU.  The program accepts a library without a stamp, with a
 * warning. */
struct mtlm_policy_stamp {
    int32_t version, starpu_major, starpu_minor, starpu_release;
    uint64_t policy_bytes, task_bytes; /* sizes of StarPU's structures */
};
extern const struct mtlm_policy_stamp mtlm_policy_stamp;

#define MTLM_POLICY_STAMP                                                      \
    {                                                                          \
        MTLM_POLICY_VERSION, STARPU_MAJOR_VERSION, STARPU_MINOR_VERSION,       \
            STARPU_RELEASE_VERSION, sizeof(struct starpu_sched_policy),        \
            sizeof(struct starpu_task)                                         \
    }
#define MTLM_POLICY_PLUGIN                                                     \
    const struct mtlm_policy_stamp mtlm_policy_stamp = MTLM_POLICY_STAMP

/* Where a node runs: on a worker, or in the communication engine, for tensor,
 * pipeline or data parallelism. */
enum mtlm_lane { MTLM_LANE_COMPUTE, MTLM_LANE_TP, MTLM_LANE_PP, MTLM_LANE_DP };

/* The part of the training step that a node belongs to. */
enum mtlm_phase {
    MTLM_PHASE_FORWARD,   /* F */
    MTLM_PHASE_BACKWARD,  /* B: gradients of activations */
    MTLM_PHASE_WEIGHT,    /* W: gradients of weights */
    MTLM_PHASE_OPTIMIZER, /* reductions, norm, Adam; once per iteration */
    MTLM_PHASE_INIT,      /* once per run */
    MTLM_PHASE_EVAL,      /* validation */
    MTLM_PHASE_SAVE,      /* copies for a checkpoint, after an iteration */
};

enum mtlm_policy_kind {
    MTLM_POLICY_TASK, /* on a worker: a task of StarPU */
    MTLM_POLICY_SEND,
    MTLM_POLICY_RECEIVE,
    MTLM_POLICY_COLLECTIVE,
};

/* A node of this rank's graph: a task or a message.  Fields do not change.
 *
 * Lifetime.  A node lives until its ended() has returned, and at least as long
 * as every node that waits for the node.  Two uses are safe:
 *   - the node of a task, from the task's submission to its end;
 *   - a message that the policy stores in ready() and removes in ended(), both
 *     under a lock of the policy, while the policy holds the lock.  The nodes
 *     that wait for the message live as long. */
struct mtlm_policy_node {
    enum mtlm_policy_kind kind;
    enum mtlm_lane lane;
    enum mtlm_phase phase;
    const char *name;    /* of the operation: "linear_fwd", "all_reduce" */
    int64_t job;         /* number of the node on this rank, in program order; a
                          * node depends on earlier nodes only */
    int64_t iteration;   /* from 0 */
    int microbatch;      /* of the iteration or validation; -1: none */
    int stage;           /* virtual stage, of the whole model */
    int chunk;           /* virtual stage, of this rank: 0, 1 .. */
    int layer;           /* of the whole model; -1: outside the layers */
    int peer;            /* other rank of a send or receive; else -1 */
    int priority;        /* as in struct starpu_task */
    double flops, bytes; /* bytes of a message: those that this rank sends */
};

/* Events of messages, for a policy; NULL: not wanted.  Threads of StarPU and of
 * the communication engine call them, several at a time.  They must be quick,
 * and must not submit tasks, wait, or call MPI: the caller may have the turn of
 * MPI. */
struct mtlm_policy_watch {
    /* The message's data is there, or a receive's memory is free.  The engine
     * issues the message at its turn. */
    void (*ready)(const struct mtlm_policy_node *message);
    /* The engine has issued the message. */
    void (*started)(const struct mtlm_policy_node *message);
    /* The transfer is complete.  Nodes that wait for the message become ready
     * afterwards. */
    void (*ended)(const struct mtlm_policy_node *message);
};

/* Makes the program keep nodes, and report the events in *watch, which is
 * copied.  Called in init_sched().  NULL, in deinit_sched(): no more. */
void mtlm_policy_watch(const struct mtlm_policy_watch *watch);

/* Returns the node of a task; NULL: the task is StarPU's own, was submitted
 * while no policy watched, or has ended, as in post_exec_hook().
 *
 * With --comm-node task messages are tasks on a worker of their own, which runs
 * no other tasks.  A policy does not place them.  StarPU calls the policy's
 * submit_hook(), push_task_notify(), pre_exec_hook() and, when the message is
 * complete, post_exec_hook(). */
const struct mtlm_policy_node *mtlm_policy_node(const struct starpu_task *task);

/* Any thread may call the functions below, also with locks of the policy
 * held. */

enum mtlm_policy_state {
    MTLM_POLICY_WAITING, /* for other nodes; a task: not started */
    MTLM_POLICY_READY,   /* messages only: ready() */
    MTLM_POLICY_RUNNING,
    MTLM_POLICY_DONE,
};

enum mtlm_policy_state mtlm_policy_state(const struct mtlm_policy_node *node);

/* Returns the expected duration of a node in nanoseconds; -1: unknown.  The
 * duration is the mean over earlier executions for other microbatches.  Before
 * the first execution the duration is that of a synthetic run's model.  A
 * message counts from ready(), with a weight on short durations: those in which
 * the other ranks were ready as well.  A receive has none. */
int64_t mtlm_policy_duration_ns(const struct mtlm_policy_node *node);

/* Returns the expected or the real end of a node, on CLOCK_MONOTONIC; may lie
 * in the past.  -1: unknown, or the node is still WAITING. */
int64_t mtlm_policy_end_ns(const struct mtlm_policy_node *node);

/* Returns the continuation of a node: the next task in the chain of its
 * microbatch, past messages.  This is the first submitted task that waits for
 * the node, or for a message behind the node; a task of the same phase comes
 * first.  NULL: the chain goes on on another rank, or the node has ended. */
const struct mtlm_policy_node *mtlm_policy_next(
    const struct mtlm_policy_node *node);

/* Writes up to n predecessors of a node to on [n]; returns how many there are.
 * Nodes that had ended when the node was submitted are not among them. */
size_t mtlm_policy_predecessors(const struct mtlm_policy_node *node,
                                const struct mtlm_policy_node *on[], size_t n);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_POLICY_H */
