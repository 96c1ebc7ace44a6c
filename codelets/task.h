#ifndef MTLM_TASK_H
#define MTLM_TASK_H

/* The argument of an operation's task. */

#include "codelets/op.h"
#include "runtime/machine/recorder.h"

/* Argument (cl_arg) of an operation's task.  malloc() allocates the struct;
 * StarPU frees it with the task (cl_arg_free). */
struct mtlm_task {
    const struct mtlm_call *call; /* first call; the calls outlive the task */
    /* As in struct mtlm_context. */
    int64_t sample;
    double share;
    int64_t batch;
    /* Recorder of the execution, or NULL; the task completes record. */
    struct mtlm_recorder *recorder;
    struct mtlm_record record;
    /* The node that policies see (runtime/comm/policy_nodes.h), or NULL. */
    struct mtlm_policy_node *node;
    /* Replaces the kernel: the task sleeps for sleep_ns and touches no
     * operand. */
    bool sleeps;
    int64_t sleep_ns;
    int64_t ready_ns;     /* set by mtlm_codelet_task_ready() */
    const void *ready_by; /* thread that made the task ready */
    /* NULL, or checks values: called after the kernel with the first call's
     * operands. */
    void (*after)(const struct mtlm_task *task, void *const ptr[]);
    const void *after_arg;
    /* NULL, or called with part when the task has ended, from any thread. */
    void (*ended)(double part);
    double part;
};

#endif /* MTLM_TASK_H */
