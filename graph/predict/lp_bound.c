/* Bisection: the longest iteration for which a rank's program ends fewer than
 * all microbatches. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/predict/lp_bound.h"
#include "graph/predict/rank_lp.h"
#include "runtime/base/memory.h"

/* Intervals of the programs that find the rank, and of the proof; intervals
 * times passes, at most. */
enum { COARSE = 32, FINE = 160, MOST = 960 };

/* Steps of the bisection; what a proof must leave of a microbatch. */
static const double STEP = 5e-4, MARGIN = 1e-6;

struct bound_search {
    const struct mtlm_evaluate *pipeline;
    const struct mtlm_rank_memory *memory;
    int64_t least, most; /* ns: proved; a schedule takes so long */
    struct mtlm_lp_bound *bound;
};

/* Whether the rank's program proves that no iteration is so short; if so, keeps
 * the proof. */
static bool refute(struct bound_search *s,
                   const struct mtlm_rank_passes *passes, int64_t makespan_ns,
                   int points)
{
    struct mtlm_lp lp = mtlm_rank_lp_create(passes, makespan_ns, points);
    double *multiplier = mtlm_calloc(lp.n_rows, sizeof(*multiplier));
    const bool refuted =
        mtlm_lp_solve(&lp, multiplier)
        && mtlm_lp_bound(&lp, multiplier) < passes->microbatches - MARGIN;

    if (refuted) {
        free(s->bound->multiplier);
        s->bound->multiplier = multiplier;
        s->bound->n = lp.n_rows;
        s->bound->points = points;
        s->bound->makespan_ns = s->least = makespan_ns;
        s->bound->passes.rank = passes->rank;
    } else {
        free(multiplier);
    }
    mtlm_lp_free(&lp);
    return refuted;
}

/* Raises the bound as far as the rank's program of so many intervals does. */
static void search_rank(struct bound_search *s, int rank, int intervals)
{
    struct mtlm_rank_passes passes =
        mtlm_rank_passes_create(s->pipeline, s->memory, rank);
    const int64_t step = (int64_t) ceil(STEP * s->least) + 1;
    const int points =
        passes.n * intervals > MOST ? 1 + MOST / passes.n : intervals;
    int64_t most = s->most;

    if (s->least < mtlm_rank_passes_longest(&passes))
        s->least = mtlm_rank_passes_longest(&passes);
    if (s->least + step < most && refute(s, &passes, s->least + step, points)) {
        while (most - s->least > step) {
            const int64_t middle = s->least + (most - s->least) / 2;

            if (!refute(s, &passes, middle, points))
                most = middle;
        }
    }
    mtlm_rank_passes_free(&passes);
}

struct mtlm_lp_bound mtlm_lp_bound_find(const struct mtlm_evaluate *pipeline,
                                        const struct mtlm_rank_memory *memory,
                                        double from_s, double to_s)
{
    struct mtlm_lp_bound bound = {.passes.rank = -1};
    struct bound_search s = {.pipeline = pipeline,
                             .memory = memory,
                             .least = (int64_t) ceil(1e9 * from_s),
                             .most = (int64_t) ceil(1e9 * to_s),
                             .bound = &bound};
    const int last = pipeline->layout->pp - 1;

    for (int r = last; r >= 0; r--)
        search_rank(&s, r, COARSE);
    search_rank(&s, bound.passes.rank < 0 ? last : bound.passes.rank, FINE);
    if (bound.passes.rank < 0)
        return bound;
    bound.least_s = 1e-9 * bound.makespan_ns;
    bound.passes = mtlm_rank_passes_create(pipeline, memory, bound.passes.rank);
    return bound;
}

void mtlm_lp_bound_free(struct mtlm_lp_bound *bound)
{
    mtlm_rank_passes_free(&bound->passes);
    free(bound->multiplier);
}
