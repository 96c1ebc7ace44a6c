#ifndef MTLM_GRAPH_ORDER_MESSAGES_H
#define MTLM_GRAPH_ORDER_MESSAGES_H

/* The messages of an order's file.  The graph has its own; those of a file must
 * not contradict the passes. */

#include "graph/order/box.h"
#include "graph/order/order_rows.h"
#include "runtime/base/error.h"

/* Refuses a message that stands twice, that no other rank has an end of, or
 * that stands on the wrong side of its pass in the row.  The cells have passed
 * mtlm_order_cell_check().  A message may be missing. */
int mtlm_order_messages_check(const struct mtlm_order_rows *rows,
                              const struct mtlm_boxes *boxes,
                              struct mtlm_error *err);

#endif /* MTLM_GRAPH_ORDER_MESSAGES_H */
