#ifndef MTLM_GRAPH_RUN_MESSAGE_H
#define MTLM_GRAPH_RUN_MESSAGE_H

/* Messages of communication nodes (runtime/comm/engine.h). */

#include "graph/run/collective_plan.h"
#include "graph/run/data.h"
#include "runtime/comm/message.h"

/* Fills message for a communication node: kind, data, dtype, count.  A send or
 * receive gets peer and tag, a collective group and reduction.  The tag is the
 * node's; the caller adds the microbatch's share.  handles, control [uses of
 * the node]: scratch, which must stay valid until the message is posted. */
void mtlm_run_message_of(const struct mtlm_run_data *data,
                         const struct mtlm_node *node,
                         const struct mtlm_submission *at,
                         starpu_data_handle_t *handles,
                         struct starpu_data_descr *control,
                         struct mtlm_message *message);

/* Writes the data that only orders the node: control [uses of the node].
 * Returns their number. */
int mtlm_run_message_control(const struct mtlm_run_data *data,
                             const struct mtlm_node *node,
                             const struct mtlm_submission *at,
                             struct starpu_data_descr *control);

/* Tells the engine the order of the collectives of the next iteration.  The
 * iteration has `microbatches` microbatches. */
void mtlm_run_message_order(struct mtlm_engine *engine,
                            const struct mtlm_collective_plan *plan,
                            int64_t microbatches);

#endif /* MTLM_GRAPH_RUN_MESSAGE_H */
