#ifndef MTLM_GRAPH_ORDER_BUILD_H
#define MTLM_GRAPH_ORDER_BUILD_H

/* The order of a published schedule (graph/order/published.h) for the pipeline
 * of a program. */

#include "graph/build/program.h"
#include "graph/order/published.h"

/* Returns the order for config's pipeline, by the times of graph/build/ring.h.
 * The schedule lacks nothing there.  The caller frees the order with
 * mtlm_order_free().
 *
 * An order that respects memory stays within config->act_mem, with the
 * activations measured; 0: within the schedule's own limit.  Where no such
 * order fits, and for other orders, the order may need more than act_mem. */
struct mtlm_box_order mtlm_order_build(
    const struct mtlm_published *published,
    const struct mtlm_program_config *config);

#endif /* MTLM_GRAPH_ORDER_BUILD_H */
