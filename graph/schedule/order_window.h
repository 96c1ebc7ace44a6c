#ifndef MTLM_GRAPH_ORDER_WINDOW_H
#define MTLM_GRAPH_ORDER_WINDOW_H

/* Windows of an order (graph/order/order.h): the slots with which no box of the
 * order waits for a slot. */

#include "graph/order/walk.h"
#include "graph/schedule/window.h"

/* Returns the length of a ring for n microbatches.  Microbatch i needs its slot
 * from begin[i] to end[i] > begin[i].  Microbatches that need slots at the same
 * time then have different slots, by number modulo the length. */
int mtlm_order_window_slots(const double *begin, const double *end, int n);

/* Sets window[stages] from a walk that ended.  Every box of the walk takes
 * time: a microbatch that ends as another one begins leaves its slot.  w:
 * microbatches with F begun and B not ended.  w + q: with F begun and W not
 * ended.  g: with B begun and W not ended.  Where microbatches do not ascend,
 * the distance of their numbers counts. */
void mtlm_order_window_set(const struct mtlm_walk *walk,
                           struct mtlm_window *window);

#endif /* MTLM_GRAPH_ORDER_WINDOW_H */
