#ifndef MTLM_GRAPH_LP_BOUND_H
#define MTLM_GRAPH_LP_BOUND_H

/* A lower bound of every schedule within a memory, and its proof.  For a fused
 * schedule the bound is of every fused one.  Linear programs of single ranks
 * find the bound (graph/predict/rank_lp.h). */

#include "graph/predict/rank_passes.h"

struct mtlm_lp_bound {
    double least_s; /* no schedule takes so little; 0: no program proves more
                     * than the caller's bound */
    /* The proof: multipliers of the rows of a rank's program. */
    struct mtlm_rank_passes passes;
    int64_t makespan_ns;
    int points;
    double *multiplier; /* [n] of mtlm_lp_solve() */
    int n;
};

/* Searches the largest bound between two times, to 0.05 %.  from_s: a lower
 * bound, of mtlm_bound_makespan() or larger.  to_s: a schedule takes so long.
 * The caller frees the result with mtlm_lp_bound_free(). */
struct mtlm_lp_bound mtlm_lp_bound_find(const struct mtlm_evaluate *pipeline,
                                        const struct mtlm_rank_memory *memory,
                                        double from_s, double to_s);

/* Frees what the bound holds. */
void mtlm_lp_bound_free(struct mtlm_lp_bound *bound);

#endif /* MTLM_GRAPH_LP_BOUND_H */
