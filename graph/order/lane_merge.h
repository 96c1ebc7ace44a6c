#ifndef MTLM_LANE_MERGE_H
#define MTLM_LANE_MERGE_H

/* The order in which the boxes of several lanes of a rank start, where a file
 * (graph/order/order_file.h) lists each lane by itself. */

#include "graph/order/order.h"

/* Sorts the boxes of each rank as they start.  order: with lanes, each lane in
 * its order; the boxes do not wait for each other.  column [boxes]: the column
 * of each box in the file.
 *
 * If no column of a rank has boxes of two lanes, and ranks can start boxes from
 * left to right, columns decide.  Else the starts of a walk decide, in which
 * each box takes the same time and lanes are apart; then columns.  Of several
 * lanes, a later microbatch of a stage that starts first comes behind the
 * earlier one all the same, where ranks can start boxes so. */
void mtlm_lane_merge(struct mtlm_box_order *order,
                     const struct mtlm_boxes *boxes, const int *column);

#endif /* MTLM_LANE_MERGE_H */
