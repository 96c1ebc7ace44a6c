#ifndef MTLM_EVALUATED_ORDER_H
#define MTLM_EVALUATED_ORDER_H

/* The order in which an evaluation starts its tasks. */

#include "graph/predict/evaluate.h"

/* Appends the tasks of each rank to `order`, an order without boxes, as they
 * start, without lanes.  A rank of several workers starts tasks before others
 * end. */
void mtlm_evaluated_order(const struct mtlm_evaluation *evaluation,
                          const struct mtlm_boxes *boxes,
                          struct mtlm_box_order *order);

/* Appends the passes of each rank in the lanes of the workers that start them.
 * The tasks have workers; boxes->pieces is 1. */
void mtlm_evaluated_order_lanes(const struct mtlm_evaluation *evaluation,
                                const struct mtlm_boxes *boxes,
                                struct mtlm_box_order *order);

#endif /* MTLM_EVALUATED_ORDER_H */
