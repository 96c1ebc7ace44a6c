#ifndef MTLM_GRAPH_ORDER_H
#define MTLM_GRAPH_ORDER_H

/* An order of a pipeline: for each rank, the boxes that the rank runs one after
 * another.  Published schedules are orders.  A sound order holds each box once,
 * on its own rank, and no boxes wait for each other. */

#include <stdbool.h>

#include "graph/order/box.h"

struct mtlm_box_order {
    int ranks;
    int *n;    /* [ranks] boxes of each rank */
    int **box; /* [ranks][n] numbers of boxes */
};

/* How a program follows an order. */
enum mtlm_follow {
    MTLM_FOLLOW_STRICT,  /* as hint; and a box waits for the box before it */
    MTLM_FOLLOW_HINT,    /* a box's place in the order is its priority */
    MTLM_FOLLOW_WINDOWS, /* the order decides the windows only */
};

/* Returns an order without boxes.  The caller frees the order with
 * mtlm_order_free(). */
struct mtlm_box_order mtlm_order_create(const struct mtlm_boxes *boxes);

/* Frees what the order holds. */
void mtlm_order_free(struct mtlm_box_order *order);

/* Appends a box to the order of its rank. */
void mtlm_order_append(struct mtlm_box_order *order,
                       const struct mtlm_boxes *boxes, int box);

/* Appends the F or B of a stage and microbatch, or all pieces of its W, to the
 * order of its rank. */
void mtlm_order_append_phase(struct mtlm_box_order *order,
                             const struct mtlm_boxes *boxes,
                             enum mtlm_phase phase, int stage, int microbatch);

/* Copies the boxes of `from` to `to`, an order of the same pipeline. */
void mtlm_order_copy(struct mtlm_box_order *to,
                     const struct mtlm_box_order *from);

/* Returns whether the microbatches of each stage ascend in F, in B and in W. */
bool mtlm_order_ascends(const struct mtlm_box_order *order,
                        const struct mtlm_boxes *boxes);

/* Returns the memory of the fullest rank at its fullest moment. */
double mtlm_order_peak(const struct mtlm_box_order *order,
                       const struct mtlm_boxes *boxes);

#endif /* MTLM_GRAPH_ORDER_H */
