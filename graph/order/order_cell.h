#ifndef MTLM_GRAPH_ORDER_CELL_H
#define MTLM_GRAPH_ORDER_CELL_H

/* Single cells of an order's file, beside the job that the order is for. */

#include "graph/order/box.h"
#include "graph/order/order_rows.h"
#include "runtime/base/error.h"

/* Refuses a cell with its place and why.  Returns -1. */
int mtlm_order_cell_refuse(const struct mtlm_order_rows *rows, int row,
                           const struct mtlm_order_entry *entry,
                           const char *why, struct mtlm_error *err);

/* Refuses a cell of a stage or microbatch that its rank does not have. */
int mtlm_order_cell_check(const struct mtlm_order_rows *rows, int row,
                          const struct mtlm_order_entry *entry,
                          const struct mtlm_boxes *boxes,
                          struct mtlm_error *err);

#endif /* MTLM_GRAPH_ORDER_CELL_H */
