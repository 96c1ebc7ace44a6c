#ifndef MTLM_GRAPH_RANK_LP_H
#define MTLM_GRAPH_RANK_LP_H

/* A linear program of one rank: how many microbatches can end within a time?
 * If fewer than m can, no schedule takes so little.  docs/bounds.md has the
 * rows and their proof; perf/check_bound builds the same rows. */

#include "graph/predict/lp.h"
#include "graph/predict/rank_passes.h"

/* Returns the program of an iteration of so many nanoseconds, in `points`
 * intervals of equal length.  most is m; column 0 counts the microbatches that
 * end.  The iteration is at least as long as one microbatch alone.  The caller
 * frees the program with mtlm_lp_free(). */
struct mtlm_lp mtlm_rank_lp_create(const struct mtlm_rank_passes *passes,
                                   int64_t makespan_ns, int points);

#endif /* MTLM_GRAPH_RANK_LP_H */
