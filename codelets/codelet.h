#ifndef MTLM_CODELET_H
#define MTLM_CODELET_H

#include <starpu.h>

#include "codelets/task.h"

/* The task's epilogue_callback_func, with the struct mtlm_task as its argument,
 * if that has a node: says that it has ended, before what waits for it
 * begins. */
void mtlm_codelet_task_done(void *task);

/* The task's callback_func, with the struct mtlm_task as its argument: does
 * what .recorder and .ended ask for. */
void mtlm_codelet_task_ended(void *task);

/* To be the prologue of each task that sleeps: notes when it is ready. */
void mtlm_codelet_task_ready(void *task);

/* Starts what all codelets share; between starpu_init and starpu_shutdown.
 * synthetic: durations are those that tasks say. */
void mtlm_codelets_start(bool synthetic);
void mtlm_codelets_stop(void);

/* The StarPU codelet of an operation.  Its tasks take a struct mtlm_task as
 * cl_arg and one vector handle per operand. */
struct starpu_codelet *mtlm_codelet(enum mtlm_op_kind kind);

#endif /* MTLM_CODELET_H */
