#ifndef MTLM_GRAPH_PUBLISHED_LOOP_H
#define MTLM_GRAPH_PUBLISHED_LOOP_H

/* Published orders of placement loop that depend on sizes alone: no times, no
 * memory limit.  graph/order/published.h has names, sources and formulas. */

#include "graph/order/order.h"

/* Each function appends every box to `order`, an order without boxes. */

/* F and B in turn.  One virtual stage per rank. */
void mtlm_published_loop_1f1b(const struct mtlm_boxes *boxes,
                              struct mtlm_box_order *order);

/* F and B in turn, groups of p microbatches through the chunks, with
 * Megatron-LM's number of F before the first B.  m is a multiple of p. */
void mtlm_published_loop_interleaved(const struct mtlm_boxes *boxes,
                                     struct mtlm_box_order *order);

/* F of all microbatches, chunk after chunk, then all B, each with its W.  With
 * one virtual stage per rank, the order is GPipe's. */
void mtlm_published_loop_breadth_first(const struct mtlm_boxes *boxes,
                                       struct mtlm_box_order *order);

/* ZB-H1: 1F1B's F and B; on rank r, W is r microbatches behind B.  One virtual
 * stage per rank. */
void mtlm_published_loop_zb_h1(const struct mtlm_boxes *boxes,
                               struct mtlm_box_order *order);

/* ZB-H2: on rank r, 2 (p - r) - 1 F before the first B; W is 2 r microbatches
 * behind B.  One virtual stage per rank. */
void mtlm_published_loop_zb_h2(const struct mtlm_boxes *boxes,
                               struct mtlm_box_order *order);

#endif /* MTLM_GRAPH_PUBLISHED_LOOP_H */
