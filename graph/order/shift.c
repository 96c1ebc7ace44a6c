/* Late acceptance search over the wished starts of F and B. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/order/dispatch.h"
#include "graph/order/chance.h"
#include "graph/order/rounding.h"
#include "graph/order/shift.h"
#include "runtime/base/memory.h"

enum {
    HISTORY = 50,    /* steps between an order and the one it must not exceed */
    PATIENCE = 1500, /* steps without a better order before a new start */
};

/* A new start accepts orders this much longer than the best one. */
static const double slack = 1.03;

/* The weight of the ranks' mean end beside the makespan: of two orders of one
 * makespan, the one whose ranks end earlier has more room. */
static const double weight_of_ends = .02;

/* The input of struct mtlm_dispatch. */
struct wishes {
    double *wish;  /* [n_wishes] */
    double *delay; /* [pp] */
};

struct shifting {
    const struct mtlm_shift *config;
    struct mtlm_walk *walk;
    const struct mtlm_boxes *boxes;
    struct mtlm_box_order order, *best;
    /* Wishes of the order that steps begin with, of the step, and of the best
     * order. */
    struct wishes now, tried, of_best;
    double least;         /* makespan of the best order */
    double cost;          /* of the order that steps begin with */
    double late[HISTORY]; /* costs of the latest steps */
    double farthest;      /* a shift is at most this long */
    double piece;         /* the longest piece of W */
    int stages, m, ranks, n_wishes, step, best_step;
    struct mtlm_chance chance;
};

/* ---- wishes ---- */

static struct wishes create_wishes(const struct shifting *s)
{
    return (struct wishes){mtlm_calloc(s->n_wishes, sizeof(double)),
                           mtlm_calloc(s->ranks, sizeof(double))};
}

static void free_wishes(struct wishes *wishes)
{
    free(wishes->wish);
    free(wishes->delay);
}

static void copy_wishes(const struct shifting *s, struct wishes *to,
                        const struct wishes *from)
{
    memcpy(to->wish, from->wish, s->n_wishes * sizeof(double));
    memcpy(to->delay, from->delay, s->ranks * sizeof(double));
}

static double *wish_of(const struct shifting *s, struct wishes *wishes,
                       enum mtlm_phase phase, int stage, int microbatch)
{
    return &wishes->wish[mtlm_dispatch_wish(
        s->boxes, (struct mtlm_box){phase, stage, microbatch, 0})];
}

/* Wishes the starts of the walk. */
static void wish_starts(const struct shifting *s, struct wishes *wishes)
{
    static const enum mtlm_phase phases[] = {MTLM_PHASE_FORWARD,
                                             MTLM_PHASE_BACKWARD};

    for (int k = 0; k < s->stages; k++)
        for (int i = 0; i < s->m; i++)
            for (int j = 0; j < 2; j++)
                *wish_of(s, wishes, phases[j], k, i) =
                    s->walk->start[mtlm_box_number(
                        s->boxes, (struct mtlm_box){phases[j], k, i, 0})];
}

/* ---- moves ---- */

struct interval {
    int first, end;
};

/* All of n, the first ones, the last ones, some, or one. */
static struct interval draw_range(struct shifting *s, int n)
{
    const int a = mtlm_chance_below(&s->chance, n);
    const int b = mtlm_chance_below(&s->chance, n);

    switch (mtlm_chance_below(&s->chance, 5)) {
    case 0:
        return (struct interval){0, a + 1};
    case 1:
        return (struct interval){a, n};
    case 2:
        return (struct interval){a < b ? a : b, (a < b ? b : a) + 1};
    case 3:
        return (struct interval){a, a + 1};
    default:
        return (struct interval){0, n};
    }
}

/* One stage, or several from it on. */
static struct interval draw_stages(struct shifting *s)
{
    const int first = mtlm_chance_below(&s->chance, s->stages);
    struct interval found = {first, first + 1};

    if (mtlm_chance_below(&s->chance, 2) == 0)
        found.end += mtlm_chance_below(&s->chance, s->stages - first);
    return found;
}

static void shift_boxes(struct shifting *s)
{
    enum { ONLY_FORWARD, ONLY_BACKWARD, BOTH, KINDS };
    const int kind = mtlm_chance_below(&s->chance, KINDS);
    /* Short shifts are more frequent. */
    const double length = s->farthest * mtlm_chance_fraction(&s->chance);
    const double by = length * (2 * mtlm_chance_fraction(&s->chance) - 1);
    const struct interval stages = draw_stages(s);
    const struct interval microbatches = draw_range(s, s->m);

    for (int k = stages.first; k < stages.end; k++)
        for (int i = microbatches.first; i < microbatches.end; i++) {
            if (kind != ONLY_BACKWARD)
                *wish_of(s, &s->tried, MTLM_PHASE_FORWARD, k, i) += by;
            if (kind != ONLY_FORWARD)
                *wish_of(s, &s->tried, MTLM_PHASE_BACKWARD, k, i) += by;
        }
}

/* Changes the delay of one rank, or of all ranks. */
static void change_delay(struct shifting *s)
{
    const int r = mtlm_chance_below(&s->chance, s->ranks);
    const bool none = mtlm_chance_below(&s->chance, 2) == 0;
    const bool one = mtlm_chance_below(&s->chance, 3) > 0;
    const double delay = none ? 0 : s->piece * mtlm_chance_fraction(&s->chance);

    for (int i = 0; i < s->ranks; i++)
        if (i == r || !one)
            s->tried.delay[i] = delay;
}

/* ---- steps ---- */

/* Makespan, and a small part of the ranks' mean end. */
static double cost_of(const struct shifting *s, double makespan)
{
    double ends = 0;

    for (int r = 0; r < s->ranks; r++)
        ends += s->walk->end[s->order.box[r][s->order.n[r] - 1]];
    return makespan + weight_of_ends * ends / s->ranks;
}

static void note_best(struct shifting *s, double makespan)
{
    if (makespan >= s->least * (1 - MTLM_WALK_ROUNDING))
        return;
    s->least = makespan;
    s->best_step = s->step;
    mtlm_order_copy(s->best, &s->order);
    wish_starts(s, &s->of_best);
    memcpy(s->of_best.delay, s->tried.delay, s->ranks * sizeof(double));
}

/* Begins again with the best order. */
static void start_again(struct shifting *s)
{
    s->best_step = s->step;
    copy_wishes(s, &s->now, &s->of_best);
    s->cost = s->least * slack;
    for (int i = 0; i < HISTORY; i++)
        s->late[i] = s->cost;
}

static double dispatch(struct shifting *s)
{
    const struct mtlm_dispatch config = {.wish = s->tried.wish,
                                         .delay = s->tried.delay,
                                         .most_memory = s->config->most_memory,
                                         .slots = s->config->slots};

    return mtlm_dispatch_build(&config, s->walk, &s->order);
}

static void step(struct shifting *s)
{
    double *late = &s->late[s->step % HISTORY];
    double makespan;

    copy_wishes(s, &s->tried, &s->now);
    if (mtlm_chance_below(&s->chance, 10) == 0)
        change_delay(s);
    else
        for (int i = 1 + mtlm_chance_below(&s->chance, 2); i > 0; i--)
            shift_boxes(s);
    makespan = dispatch(s);
    if (makespan < INFINITY) {
        const double cost = cost_of(s, makespan);

        if (cost <= s->cost || cost <= *late) {
            s->cost = cost;
            wish_starts(s, &s->now);
            memcpy(s->now.delay, s->tried.delay, s->ranks * sizeof(double));
        }
        note_best(s, makespan);
    }
    *late = fmin(*late, s->cost);
    if (s->step - s->best_step > PATIENCE)
        start_again(s);
}

static void find_scales(struct shifting *s)
{
    const struct mtlm_boxes *boxes = s->boxes;

    for (int k = 0; k < s->stages; k++) {
        const double all =
            boxes->forward[k] + boxes->backward[k] + boxes->weight[k];

        s->farthest = fmax(s->farthest, 2 * all);
        s->piece = fmax(s->piece, boxes->weight[k] / boxes->pieces);
    }
}

double mtlm_shift_order(const struct mtlm_shift *shift, struct mtlm_walk *walk,
                        struct mtlm_box_order *order)
{
    const struct mtlm_boxes *boxes = walk->boxes;
    struct shifting s = {.config = shift,
                         .walk = walk,
                         .boxes = boxes,
                         .order = mtlm_order_create(boxes),
                         .best = order,
                         .least = mtlm_walk(walk, order),
                         .stages = mtlm_layout_stages(boxes->layout),
                         .m = boxes->microbatches,
                         .ranks = order->ranks,
                         .n_wishes = mtlm_dispatch_wishes(boxes),
                         .chance = mtlm_chance_create()};

    s.now = create_wishes(&s);
    s.tried = create_wishes(&s);
    s.of_best = create_wishes(&s);
    find_scales(&s);
    wish_starts(&s, &s.of_best);
    start_again(&s);
    for (; s.step < shift->steps
           && s.least > shift->enough * (1 + MTLM_SECONDS_ROUNDING);
         s.step++)
        step(&s);
    free_wishes(&s.now);
    free_wishes(&s.tried);
    free_wishes(&s.of_best);
    mtlm_order_free(&s.order);
    return mtlm_walk(walk, order);
}
