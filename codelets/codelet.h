#ifndef MTLM_CODELET_H
#define MTLM_CODELET_H

#include <starpu.h>

#include "codelets/op.h"
#include "runtime/recorder.h"

/* What a task of an operation is told: its cl_arg, in memory from malloc()
 * that StarPU frees with the task (cl_arg_free). */
struct mtlm_task {
    const struct mtlm_call *call; /* outlives the task */
    int64_t sample;               /* see struct mtlm_context */
    /* Where to record the execution (record is completed), or NULL. */
    struct mtlm_recorder *recorder;
    struct mtlm_record record;
    /* Called after the kernel with the operands, or NULL: checks values. */
    void (*after)(const struct mtlm_task *task, void *const ptr[]);
    const void *after_arg;
    /* Called when the task has ended, from any thread, or NULL. */
    void (*ended)(void);
};

/* The task's callback_func, with the struct mtlm_task as its argument: does
 * what .recorder and .ended ask for. */
void mtlm_task_ended(void *task);

/* Starts what all codelets share; between starpu_init and starpu_shutdown. */
void mtlm_codelets_start(void);
void mtlm_codelets_stop(void);

/* The StarPU codelet of an operation.  Its tasks take a struct mtlm_task as
 * cl_arg and one vector handle per operand. */
struct starpu_codelet *mtlm_codelet(enum mtlm_op_kind kind);

#endif /* MTLM_CODELET_H */
