#ifndef MTLM_POLICY_H
#define MTLM_POLICY_H

#include <stddef.h>
#include <stdint.h>

/* For scheduling policies: what a scheduler of mtlm-dag's graph needs and
 * StarPU's own structures do not hold.  A policy is written as StarPU's manual
 * says ("Defining A New Scheduling Policy"), compiled to a shared library
 * against this header and StarPU's, and brought by
 *
 *     STARPU_SCHED_LIB=./mine.so STARPU_SCHED=mine
 *
 * on every rank.  The functions below are the program's: a library is linked
 * with nothing but StarPU.  perf/policies/ of the sources has some to copy.
 *
 * Nothing of it costs anything unless a policy calls mtlm_policy_watch(). */

#ifdef __cplusplus
extern "C" {
#endif

/* Counts the changes of this header that old libraries do not survive. */
#define MTLM_POLICY_VERSION 1

struct starpu_task;

/* A library says once, outside functions and after including starpu.h and
 * starpu_scheduler.h: MTLM_POLICY_PLUGIN;  It is then
 * refused, with a sentence, by a program for which it was not built: one of
 * another version of this header, or with another StarPU.  One that does not
 * say it is taken, with a warning. */
struct mtlm_policy_stamp {
    int32_t version, starpu_major, starpu_minor, starpu_release;
    uint64_t policy_bytes, task_bytes; /* of StarPU's structures */
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

/* Where a node runs: on a worker, or, for the sake of tensor, pipeline or data
 * parallelism, in the communication engine. */
enum mtlm_lane { MTLM_LANE_COMPUTE, MTLM_LANE_TP, MTLM_LANE_PP, MTLM_LANE_DP };

/* What part of the training step a node belongs to. */
enum mtlm_phase {
    MTLM_PHASE_FORWARD,   /* F */
    MTLM_PHASE_BACKWARD,  /* B: gradients of activations */
    MTLM_PHASE_WEIGHT,    /* W: gradients of weights */
    MTLM_PHASE_OPTIMIZER, /* reductions, norm, Adam: once per iteration */
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

/* A node of the graph of this rank: a task or a message, of one microbatch of
 * one iteration.  Fields do not change.
 *
 * How long one lives: at least until its ended() has returned, and as long as
 * a node that waits for it lives.  So what mtlm_policy_node() says of a task
 * is there from the task's submission to its end; a message that a policy
 * notes down in ready() and strikes out in ended(), under its own lock, is
 * there while it holds that lock, and so are the nodes that wait for it. */
struct mtlm_policy_node {
    enum mtlm_policy_kind kind;
    enum mtlm_lane lane;
    enum mtlm_phase phase;
    const char *name; /* of the operation: "linear_fwd", "all_reduce" */
    int64_t job;      /* counts the nodes that this rank submitted: program
                       * order, in which nodes depend on earlier ones only */
    int64_t iteration;
    int microbatch;      /* of the iteration or validation; -1: of none */
    int stage;           /* virtual stage of the whole model */
    int chunk;           /* virtual stage of this rank: 0, 1 .. */
    int layer;           /* of the whole model; -1: outside the layers */
    int peer;            /* rank at the other end of a send or receive; -1 */
    int priority;        /* as in struct starpu_task */
    double flops, bytes; /* bytes of a message: what this rank sends of it */
};

/* What a policy wants to be told of messages.  Called by threads of StarPU and
 * of the communication engine, several at a time; they must be quick, and must
 * not submit, wait or call MPI, whose turn the program may have.  NULL: not.
 *
 * ready: the message's data is there, the engine issues it as soon as its turn
 * comes; of a receive, the memory is free.
 * started: it is issued.
 * ended: the transfer is over.  What waits for it becomes ready afterwards. */
struct mtlm_policy_watch {
    void (*ready)(const struct mtlm_policy_node *message);
    void (*started)(const struct mtlm_policy_node *message);
    void (*ended)(const struct mtlm_policy_node *message);
};

/* Called in a policy's init_sched(): the program keeps nodes from now on and
 * tells what *watch asks for (copied).  With NULL, in deinit_sched(): no
 * more. */
void mtlm_policy_watch(const struct mtlm_policy_watch *watch);

/* The node that the task is, or NULL: a task of StarPU's own, one that was
 * submitted when no policy watched, or one that has ended, as in
 * post_exec_hook().  With --comm-node task messages are tasks, too, on a worker
 * that no other task may run on: a policy does not get them to push, but is
 * told of them by submit_hook(), push_task_notify(), pre_exec_hook() and, when
 * the message is over, post_exec_hook(). */
const struct mtlm_policy_node *mtlm_policy_node(const struct starpu_task *task);

/* What follows may be called by any thread, also with locks of the policy
 * held. */

enum mtlm_policy_state {
    MTLM_POLICY_WAITING, /* for others; of a task: it has not started */
    MTLM_POLICY_READY,   /* messages only, see above */
    MTLM_POLICY_RUNNING,
    MTLM_POLICY_DONE,
};

enum mtlm_policy_state mtlm_policy_state(const struct mtlm_policy_node *node);

/* Nanoseconds that the node is expected to take, -1 if that is not known: the
 * mean of earlier executions of the same node for other microbatches, before
 * the first one what a synthetic run models.  A message counts from ready; of
 * its times rather the shortest count, when the other ranks were ready as
 * well.  Of a receive nothing is known. */
int64_t mtlm_policy_duration_ns(const struct mtlm_policy_node *node);

/* When the node is expected to end, or did, on CLOCK_MONOTONIC; -1: not known,
 * or it has not become RUNNING, or READY, yet.  May lie in the past. */
int64_t mtlm_policy_end_ns(const struct mtlm_policy_node *node);

/* The node's continuation: the task that follows in the chain of its
 * microbatch, messages between the two left out.  It is the first task
 * submitted that waits for the node, or for messages that wait for it, rather
 * of the same phase.  NULL: none (a chain goes on on another rank), or the node
 * has ended. */
const struct mtlm_policy_node *mtlm_policy_next(
    const struct mtlm_policy_node *node);

/* Stores up to n of the nodes that the node waits for, or waited for, in on[];
 * returns how many there are.  Those that had ended when it was submitted are
 * not among them. */
size_t mtlm_policy_predecessors(const struct mtlm_policy_node *node,
                                const struct mtlm_policy_node *on[], size_t n);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_POLICY_H */
