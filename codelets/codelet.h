#ifndef MTLM_CODELET_H
#define MTLM_CODELET_H

/* StarPU codelets of the operations and the callbacks of their tasks. */

#include <starpu.h>

#include "codelets/task.h"

/* Reports the end of a task to the policy, before dependent tasks begin.  task:
 * the struct mtlm_task, which has a node.  Use as epilogue_callback_func. */
void mtlm_codelet_task_done(void *task);

/* Records a task that has ended, and calls the task's ended().  task: the
 * struct mtlm_task.  Use as callback_func. */
void mtlm_codelet_task_ended(void *task);

/* Stores the time at which a task becomes ready.  task: the struct mtlm_task,
 * which sleeps.  Use as prologue_callback_func. */
void mtlm_codelet_task_ready(void *task);

/* Creates the codelets.  Call after starpu_init().  synthetic: StarPU's
 * performance models return sleep_ns of a task instead of measured times. */
void mtlm_codelets_start(bool synthetic);

/* Frees the scratch of all workers.  Call before starpu_shutdown(). */
void mtlm_codelets_stop(void);

/* Returns the StarPU codelet of an operation.  A task of the codelet takes a
 * struct mtlm_task as cl_arg.  The task's handles: one vector per operand
 * (mtlm_call_n_operands()), then handles for ordering only. */
struct starpu_codelet *mtlm_codelet(enum mtlm_op_kind kind);

#endif /* MTLM_CODELET_H */
