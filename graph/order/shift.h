#ifndef MTLM_GRAPH_SHIFT_H
#define MTLM_GRAPH_SHIFT_H

/* Improves an order by moves of many boxes: a step shifts the wished starts of
 * the F, the B or both of some stages and microbatches, and builds the order
 * again (graph/order/dispatch.h).  Late acceptance search (Burke and Bykov
 * 2017) takes the new order unless it is worse than the order of some steps
 * ago. */

#include "graph/order/slot_count.h"
#include "graph/order/walk.h"

struct mtlm_shift {
    double most_memory;           /* limit of each rank */
    struct mtlm_slot_rules slots; /* what the limit counts */
    int steps;     /* orders to build; the same steps give the same order */
    double enough; /* ends at this makespan: the lower bound */
};

/* Replaces a sound order of boxes that are not fused by the best order found,
 * if there is a better one.  Returns the makespan.  Changes the times in
 * `walk`. */
double mtlm_shift_order(const struct mtlm_shift *shift, struct mtlm_walk *walk,
                        struct mtlm_box_order *order);

#endif /* MTLM_GRAPH_SHIFT_H */
