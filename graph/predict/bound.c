/* The longest path, and each rank's work with the paths before and after it. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/predict/bound.h"
#include "graph/predict/simulator.h"
#include "runtime/base/memory.h"

/* Returns the seconds of a message from stage k to stage k + 1, in whole
 * nanoseconds. */
static double hop_seconds(const struct mtlm_evaluate *c, int k)
{
    return mtlm_layout_same_rank(c->layout, k, k + 1)
               ? 0
               : 1e-9 * mtlm_simulator_ns(c->hop);
}

/* Whether the W of stage k precedes all that follows its B: in a fused
 * schedule, where the B leaves its rank, and at the end. */
static bool waits_for_weight(const struct mtlm_evaluate *c, int k)
{
    return c->schedule->fused
           && (k == 0 || !mtlm_layout_same_rank(c->layout, k, k - 1));
}

/* Returns the seconds from the start of B to the send of its result, or to the
 * B below on the same rank.  The workers share the pieces of W. */
static double backward_seconds(const struct mtlm_evaluate *c, int k)
{
    const int n = c->layout->workers, rounds = (c->pieces + n - 1) / n;

    return c->backward[k]
           + (waits_for_weight(c, k) ? c->weight[k] * rounds / c->pieces : 0);
}

/* Sets head[pp] and tail[pp]: the shortest time that data takes to a rank's
 * first task, and from its last task to the end.  Returns the longest path. */
static double find_paths(const struct mtlm_evaluate *c, double *head,
                         double *tail)
{
    const int stages = mtlm_layout_stages(c->layout);
    double before = 0, behind = 0, longest = 0;

    for (int r = 0; r < c->layout->pp; r++)
        head[r] = tail[r] = INFINITY;
    for (int k = 0; k < stages; k++) {
        const int r = mtlm_layout_pp_rank(c->layout, k);
        const double to_next = k + 1 < stages ? hop_seconds(c, k) : 0;

        /* A rank may end with a W for which nothing waits. */
        head[r] = fmin(head[r], before);
        tail[r] = fmin(tail[r], waits_for_weight(c, k) ? behind : 0);
        before += c->forward[k] + to_next;
        behind += backward_seconds(c, k) + to_next;
    }
    /* From the last stage's F down to stage k's W. */
    for (int k = stages - 1; k >= 0; k--) {
        before += backward_seconds(c, k);
        longest = fmax(
            longest,
            before + (waits_for_weight(c, k) ? 0 : c->weight[k] / c->pieces));
        if (k > 0)
            before += hop_seconds(c, k - 1);
    }
    return longest;
}

double mtlm_bound_rank_seconds(const struct mtlm_evaluate *c, int rank)
{
    double work = 0;

    for (int k = 0; k < mtlm_layout_stages(c->layout); k++)
        if (mtlm_layout_pp_rank(c->layout, k) == rank)
            work += c->forward[k] + c->backward[k] + c->weight[k];
    return work / c->layout->workers;
}

double mtlm_bound_makespan(const struct mtlm_evaluate *c)
{
    const int pp = c->layout->pp;
    double *head = mtlm_calloc(pp, sizeof(*head));
    double *tail = mtlm_calloc(pp, sizeof(*tail));
    double least = find_paths(c, head, tail);

    for (int r = 0; r < pp; r++)
        least = fmax(least,
                     head[r] + c->microbatches * mtlm_bound_rank_seconds(c, r)
                         + tail[r]);
    free(head);
    free(tail);
    return least;
}
