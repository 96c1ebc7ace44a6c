#ifndef MTLM_GRAPH_DUALPIPE_V_H
#define MTLM_GRAPH_DUALPIPE_V_H

/* DualPipeV: DualPipe (DeepSeek-V3, arXiv 2412.19437) without the second copy
 * of the parameters, two virtual stages per rank, placement V
 * (github.com/deepseek-ai/DualPipe).  The authors run an F and a B at a time,
 * each with the messages of the other.  Here, the F precedes the B. */

#include "graph/order/order.h"

/* Appends every box to `order`, an order without boxes.  m >= 2p. */
void mtlm_dualpipe_v_build(const struct mtlm_boxes *boxes,
                           struct mtlm_box_order *order);

#endif /* MTLM_GRAPH_DUALPIPE_V_H */
