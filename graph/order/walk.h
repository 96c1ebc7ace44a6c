#ifndef MTLM_GRAPH_WALK_H
#define MTLM_GRAPH_WALK_H

/* The times of an order: every box starts as soon as the rank has finished the
 * box before it in its lane, and the result that the box waits for has arrived.
 * On a rank of several lanes, a box starts no earlier than the box before it in
 * the order, unless the caller asks for lanes apart. */

#include "graph/order/order.h"

/* Tables of the pipeline, and times of the latest walk.  Readers only read. */
struct mtlm_walk {
    const struct mtlm_boxes *boxes; /* borrowed */
    int n;                          /* number of boxes */
    /* [n] of graph/order/box.h. */
    int *rank, *before;
    double *time, *hop, *growth;
    /* [n] the boxes that wait for a box: after[n][0 .. n_after - 1]. */
    int (*after)[2], *n_after;
    /* [n] times of the latest walk, and the box's place in its rank's order. */
    double *start, *end;
    int *place;
    /* The boxes that have run, predecessors first. */
    int *run, n_run;
    int *missing; /* [n] predecessors that have not run */
    /* Set by the caller: boxes of different lanes of a rank start without
     * regard to their order. */
    bool apart;
};

/* Returns the tables of the pipeline, which has at most INT_MAX boxes.  The
 * caller frees them with mtlm_walk_free(). */
struct mtlm_walk mtlm_walk_create(const struct mtlm_boxes *boxes);

/* Frees the tables. */
void mtlm_walk_free(struct mtlm_walk *walk);

/* Walks the order.  Returns the makespan, from 0 to the last end of all ranks;
 * INFINITY if boxes wait for each other or for boxes that the order lacks. */
double mtlm_walk(struct mtlm_walk *walk, const struct mtlm_box_order *order);

/* Returns the place of the first box of this rank that did not run in the
 * latest walk, or -1 if all ran. */
int mtlm_walk_stuck(const struct mtlm_walk *walk,
                    const struct mtlm_box_order *order, int rank);

#endif /* MTLM_GRAPH_WALK_H */
