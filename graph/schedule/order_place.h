#ifndef MTLM_GRAPH_ORDER_PLACE_H
#define MTLM_GRAPH_ORDER_PLACE_H

/* Places in an order (graph/order/order.h) as priorities. */

#include "graph/order/order.h"

/* Returns the places of a rank's boxes for struct mtlm_priority: [3 v m], 0
 * runs first.  boxes->pieces is 1.  The caller frees the result. */
int *mtlm_order_places(const struct mtlm_boxes *boxes,
                       const struct mtlm_box_order *order, int rank);

#endif /* MTLM_GRAPH_ORDER_PLACE_H */
