#ifndef MTLM_GRAPH_ORDER_FILE_H
#define MTLM_GRAPH_ORDER_FILE_H

/* Files of orders: the CSV of torch.distributed.pipelining, one row per
 * pipeline rank (graph/order/cell.h).  Both levels are read, compute_only and
 * compute_comms; both dialects, too.  In older files B is the gradient of the
 * inputs, and BW is B and W.
 *
 * Of our own: a row per lane of a rank.  The first cell is rank and lane, as
 * 2.0, 2.1, and rows ascend.  The actions of a lane run one after another,
 * actions of different lanes at the same time; graph/order/lane_merge.h has the
 * order in which lanes start them. */

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
    char late[120];
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

#endif /* MTLM_GRAPH_ORDER_FILE_H */
