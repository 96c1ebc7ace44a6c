/* Starts of the search for the best order, and the search. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "graph/order/best.h"
#include "graph/order/dispatch.h"
#include "graph/order/improve.h"
#include "graph/order/order_memory.h"
#include "graph/order/published.h"
#include "graph/order/rounding.h"
#include "graph/order/rounds.h"
#include "graph/order/shift.h"
#include "runtime/base/memory.h"

enum {
    BEATS = 16,         /* beats that are tried */
    MOST_STEPS = 20000, /* of a small pipeline */
};

/* Boxes that the steps of a search walk, in all. */
static const double boxes_to_shift = 45e6, boxes_to_improve = 15e6;

struct best_search {
    const struct mtlm_best *config;
    const struct mtlm_boxes *boxes;
    struct mtlm_walk *walk;
    struct mtlm_box_order tried, *best;
    double least; /* makespan of the best order */
    int stages, ranks;
};

/* Whether the slots of an order have their memory. */
static bool slots_fit(const struct best_search *s,
                      const struct mtlm_box_order *order)
{
    const double most = s->config->most_memory * (1 + MTLM_MEMORY_ROUNDING);

    for (int r = 0; r < s->ranks; r++)
        if (mtlm_order_memory(order, s->boxes, r, &s->config->slots) > most)
            return false;
    return true;
}

/* Keeps the order that was tried if it is the best one. */
static void note(struct best_search *s, double makespan)
{
    if (makespan >= s->least || !slots_fit(s, &s->tried))
        return;
    s->least = makespan;
    mtlm_order_copy(s->best, &s->tried);
}

/* ---- published orders and rounds ---- */

static void try_published(struct best_search *s)
{
    for (int i = 0; i < MTLM_PUBLISHED_COUNT; i++)
        if (!mtlm_published_lacks(&mtlm_published[i], s->boxes))
            note(s, mtlm_published_build(&mtlm_published[i], s->walk,
                                         s->config->most_memory, &s->tried));
}

static double mean_of(const double *time, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += time[i];
    return sum / n;
}

/* Rounds of stages that all take the mean time: one slow rank misleads rounds
 * more than no knowledge of the rank. */
static void try_mean_rounds(struct best_search *s)
{
    double *time = mtlm_calloc(3 * s->stages, sizeof(*time));
    struct mtlm_boxes mean = *s->boxes;
    struct mtlm_walk walk;

    for (int k = 0; k < s->stages; k++) {
        time[k] = mean_of(s->boxes->forward, s->stages);
        time[s->stages + k] = mean_of(s->boxes->backward, s->stages);
        time[2 * s->stages + k] = mean_of(s->boxes->weight, s->stages);
    }
    mean.forward = time;
    mean.backward = time + s->stages;
    mean.weight = time + 2 * s->stages;
    walk = mtlm_walk_create(&mean);
    if (mtlm_rounds_best(s->config->most_memory, &walk, &s->tried) < INFINITY)
        note(s, mtlm_walk(s->walk, &s->tried));
    mtlm_walk_free(&walk);
    free(time);
}

static void try_rounds(struct best_search *s)
{
    const struct mtlm_layout *layout = s->boxes->layout;
    const int v = layout->virtual_stages;

    if (v > 2 || (v == 2 && layout->placement != MTLM_PLACEMENT_V))
        return;
    note(s, mtlm_rounds_best(s->config->most_memory, s->walk, &s->tried));
    try_mean_rounds(s);
}

/* ---- a steady beat ---- */

static double hop(const struct best_search *s, int k, int next)
{
    return mtlm_layout_same_rank(s->boxes->layout, k, next) ? 0 : s->boxes->hop;
}

/* Sets the starts of a microbatch alone: forward[stages], backward[stages].
 * Returns its end. */
static double find_starts(const struct best_search *s, double *forward,
                          double *backward)
{
    const int last = s->stages - 1;
    double now = 0;

    for (int k = 0; k <= last; k++) {
        forward[k] = now;
        now += s->boxes->forward[k] + (k < last ? hop(s, k, k + 1) : 0);
    }
    for (int k = last; k >= 0; k--) {
        backward[k] = now;
        now += s->boxes->backward[k] + (k > 0 ? hop(s, k, k - 1) : 0);
    }
    return now;
}

/* The work of a microbatch on the busiest rank. */
static double busiest_work(const struct best_search *s)
{
    double most = 0;

    for (int r = 0; r < s->ranks; r++) {
        double work = 0;

        for (int chunk = 0; chunk < s->boxes->layout->virtual_stages; chunk++) {
            const int k = mtlm_box_stage(s->boxes, r, chunk);

            work += s->boxes->forward[k] + s->boxes->backward[k]
                    + s->boxes->weight[k];
        }
        most = fmax(most, work);
    }
    return most;
}

/* Wishes that every microbatch starts a beat after the one before.  The longest
 * beat runs one microbatch after another. */
static void try_beats(struct best_search *s)
{
    const int m = s->boxes->microbatches;
    double *start = mtlm_calloc(2 * s->stages, sizeof(*start));
    double *delay = mtlm_calloc(s->ranks, sizeof(*delay));
    double *wish = mtlm_calloc(mtlm_dispatch_wishes(s->boxes), sizeof(*wish));
    const struct mtlm_dispatch dispatch = {.wish = wish,
                                           .delay = delay,
                                           .most_memory =
                                               s->config->most_memory,
                                           .slots = s->config->slots};
    const double least = busiest_work(s);
    const double most = least + find_starts(s, start, start + s->stages);

    for (int n = 0; n < BEATS; n++) {
        const double part = (double) n / (BEATS - 1);
        /* Short beats are closer to each other. */
        const double beat = least + (most - least) * part * part;

        for (int k = 0; k < s->stages; k++)
            for (int i = 0; i < m; i++) {
                struct mtlm_box box = {MTLM_PHASE_FORWARD, k, i, 0};

                wish[mtlm_dispatch_wish(s->boxes, box)] = start[k] + i * beat;
                box.phase = MTLM_PHASE_BACKWARD;
                wish[mtlm_dispatch_wish(s->boxes, box)] =
                    start[s->stages + k] + i * beat;
            }
        note(s, mtlm_dispatch_build(&dispatch, s->walk, &s->tried));
    }
    free(wish);
    free(delay);
    free(start);
}

/* ---- the search ---- */

static int steps_of(const struct best_search *s, double boxes)
{
    return (int) (s->config->effort * fmin(boxes / s->walk->n, MOST_STEPS));
}

static void improve(struct best_search *s)
{
    const struct mtlm_shift shift = {.most_memory = s->config->most_memory,
                                     .slots = s->config->slots,
                                     .steps = steps_of(s, boxes_to_shift),
                                     .enough = s->config->enough};
    const struct mtlm_improve swap = {.most_memory = s->config->most_memory,
                                      .steps = steps_of(s, boxes_to_improve),
                                      .enough = s->config->enough};

    s->least = mtlm_shift_order(&shift, s->walk, s->best);
    mtlm_order_copy(&s->tried, s->best);
    note(s, mtlm_improve_order(&swap, s->walk, &s->tried));
}

double mtlm_best_order(const struct mtlm_best *best, struct mtlm_walk *walk,
                       struct mtlm_box_order *order)
{
    const struct mtlm_boxes *boxes = walk->boxes;
    struct best_search s = {.config = best,
                            .boxes = boxes,
                            .walk = walk,
                            .tried = mtlm_order_create(boxes),
                            .best = order,
                            .least = INFINITY,
                            .stages = mtlm_layout_stages(boxes->layout),
                            .ranks = boxes->layout->pp};

    assert(!boxes->fused);
    try_published(&s);
    try_rounds(&s);
    try_beats(&s);
    if (s.least < INFINITY)
        improve(&s);
    mtlm_order_free(&s.tried);
    return s.least < INFINITY ? mtlm_walk(walk, order) : INFINITY;
}
