#ifndef MTLM_GRAPH_ORDER_BUILD_H
#define MTLM_GRAPH_ORDER_BUILD_H

/* The order of a published schedule (graph/order/published.h) for the pipeline
 * of a program. */

#include "graph/build/program.h"
#include "graph/order/published.h"

/* Builds the order for config's pipeline, by the times of
 * graph/build/ring.h.  The schedule lacks nothing there.  The limit of each
 * rank is config->act_mem, with the activations measured; 0: the schedule's own
 * limit.
 *
 * Sets *order, which the caller frees with mtlm_order_free(), and returns 0.
 * Returns -1 and sets nothing if the memory is too small. */
int mtlm_order_build(const struct mtlm_published *published,
                     const struct mtlm_program_config *config,
                     struct mtlm_box_order *order);

#endif /* MTLM_GRAPH_ORDER_BUILD_H */
