#ifndef MTLM_GRAPH_IMPROVE_H
#define MTLM_GRAPH_IMPROVE_H

/* Improves an order step by step: two neighbours on the longest path change
 * places, as in tabu search for the job shop (Nowicki and Smutnicki 1996; bound
 * of a swap: Taillard 1994).  Memory is a limit on every prefix of a rank's
 * order. */

#include "graph/order/walk.h"

struct mtlm_improve {
    double most_memory; /* limit of each rank */
    int steps;          /* swaps to try; the same steps give the same order */
    double enough;      /* ends at this makespan: the lower bound */
};

/* Replaces a sound order by the best order found, if there is a better one.
 * Returns the makespan.  Changes the times in `walk`. */
double mtlm_improve_order(const struct mtlm_improve *improve,
                          struct mtlm_walk *walk, struct mtlm_box_order *order);

#endif /* MTLM_GRAPH_IMPROVE_H */
