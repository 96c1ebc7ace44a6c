#ifndef MTLM_GRAPH_BEST_H
#define MTLM_GRAPH_BEST_H

/* The best order of a pipeline under a memory limit: starts from published
 * orders (graph/order/published.h), from rounds (graph/order/rounds.h) and from
 * a steady beat, and improves the best start by graph/order/shift.h and
 * graph/order/improve.h. */

#include "graph/order/slot_count.h"
#include "graph/order/walk.h"

struct mtlm_best {
    double most_memory; /* limit of each rank, in the unit of boxes->memory */
    struct mtlm_slot_rules slots; /* what the limit counts */
    double enough; /* ends at this makespan: the lower bound; 0: none */
    double effort; /* share of the search's steps; 1: all; 0: none, the best
                    * start */
};

/* Builds the order in `order`, which is emptied before.  The boxes are not
 * fused and have memory.  The makespan is at most that of every published order
 * within the memory.  The same boxes give the same order.  With effort 1, a
 * search of 12,288 boxes (16 ranks, 64 microbatches, 2 virtual stages, 4
 * pieces) takes about three seconds.
 *
 * Returns the makespan; INFINITY if a rank cannot keep a microbatch on each
 * stage.  Changes the times in `walk`. */
double mtlm_best_order(const struct mtlm_best *best, struct mtlm_walk *walk,
                       struct mtlm_box_order *order);

#endif /* MTLM_GRAPH_BEST_H */
