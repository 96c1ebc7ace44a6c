#ifndef MTLM_GRAPH_ORDER_MEMORY_H
#define MTLM_GRAPH_ORDER_MEMORY_H

/* Memory of the slots that an order needs.  A virtual stage has rings: as many
 * slots as microbatches are ever in use together, for the whole run.  The rings
 * of a rank therefore may take more than its activations at any moment
 * (mtlm_order_peak()). */

#include "graph/order/order.h"

/* Memory that each rank has, in the unit of boxes->memory. */
struct mtlm_order_limit {
    const double *most; /* [ranks], borrowed */
    /* Share of a microbatch's memory that is in use until W ends; the rest is
     * in use until B ends.  0 means 1. */
    double weight_share;
};

/* Returns the slots' memory of a rank. */
double mtlm_order_memory(const struct mtlm_box_order *order,
                         const struct mtlm_boxes *boxes, int rank,
                         double weight_share);

/* Returns the first place in the order of a rank, at which the slots so far
 * take more than limit->most[rank], or -1.  Sets *memory to the memory of these
 * slots. */
int mtlm_order_memory_exceeds(const struct mtlm_box_order *order,
                              const struct mtlm_boxes *boxes, int rank,
                              const struct mtlm_order_limit *limit,
                              double *memory);

#endif /* MTLM_GRAPH_ORDER_MEMORY_H */
