#ifndef MTLM_ORDER_WRITE_H
#define MTLM_ORDER_WRITE_H

/* Writes files of orders (graph/order/order_file.h). */

#include "graph/order/order.h"
#include "runtime/base/error.h"

/* Writes the order as compute_only: F, I and W; B where W follows its I at
 * once.  The last piece of W stands for W.
 *
 * If a rank has several lanes, each row is a lane: rank and lane, as 0.1, then
 * the cells.  A column of a rank has one cell, and columns are the order of
 * starts; each W is in one piece.  Returns 0, or -1 with err. */
int mtlm_order_write(const char *path, const struct mtlm_boxes *boxes,
                     const struct mtlm_box_order *order,
                     struct mtlm_error *err);

/* Bytes of an action's text, as in "12F345". */
enum { MTLM_ORDER_WRITE_ACTION = 48 };

/* Returns the column, from 1, of the file that mtlm_order_write() writes, in
 * which the F or B at this place of a rank's order stands.  The order has no
 * lanes.  Sets action. */
int mtlm_order_write_column(const struct mtlm_boxes *boxes,
                            const struct mtlm_box_order *order, int rank,
                            int place, char action[MTLM_ORDER_WRITE_ACTION]);

#endif /* MTLM_ORDER_WRITE_H */
