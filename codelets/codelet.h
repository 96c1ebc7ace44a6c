#ifndef MTLM_CODELET_H
#define MTLM_CODELET_H

/* StarPU codelets of the operations and the callbacks of their tasks. */

#include <starpu.h>

#include "codelets/task.h"

/* Reports the end of a task to the policy, before dependent tasks begin.  Is
 * the epilogue_callback_func of tasks with a node; task: the struct mtlm_task.
 */
void mtlm_codelet_task_done(void *task);

/* Records a task that has ended and calls its ended().  Is the callback_func of
 * tasks; task: the struct mtlm_task. */
void mtlm_codelet_task_ended(void *task);

/* Notes when a task becomes ready.  Is the prologue_callback_func of tasks that
 * sleep; task: the struct mtlm_task. */
void mtlm_codelet_task_ready(void *task);

/* Creates the codelets.  Call after starpu_init().  synthetic: StarPU's
 * performance models return the tasks' sleep_ns instead of measured times. */
void mtlm_codelets_start(bool synthetic);

/* Frees the scratch of all workers.  Call before starpu_shutdown(). */
void mtlm_codelets_stop(void);

/* Returns the StarPU codelet of an operation.  Its tasks take a struct
 * mtlm_task as cl_arg and one vector handle per operand. */
struct starpu_codelet *mtlm_codelet(enum mtlm_op_kind kind);

#endif /* MTLM_CODELET_H */
