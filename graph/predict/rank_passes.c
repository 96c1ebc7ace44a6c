/* Times of a microbatch that nothing delays, cut at the passes of a rank. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "graph/predict/rank_passes.h"
#include "runtime/base/memory.h"

static const double MEMORY_UNITS = 1e9;

/* [stages] ns of one microbatch alone: starts of F and B, and the time from the
 * ends of F, B and W to the end. */
struct lonely {
    int stages;
    int64_t *forward, *backward;
    int64_t *behind_forward, *behind_backward, *behind_weight;
};

int64_t mtlm_rank_passes_ns(double seconds)
{
    const double ns = 1e9 * seconds;

    return (int64_t) (fabs(ns - round(ns)) < 1e-6 ? round(ns) : floor(ns));
}

/* Returns the units, rounded down by more than the rounding of doubles. */
static int64_t whole_units(double share)
{
    return (int64_t) floor(MEMORY_UNITS * share * (1 - 1e-12));
}

void mtlm_rank_memory_units(const struct mtlm_rank_memory *memory, int stage,
                            int64_t *until_backward, int64_t *until_weight)
{
    const double share = memory->stage[stage] / memory->most;

    *until_weight = whole_units(share * memory->until_weight);
    *until_backward = whole_units(share * (1 - memory->until_weight));
}

static bool apart(const struct mtlm_evaluate *c, int a, int b)
{
    return !mtlm_layout_same_rank(c->layout, a, b);
}

static int64_t hop_ns(const struct mtlm_evaluate *c, int a, int b)
{
    return apart(c, a, b) ? mtlm_rank_passes_ns(c->hop) : 0;
}

/* Returns the ns from the end of B on stage k > 0 to the start of B below. */
static int64_t down_ns(const struct mtlm_evaluate *c, int k)
{
    const bool waits = c->schedule->fused && apart(c, k, k - 1);

    return hop_ns(c, k, k - 1)
           + (waits ? mtlm_rank_passes_ns(c->weight[k]) : 0);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* From the first F to the last B. */
static void find_starts(const struct mtlm_evaluate *c, struct lonely *l)
{
    const int last = l->stages - 1;

    for (int k = 1; k <= last; k++)
        l->forward[k] = l->forward[k - 1]
                        + mtlm_rank_passes_ns(c->forward[k - 1])
                        + hop_ns(c, k - 1, k);
    l->backward[last] =
        l->forward[last] + mtlm_rank_passes_ns(c->forward[last]);
    for (int k = last - 1; k >= 0; k--)
        l->backward[k] = l->backward[k + 1]
                         + mtlm_rank_passes_ns(c->backward[k + 1])
                         + down_ns(c, k + 1);
}

/* From the last W to the first F. */
static void find_ends(const struct mtlm_evaluate *c, struct lonely *l)
{
    const int last = l->stages - 1;

    for (int k = 0; k <= last; k++) {
        const int64_t weight = mtlm_rank_passes_ns(c->weight[k]);

        l->behind_backward[k] = weight;
        if (k == 0)
            continue;
        const int64_t below =
            mtlm_rank_passes_ns(c->backward[k - 1]) + l->behind_backward[k - 1];

        l->behind_backward[k] = larger(weight, down_ns(c, k) + below);
        if (c->schedule->fused && apart(c, k, k - 1))
            l->behind_weight[k] = hop_ns(c, k, k - 1) + below;
    }
    l->behind_forward[last] =
        mtlm_rank_passes_ns(c->backward[last]) + l->behind_backward[last];
    for (int k = last - 1; k >= 0; k--)
        l->behind_forward[k] = hop_ns(c, k, k + 1)
                               + mtlm_rank_passes_ns(c->forward[k + 1])
                               + l->behind_forward[k + 1];
}

static struct lonely walk_alone(const struct mtlm_evaluate *c)
{
    const int n = mtlm_layout_stages(c->layout);
    int64_t *ns = mtlm_calloc(5 * (size_t) n, sizeof(*ns));
    struct lonely l = {n, ns, ns + n, ns + 2 * n, ns + 3 * n, ns + 4 * n};

    find_starts(c, &l);
    find_ends(c, &l);
    return l;
}

/* Appends a pass that follows the pass numbered `before`. */
static void add_pass(struct mtlm_rank_passes *p, struct mtlm_rank_pass pass)
{
    if (pass.before >= 0) {
        const struct mtlm_rank_pass *a = &p->pass[pass.before];

        pass.lag = pass.head - a->head - a->time;
    }
    p->pass[p->n++] = pass;
}

/* Adds F from the lowest stage up, then B down, then W in the order of B. */
static void add_passes(struct mtlm_rank_passes *p,
                       const struct mtlm_evaluate *c, const struct lonely *l,
                       const int64_t *until_backward,
                       const int64_t *until_weight)
{
    int first_backward;

    for (int k = 0; k < l->stages; k++)
        if (mtlm_layout_pp_rank(c->layout, k) == p->rank)
            add_pass(p, (struct mtlm_rank_pass){
                            MTLM_PHASE_FORWARD, k,
                            mtlm_rank_passes_ns(c->forward[k]), l->forward[k],
                            l->behind_forward[k], p->n - 1, 0,
                            until_backward[k] + until_weight[k]});
    first_backward = p->n;
    for (int k = l->stages - 1; k >= 0; k--)
        if (mtlm_layout_pp_rank(c->layout, k) == p->rank)
            add_pass(p, (struct mtlm_rank_pass){
                            MTLM_PHASE_BACKWARD, k,
                            mtlm_rank_passes_ns(c->backward[k]), l->backward[k],
                            l->behind_backward[k], p->n - 1, 0,
                            until_backward[k]});
    for (int i = first_backward, end = p->n; i < end; i++) {
        const struct mtlm_rank_pass *b = &p->pass[i];
        const int k = b->stage;

        add_pass(p, (struct mtlm_rank_pass){
                        MTLM_PHASE_WEIGHT, k, mtlm_rank_passes_ns(c->weight[k]),
                        b->head + b->time, l->behind_weight[k], i, 0,
                        until_weight[k]});
    }
}

struct mtlm_rank_passes mtlm_rank_passes_create(
    const struct mtlm_evaluate *c, const struct mtlm_rank_memory *memory,
    int rank)
{
    const int stages = mtlm_layout_stages(c->layout);
    struct mtlm_rank_passes passes = {.rank = rank,
                                      .microbatches = c->microbatches,
                                      .most_memory = (int64_t) MEMORY_UNITS};
    int64_t *until_backward =
        mtlm_calloc(2 * (size_t) stages, sizeof(*until_backward));
    int64_t *until_weight = until_backward + stages;
    struct lonely lonely = walk_alone(c);

    assert(c->layout->workers == 1);
    for (int k = 0; k < stages; k++)
        mtlm_rank_memory_units(memory, k, &until_backward[k], &until_weight[k]);
    passes.pass =
        mtlm_calloc(3 * c->layout->virtual_stages, sizeof(*passes.pass));
    add_passes(&passes, c, &lonely, until_backward, until_weight);
    free(lonely.forward);
    free(until_backward);
    return passes;
}

int64_t mtlm_rank_passes_longest(const struct mtlm_rank_passes *passes)
{
    int64_t longest = 0;

    for (int i = 0; i < passes->n; i++) {
        const struct mtlm_rank_pass *p = &passes->pass[i];

        longest = larger(longest, p->head + p->time + p->tail);
    }
    return longest;
}

void mtlm_rank_passes_free(struct mtlm_rank_passes *passes)
{
    free(passes->pass);
}
