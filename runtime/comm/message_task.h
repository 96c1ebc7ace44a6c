#ifndef MTLM_MESSAGE_TASK_H
#define MTLM_MESSAGE_TASK_H

#include <mtlm/policy.h>

#include "runtime/comm/transfer.h"

/* Messages as tasks of StarPU (struct mtlm_engine_config.tasks). */

/* Submits the task of a transfer; the task hands the transfer to the engine. */
void mtlm_message_task_submit(struct mtlm_transfer *transfer);

/* Ends the task of a transfer.  Called by the engine's thread when the message
 * is complete. */
void mtlm_message_task_end(struct mtlm_transfer *transfer);

/* Returns the node of a message's task; NULL: the task is none. */
const struct mtlm_policy_node *mtlm_message_task_node(
    const struct starpu_task *task);

#endif /* MTLM_MESSAGE_TASK_H */
