#ifndef MTLM_GRAPH_ORDER_MEMORY_H
#define MTLM_GRAPH_ORDER_MEMORY_H

/* Memory of the slots that an order needs (graph/order/slot_count.h). */

#include "graph/order/order.h"
#include "graph/order/slot_count.h"

/* Memory that each rank has, in the unit of boxes->memory. */
struct mtlm_order_limit {
    const double *most; /* [ranks], borrowed */
    struct mtlm_slot_rules slots;
};

/* Returns the memory of the slots of a rank. */
double mtlm_order_memory(const struct mtlm_box_order *order,
                         const struct mtlm_boxes *boxes, int rank,
                         const struct mtlm_slot_rules *slots);

/* Returns the first place in the order of a rank, at which the slots so far
 * take more than limit->most[rank], or -1.  Sets *memory to the memory of these
 * slots. */
int mtlm_order_memory_exceeds(const struct mtlm_box_order *order,
                              const struct mtlm_boxes *boxes, int rank,
                              const struct mtlm_order_limit *limit,
                              double *memory);

#endif /* MTLM_GRAPH_ORDER_MEMORY_H */
