#ifndef MTLM_TASK_H
#define MTLM_TASK_H

#include "codelets/op.h"
#include "runtime/machine/recorder.h"

/* What a task of an operation is told: its cl_arg, in memory from malloc()
 * that StarPU frees with the task (cl_arg_free). */
struct mtlm_task {
    const struct mtlm_call *call; /* and its next ones; outlive the task */
    int64_t sample;               /* see struct mtlm_context */
    double share;                 /* the same */
    int64_t batch;                /* the same */
    /* Where to record the execution (record is completed), or NULL. */
    struct mtlm_recorder *recorder;
    struct mtlm_record record;
    /* What policies are told of it (runtime/comm/policy_nodes.h), or NULL. */
    struct mtlm_policy_node *node;
    /* Instead of the kernel: sleep so long, and touch no operand. */
    bool sleeps;
    int64_t sleep_ns;
    int64_t ready_ns;     /* set by mtlm_codelet_task_ready(), with */
    const void *ready_by; /* the thread that made it ready */
    /* Called after the kernel with the first call's operands, or NULL: checks
     * values. */
    void (*after)(const struct mtlm_task *task, void *const ptr[]);
    const void *after_arg;
    /* Called with part when the task has ended, from any thread, or NULL. */
    void (*ended)(double part);
    double part;
};

#endif /* MTLM_TASK_H */
