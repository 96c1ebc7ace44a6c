#ifndef MTLM_GRAPH_ORDER_H
#define MTLM_GRAPH_ORDER_H

/* An order of a pipeline: for each rank, the boxes that the rank runs one after
 * another.  Published schedules are orders.  A sound order holds each box once,
 * on its own rank, and no boxes wait for each other.
 *
 * A rank of several workers may have several lanes, one for each worker.  The
 * boxes of a lane run one after another; boxes of different lanes may run at
 * the same time. */

#include <stdbool.h>

#include "graph/order/box.h"

struct mtlm_box_order {
    int ranks;
    int *n;    /* [ranks] boxes of each rank */
    int **box; /* [ranks][n] numbers of boxes, as they start */
    /* [boxes] the lane of each box on its rank, from 0.  NULL: each rank has
     * one lane. */
    int *lane;
};

/* How a program follows an order. */
enum mtlm_follow {
    MTLM_FOLLOW_STRICT,  /* as hint; and boxes of a lane wait for each other */
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

/* Gives the order lanes: each box has lane 0 until the caller sets
 * order->lane[box]. */
void mtlm_order_add_lanes(struct mtlm_box_order *order,
                          const struct mtlm_boxes *boxes);

/* Returns the lane of a box. */
int mtlm_order_lane(const struct mtlm_box_order *order, int box);

/* Returns the number of lanes of a rank: the largest lane of its boxes + 1; at
 * least 1. */
int mtlm_order_lanes(const struct mtlm_box_order *order, int rank);

/* Returns the largest number of lanes of a rank. */
int mtlm_order_most_lanes(const struct mtlm_box_order *order);

/* Copies the boxes of `from` to `to`, an order of the same pipeline.  Neither
 * has lanes. */
void mtlm_order_copy(struct mtlm_box_order *to,
                     const struct mtlm_box_order *from);

/* Returns a copy, with any lanes.  The caller frees the copy with
 * mtlm_order_free(). */
struct mtlm_box_order mtlm_order_duplicate(const struct mtlm_box_order *order,
                                           const struct mtlm_boxes *boxes);

/* Returns the order of the first microbatches alone, with the numbers of boxes
 * that a pipeline of so many microbatches has.  The caller frees the order with
 * mtlm_order_free(). */
struct mtlm_box_order mtlm_order_first(const struct mtlm_box_order *order,
                                       const struct mtlm_boxes *boxes,
                                       int microbatches);

/* Returns whether the microbatches of each stage ascend in F, in B and in W. */
bool mtlm_order_ascends(const struct mtlm_box_order *order,
                        const struct mtlm_boxes *boxes);

/* Returns the memory of the fullest rank at its fullest moment. */
double mtlm_order_peak(const struct mtlm_box_order *order,
                       const struct mtlm_boxes *boxes);

#endif /* MTLM_GRAPH_ORDER_H */
