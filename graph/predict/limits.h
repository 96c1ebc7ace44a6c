#ifndef MTLM_GRAPH_LIMITS_H
#define MTLM_GRAPH_LIMITS_H

/* Constants that searches and plans share. */

/* Programs of more nodes are not evaluated, or with fewer microbatches. */
enum { MTLM_MANY_NODES = 400000 };

/* The share of the hold rule that stands for all in a search: a policy chooses
 * its own. */
#define MTLM_HOLD_SHARE .5

/* Of two choices, the one of the search before stays unless the other takes at
 * most this share of its time: late messages have decided there. */
#define MTLM_WORTH_SHARE 0.999

#endif /* MTLM_GRAPH_LIMITS_H */
