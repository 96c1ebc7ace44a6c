#ifndef MTLM_GRAPH_BUILDING_BLOCK_H
#define MTLM_GRAPH_BUILDING_BLOCK_H

/* V-half and V-min: orders that repeat a building block, two virtual stages per
 * rank, placement V (arXiv 2405.15362).  A block is the passes of a microbatch
 * on a grid of slots of equal time.  A new block begins every six slots; W
 * takes the free slots.  Then, as in the paper, each pass of the warm-up and of
 * the drain moves to the earliest free slot that keeps the peak memory. */

#include "graph/order/order.h"

/* Append every box to `order`, an order without boxes. */
void mtlm_building_block_v_half(const struct mtlm_boxes *boxes,
                                struct mtlm_box_order *order);
void mtlm_building_block_v_min(const struct mtlm_boxes *boxes,
                               struct mtlm_box_order *order);

#endif /* MTLM_GRAPH_BUILDING_BLOCK_H */
