#ifndef MTLM_TASK_H
#define MTLM_TASK_H

/* The argument of an operation's task. */

#include "codelets/op.h"
#include "runtime/machine/recorder.h"

/* Argument (cl_arg) of an operation's task.  malloc() allocates the struct;
 * StarPU frees it with the task (cl_arg_free). */
struct mtlm_task {
    const struct mtlm_call *call; /* first call; the calls outlive the task */
    int64_t sample;               /* as in struct mtlm_context */
    double share;                 /* the same */
    int64_t batch;                /* the same */
    /* Recorder of the execution, or NULL; the task completes record. */
    struct mtlm_recorder *recorder;
    struct mtlm_record record;
    /* What policies know of the task (runtime/comm/policy_nodes.h), or NULL. */
    struct mtlm_policy_node *node;
    /* Replaces the kernel: the task sleeps for sleep_ns and touches no
     * operand. */
    bool sleeps;
    int64_t sleep_ns;
    int64_t ready_ns;     /* set by mtlm_codelet_task_ready() */
    const void *ready_by; /* thread that made the task ready */
    /* Called after the kernel with the first call's operands, to check values;
     * or NULL. */
    void (*after)(const struct mtlm_task *task, void *const ptr[]);
    const void *after_arg;
    /* Called with part when the task has ended, from any thread; or NULL. */
    void (*ended)(double part);
    double part;
};

#endif /* MTLM_TASK_H */
