#ifndef MTLM_GRAPH_DISPATCH_H
#define MTLM_GRAPH_DISPATCH_H

/* Orders from wished starts: F and B run in the order of their wishes, as soon
 * as they can.  Pieces of W fill the time for which a rank waits, and make room
 * where an F lacks memory. */

#include "graph/order/slot_count.h"
#include "graph/order/walk.h"

struct mtlm_dispatch {
    /* Wished starts, indexed by mtlm_dispatch_wish().  Borrowed. */
    const double *wish;
    /* [pp] time by which a piece of W may delay an F or B that arrives while
     * the piece runs.  Borrowed. */
    const double *delay;
    double most_memory;           /* limit of each rank */
    struct mtlm_slot_rules slots; /* what the limit counts */
};

/* Returns the number of wishes: 2 * stages * m. */
int mtlm_dispatch_wishes(const struct mtlm_boxes *boxes);

/* Returns the index of the wish of an F or B. */
int mtlm_dispatch_wish(const struct mtlm_boxes *boxes, struct mtlm_box box);

/* Builds the order in `order`, which is emptied before.  The boxes are not
 * fused and have memory.  Returns the makespan; INFINITY: the wishes lead to
 * ranks that wait for memory forever.  Sets the times in `walk`, not its
 * places. */
double mtlm_dispatch_build(const struct mtlm_dispatch *dispatch,
                           struct mtlm_walk *walk,
                           struct mtlm_box_order *order);

#endif /* MTLM_GRAPH_DISPATCH_H */
