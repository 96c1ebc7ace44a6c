#ifndef MTLM_GRAPH_ROUNDS_H
#define MTLM_GRAPH_ROUNDS_H

/* Orders built in rounds: in every round, each rank takes one B and one F, and
 * pieces of W fill the time for which the rank would wait.  The zero-bubble
 * authors' scheduler builds ZB-V from times in this way
 * (sail-sg/zero-bubble-pipeline-parallelism, zbv.py, revision 39f2c18).  Here,
 * rounds also build orders of one virtual stage per rank. */

#include "graph/order/walk.h"

/* What the rounds of an order may do. */
struct mtlm_rounds {
    double most_memory; /* limit of each rank */
    /* Before a B, or before an F, that arrives late: take a piece of W even if
     * the box then starts later.  Taken only where another rank idles more. */
    bool fill_backward, fill_forward;
};

/* Builds an order of one virtual stage per rank, or of two with placement V, in
 * `order`, which is emptied before.  Returns the makespan; INFINITY if the
 * memory is too small.  Changes the times in `walk`. */
double mtlm_rounds_build(const struct mtlm_rounds *rounds,
                         struct mtlm_walk *walk, struct mtlm_box_order *order);

/* Builds the best order of all variants in `order`.  Returns the makespan;
 * INFINITY if the memory is too small.  Changes the times in `walk`. */
double mtlm_rounds_best(double most_memory, struct mtlm_walk *walk,
                        struct mtlm_box_order *order);

#endif /* MTLM_GRAPH_ROUNDS_H */
