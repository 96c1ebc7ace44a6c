/* Chooses the layers of virtual stages: first the time of the busiest rank, by
 * a greedy rule, then the fewest moves within that time. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/predict/layer_balance.h"
#include "runtime/base/memory.h"

enum { PASSES = 3 }; /* F, B, W */

/* Sums of equal times differ by rounding. */
static const double rounding = 1 + 1e-9;

static int stages_of(const struct mtlm_layer_balance *b)
{
    return mtlm_layout_stages(b->layout);
}

static int64_t layers_now(const struct mtlm_layer_balance *b, int stage)
{
    return mtlm_layout_layer_count(b->layout, b->num_layers, stage);
}

/* ---- times ---- */

/* Sets layer[PASSES] to the seconds of a layer on the rank. */
static void layer_seconds(const struct mtlm_layer_balance *b, int rank,
                          double *layer)
{
    const int stages = stages_of(b);
    double n = 0;

    for (int p = 0; p < PASSES; p++)
        layer[p] = 0;
    for (int k = 0; k < stages; k++) {
        if (mtlm_layout_pp_rank(b->layout, k) != rank)
            continue;
        n += (double) layers_now(b, k);
        for (int p = 0; p < PASSES; p++)
            layer[p] += b->inside->forward[p * stages + k];
    }
    for (int p = 0; p < PASSES; p++)
        layer[p] /= n;
}

/* Returns the seconds of a pass of a stage outside its layers. */
static double seconds_outside(const struct mtlm_layer_balance *b, int pass,
                              int stage)
{
    const int at = pass * stages_of(b) + stage;

    return fmax(0, b->times->forward[at] - b->inside->forward[at]);
}

struct mtlm_stage_times mtlm_layer_balance_times(
    const struct mtlm_layer_balance *balance, const int64_t *layers)
{
    const int stages = stages_of(balance);
    struct mtlm_stage_times times = mtlm_stage_times_create(stages);

    for (int k = 0; k < stages; k++) {
        const bool same = layers[k] == layers_now(balance, k);
        double layer[PASSES];

        layer_seconds(balance, mtlm_layout_pp_rank(balance->layout, k), layer);
        for (int p = 0; p < PASSES; p++)
            times.forward[p * stages + k] =
                same ? balance->times->forward[p * stages + k]
                     : seconds_outside(balance, p, k)
                           + (double) layers[k] * layer[p];
    }
    times.hop = balance->times->hop;
    return times;
}

/* ---- the time of the busiest rank ---- */

/* The work of a rank for a microbatch, in seconds. */
struct rank_work {
    double outside; /* of layers */
    double layer;
    int64_t layers; /* at most, within the time of the busiest rank */
};

static double work_of(const struct rank_work *rank, int64_t layers)
{
    return rank->outside + (double) layers * rank->layer;
}

/* Returns the works [pp] of the ranks. */
static struct rank_work *rank_works(const struct mtlm_layer_balance *b)
{
    struct rank_work *work = mtlm_calloc(b->layout->pp, sizeof(*work));

    for (int r = 0; r < b->layout->pp; r++) {
        double layer[PASSES];

        layer_seconds(b, r, layer);
        for (int p = 0; p < PASSES; p++)
            work[r].layer += layer[p];
    }
    for (int k = 0; k < stages_of(b); k++)
        for (int p = 0; p < PASSES; p++)
            work[mtlm_layout_pp_rank(b->layout, k)].outside +=
                seconds_outside(b, p, k);
    return work;
}

/* Returns the least time T of the busiest rank: each layer goes to the rank
 * that is busy shortest with it.  Proof: take the last layer that raises T, and
 * the layers of each rank before it.  One layer more takes any rank T or
 * longer.  So within less than T, the ranks hold no more than those layers: too
 * few. */
static double least_time(const struct mtlm_layer_balance *b,
                         const struct rank_work *work)
{
    const int pp = b->layout->pp, chunks = b->layout->virtual_stages;
    int64_t *n = mtlm_calloc(pp, sizeof(*n));
    double least = 0;

    for (int r = 0; r < pp; r++) {
        n[r] = chunks;
        least = fmax(least, work_of(&work[r], chunks));
    }
    for (int64_t i = stages_of(b); i < b->num_layers; i++) {
        int best = 0;

        for (int r = 1; r < pp; r++)
            if (work_of(&work[r], n[r] + 1) < work_of(&work[best], n[best] + 1))
                best = r;
        least = fmax(least, work_of(&work[best], ++n[best]));
    }
    free(n);
    return least;
}

/* Sets the layers that each rank can hold within the time. */
static void limit_layers(const struct mtlm_layer_balance *b, double seconds,
                         struct rank_work *work)
{
    for (int r = 0; r < b->layout->pp; r++) {
        struct rank_work *w = &work[r];

        w->layers = b->layout->virtual_stages;
        while (w->layers < b->num_layers
               && work_of(w, w->layers + 1) <= seconds * rounding)
            w->layers++;
    }
}

/* ---- the fewest moves ---- */

/* The fewest moves by the number of stages and their layers in all. */
struct moves {
    const struct mtlm_layer_balance *balance;
    int *owner;     /* [num_layers] the pp_rank that holds a layer now */
    int64_t *least; /* [stages + 1][num_layers + 1]; -1: impossible */
    int64_t *taken; /* the same: layers of the last one of the stages */
};

static int64_t *at(const struct moves *m, int64_t *table, int stages,
                   int64_t layers)
{
    return &table[stages * (m->balance->num_layers + 1) + layers];
}

static struct moves create_moves(const struct mtlm_layer_balance *b)
{
    const size_t states = (stages_of(b) + 1) * (b->num_layers + 1);
    struct moves m = {.balance = b,
                      .owner = mtlm_calloc(b->num_layers, sizeof(*m.owner)),
                      .least = mtlm_calloc(states, sizeof(*m.least)),
                      .taken = mtlm_calloc(states, sizeof(*m.taken))};

    for (int k = 0; k < stages_of(b); k++) {
        int64_t first, count;

        mtlm_layout_layers(b->layout, b->num_layers, k, &first, &count);
        for (int64_t i = first; i < first + count; i++)
            m.owner[i] = mtlm_layout_pp_rank(b->layout, k);
    }
    for (size_t i = 1; i < states; i++)
        m.least[i] = -1;
    return m;
}

static void free_moves(struct moves *m)
{
    free(m->owner);
    free(m->least);
    free(m->taken);
}

/* Continues `stages` stages with `layers` layers by one stage of up to `most`
 * layers.  Of equal moves, the most layers of that stage count. */
static void add_stage(struct moves *m, int stages, int64_t layers, int64_t most)
{
    const int rank = mtlm_layout_pp_rank(m->balance->layout, stages);
    int64_t moved = *at(m, m->least, stages, layers);

    if (moved < 0)
        return;
    for (int64_t n = 1; n <= most && layers + n <= m->balance->num_layers;
         n++) {
        int64_t *least = at(m, m->least, stages + 1, layers + n);

        moved += m->owner[layers + n - 1] != rank;
        if (*least >= 0 && *least <= moved)
            continue;
        *least = moved;
        *at(m, m->taken, stages + 1, layers + n) = n;
    }
}

/* Returns the most layers of a stage: stages of a rank share its layers. */
static int64_t most_layers(const struct mtlm_layer_balance *b,
                           const struct rank_work *work, int stage)
{
    const struct rank_work *w = &work[mtlm_layout_pp_rank(b->layout, stage)];
    const int chunks = b->layout->virtual_stages;
    const int chunk = mtlm_layout_chunk(b->layout, stage);

    return w->layers / chunks + (chunk < w->layers % chunks);
}

int64_t *mtlm_layer_balance_choose(const struct mtlm_layer_balance *balance,
                                   double slack)
{
    const int stages = stages_of(balance);
    struct rank_work *work = rank_works(balance);
    struct moves m = create_moves(balance);
    int64_t *layers = mtlm_calloc(stages, sizeof(*layers));
    int64_t left = balance->num_layers;

    limit_layers(balance, (1 + slack) * least_time(balance, work), work);
    for (int k = 0; k < stages; k++)
        for (int64_t n = k; n <= balance->num_layers; n++)
            add_stage(&m, k, n, most_layers(balance, work, k));
    for (int k = stages; k > 0; k--) {
        layers[k - 1] = *at(&m, m.taken, k, left);
        left -= layers[k - 1];
    }
    free_moves(&m);
    free(work);
    return layers;
}
