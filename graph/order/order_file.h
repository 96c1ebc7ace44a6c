#ifndef MTLM_GRAPH_ORDER_FILE_H
#define MTLM_GRAPH_ORDER_FILE_H

/* Files of orders: the CSV of torch.distributed.pipelining, one row per
 * pipeline rank (graph/order/cell.h).  Both levels are read, compute_only and
 * compute_comms; both dialects, too.  In older files B is the gradient of the
 * inputs, and BW is B and W. */

#include "graph/order/order_memory.h"
#include "runtime/base/error.h"

/* What the reader left out. */
struct mtlm_order_file_notes {
    int messages; /* cells of messages: the graph has its own */
    int sharding; /* cells of FSDP */
    bool older;   /* the file is of the older dialect */
    /* "rank 0, column 3: 0F1 stands behind microbatch 2": the first action
     * whose microbatch is less than that of the action before, of the same
     * stage and phase.  "": microbatches ascend. */
    char late[80];
};

/* Reads a file into `order`, an order without boxes, and checks the order: each
 * box once, on the rank of its stage, after the boxes that the box waits for.
 * limit: memory of each rank in MiB, as boxes->memory; NULL: any.
 *
 * Returns 0, or -1 with rank, column (from 1) and action in err. */
int mtlm_order_file_read(const char *path, const struct mtlm_boxes *boxes,
                         const struct mtlm_order_limit *limit,
                         struct mtlm_box_order *order,
                         struct mtlm_order_file_notes *notes,
                         struct mtlm_error *err);

/* Writes the order as compute_only: F, I and W; B where W follows its I at
 * once. The last piece of W stands for W.  Returns 0, or -1 with err. */
int mtlm_order_file_write(const char *path, const struct mtlm_boxes *boxes,
                          const struct mtlm_box_order *order,
                          struct mtlm_error *err);

/* Bytes of an action's text, as in "12F345". */
enum { MTLM_ORDER_FILE_ACTION = 48 };

/* Returns the column, from 1, of the file that mtlm_order_file_write() writes,
 * in which the F or B at this place of a rank's order stands.  Sets action. */
int mtlm_order_file_column(const struct mtlm_boxes *boxes,
                           const struct mtlm_box_order *order, int rank,
                           int place, char action[MTLM_ORDER_FILE_ACTION]);

#endif /* MTLM_GRAPH_ORDER_FILE_H */
