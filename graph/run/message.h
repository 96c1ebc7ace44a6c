#ifndef MTLM_GRAPH_SUBMIT_MESSAGE_H
#define MTLM_GRAPH_SUBMIT_MESSAGE_H

#include "graph/run/collective_plan.h"
#include "graph/run/data.h"
#include "runtime/comm/message.h"

/* What the engine is told of a communication node whose tensors are used for
 * the use-th time: kind, data, group; of a send or receive the peer and the
 * node's own tag.  handles: room for all of the node's uses, which must last
 * until the message is posted. */
void mtlm_message_of(const struct mtlm_run_data *data,
                     const struct mtlm_node *node, int64_t use,
                     starpu_data_handle_t *handles,
                     struct mtlm_message *message);

/* Tells the engine the order of the collectives of an iteration of so many
 * microbatches, which are posted next. */
void mtlm_message_order(struct mtlm_engine *engine,
                        const struct mtlm_collective_plan *plan,
                        int64_t microbatches);

#endif /* MTLM_GRAPH_SUBMIT_MESSAGE_H */
