#ifndef MTLM_TASK_H
#define MTLM_TASK_H

/* The argument of an operation's task. */

#include "codelets/op.h"
#include "runtime/machine/recorder.h"

/* Argument (cl_arg) of an operation's task.  malloc() allocates the struct;
 * StarPU frees it with the task (cl_arg_free). */
struct mtlm_task {
    const struct mtlm_call *call; /* first call; borrowed until the task ends */
    /* See struct mtlm_context. */
    int64_t sample;
    double share;
    int64_t batch;
    bool first;
    int64_t position, rows;
    struct mtlm_recorder *recorder; /* borrowed; NULL: do not record */
    struct mtlm_record record; /* worker and times are set when the task ends */
    /* Node that policies see (runtime/comm/policy_nodes.h); NULL: no policy
     * watches. */
    struct mtlm_policy_node *node;
    /* Synthetic run: the task sleeps for sleep_ns instead of computing, and
     * touches no operand. */
    bool sleeps;
    int64_t sleep_ns;
    /* Time at which the task became ready, and the thread that made the task
     * ready; mtlm_codelet_task_ready() sets both. */
    int64_t ready_ns;
    const void *ready_by;
    /* Called after the kernel, to check or change values; NULL: not called.
     * ptr[i]: operand i of the first call, in host memory. */
    void (*after)(const struct mtlm_task *task, void *const ptr[]);
    const void *after_arg; /* borrowed, for after() */
    /* Called when the task has ended, from any thread; NULL: not called.  part:
     * share of the pass's floating-point operations. */
    void (*ended)(double part);
    double part;
};

#endif /* MTLM_TASK_H */
