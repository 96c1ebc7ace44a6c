#ifndef MTLM_GRAPH_LIMITS_H
#define MTLM_GRAPH_LIMITS_H

/* Constants that searches and plans share. */

/* Programs of more nodes are not evaluated, or with fewer microbatches. */
enum { MTLM_MANY_NODES = 400000 };

/* The share of the hold rule that stands for all in a search, unless MTLM_HOLD
 * has one: a policy chooses its own. */
#define MTLM_HOLD_SHARE .5

/* Seconds that differ by less than this share count as equal: late messages
 * decide there.  A search replaces the choice of the search before for at most
 * this share of its time, and a chain must gain as much. */
#define MTLM_WORTH_SHARE 0.999

#endif /* MTLM_GRAPH_LIMITS_H */
