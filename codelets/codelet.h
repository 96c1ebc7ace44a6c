#ifndef MTLM_CODELET_H
#define MTLM_CODELET_H

/* StarPU codelets of the operations and the callbacks of their tasks. */

#include <starpu.h>

#include "codelets/task.h"

/* epilogue_callback_func of a task with a node; argument: the struct
 * mtlm_task.  Reports the end of the task to the policy before dependent tasks
 * begin. */
void mtlm_codelet_task_done(void *task);

/* callback_func of a task; argument: the struct mtlm_task.  Records the task
 * and calls .ended. */
void mtlm_codelet_task_ended(void *task);

/* prologue_callback_func of a task that sleeps; argument: the struct
 * mtlm_task.  Notes when the task is ready. */
void mtlm_codelet_task_ready(void *task);

/* Creates the codelets.  Call after starpu_init().  synthetic: durations are
 * those that the tasks carry. */
void mtlm_codelets_start(bool synthetic);

/* Frees the scratch of all workers.  Call before starpu_shutdown(). */
void mtlm_codelets_stop(void);

/* Returns the StarPU codelet of an operation.  Its tasks take a struct
 * mtlm_task as cl_arg and one vector handle per operand. */
struct starpu_codelet *mtlm_codelet(enum mtlm_op_kind kind);

#endif /* MTLM_CODELET_H */
