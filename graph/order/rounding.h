#ifndef MTLM_GRAPH_ROUNDING_H
#define MTLM_GRAPH_ROUNDING_H

/* Numbers that differ by less than such a share count as equal. */

/* Of memory.  The slots of an order are added in another sequence than those of
 * its limit: an order that fills the limit fits. */
#define MTLM_MEMORY_ROUNDING 1e-9

/* Of the seconds of an evaluated schedule, which rounds each duration to
 * nanoseconds (graph/predict/simulator.h): a smaller gain is none.  So a walk
 * this close to its lower bound is good enough. */
#define MTLM_SECONDS_ROUNDING 1e-9

/* Of the times of a walk (graph/order/walk.h).  A walk adds doubles and rounds
 * none to nanoseconds: the steps of a search may gain little each. */
#define MTLM_WALK_ROUNDING 1e-12

#endif /* MTLM_GRAPH_ROUNDING_H */
