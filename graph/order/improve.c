/* Tabu search over the orders of a pipeline. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/order/chance.h"
#include "graph/order/improve.h"
#include "graph/order/rounding.h"
#include "runtime/base/memory.h"

enum {
    TABU_LEAST = 8,  /* steps for which a box must not move back */
    TABU_MORE = 12,  /* at random, so many more at most */
    PATIENCE = 2000, /* steps without a better order before a new start */
    KICKS = 12,      /* swaps at random at a new start */
};

/* Neighbours in a rank's order: places place and place + 1. */
struct swap {
    int rank, place;
    double bound; /* the longest path through both after the swap */
};

struct state {
    const struct mtlm_improve *config;
    struct mtlm_walk *walk;
    struct mtlm_box_order *order, best;
    double now, least; /* makespans of both */
    double *tail;      /* [n] longest time from a box's end to the end of all */
    double **level;    /* [ranks][boxes] memory in use before a place */
    int *until;        /* [n] the step from which a box may move back */
    struct mtlm_chance chance;
    int step, best_step;
};

/* ---- times and memory ---- */

/* The longest time behind a box if `next` follows it on its rank; next < 0:
 * none. */
static double tail_before(const struct state *s, int box, int next)
{
    const struct mtlm_walk *w = s->walk;
    double tail = next < 0 ? 0 : w->time[next] + s->tail[next];

    for (int i = 0; i < w->n_after[box]; i++) {
        const int after = w->after[box][i];

        tail = fmax(tail, w->hop[after] + w->time[after] + s->tail[after]);
    }
    return tail;
}

static int box_behind(const struct state *s, int box)
{
    const int r = s->walk->rank[box], next = s->walk->place[box] + 1;

    return next < s->order->n[r] ? s->order->box[r][next] : -1;
}

static void find_tails(struct state *s)
{
    for (int i = s->walk->n_run - 1; i >= 0; i--) {
        const int box = s->walk->run[i];

        s->tail[box] = tail_before(s, box, box_behind(s, box));
    }
}

static void find_levels(struct state *s)
{
    for (int r = 0; r < s->order->ranks; r++) {
        double level = 0;

        for (int j = 0; j < s->order->n[r]; j++) {
            s->level[r][j] = level;
            level += s->walk->growth[s->order->box[r][j]];
        }
    }
}

/* ---- swaps ---- */

/* Whether box y may precede x, its neighbour on the rank: boxes of one kind
 * keep the order of microbatches. */
static bool may_swap(const struct state *s, int r, int place)
{
    const int x = s->order->box[r][place], y = s->order->box[r][place + 1];
    const struct mtlm_box a = mtlm_box_at(s->walk->boxes, x);
    const struct mtlm_box b = mtlm_box_at(s->walk->boxes, y);

    return s->walk->before[y] != x
           && !(a.phase == b.phase && a.stage == b.stage)
           && s->level[r][place] + s->walk->growth[y]
                  <= s->config->most_memory * (1 + MTLM_MEMORY_ROUNDING);
}

static void swap_boxes(struct state *s, int r, int place)
{
    int *box = &s->order->box[r][place];
    const int x = box[0];

    box[0] = box[1];
    box[1] = x;
    s->level[r][place + 1] = s->level[r][place] + s->walk->growth[box[0]];
}

static double arrival(const struct mtlm_walk *w, int box)
{
    return w->before[box] < 0 ? 0 : w->end[w->before[box]] + w->hop[box];
}

/* Returns the longest path through both boxes after the swap, but for what the
 * swap changes elsewhere. */
static double bound_of(const struct state *s, int r, int place)
{
    const struct mtlm_walk *w = s->walk;
    const int *box = &s->order->box[r][place];
    const int x = box[0], y = box[1];
    const double free = place > 0 ? w->end[box[-1]] : 0;
    const double y_end = fmax(free, arrival(w, y)) + w->time[y];
    const double x_end = fmax(y_end, arrival(w, x)) + w->time[x];
    const double x_tail = tail_before(s, x, box_behind(s, y));
    double y_tail = tail_before(s, y, -1);

    y_tail = fmax(y_tail, w->time[x] + x_tail);
    return fmax(y_end + y_tail, x_end + x_tail);
}

/* ---- the longest path ---- */

static bool is_critical(const struct state *s, int box)
{
    return s->walk->end[box] + s->tail[box] > s->now * (1 - MTLM_WALK_ROUNDING);
}

/* A box that begins the longest path. */
static int path_begin(struct state *s)
{
    int found = -1, n = 0;

    for (int r = 0; r < s->order->ranks; r++) {
        const int box = s->order->box[r][0];

        if (s->walk->before[box] < 0 && is_critical(s, box)
            && mtlm_chance_below(&s->chance, ++n) == 0)
            found = box;
    }
    return found;
}

/* The next box of a longest path, or -1. */
static int path_next(struct state *s, int box)
{
    const struct mtlm_walk *w = s->walk;
    const int behind = box_behind(s, box);
    int found = -1, n = 0;

    if (behind >= 0 && w->start[behind] <= w->end[box]
        && is_critical(s, behind)) {
        found = behind;
        n = 1;
    }
    for (int i = 0; i < w->n_after[box]; i++) {
        const int after = w->after[box][i];

        if (w->start[after] <= w->end[box] + w->hop[after]
            && is_critical(s, after) && mtlm_chance_below(&s->chance, ++n) == 0)
            found = after;
    }
    return found;
}

/* Considers a swap: the lowest bound of those that are allowed. */
static void consider(struct state *s, int box, struct swap *found)
{
    const int r = s->walk->rank[box], place = s->walk->place[box];
    double bound;

    if (!may_swap(s, r, place))
        return;
    bound =
        bound_of(s, r, place) * (1 + 1e-9 * mtlm_chance_fraction(&s->chance));
    if (s->until[box] > s->step && bound >= s->least)
        return;
    if (bound < found->bound)
        *found = (struct swap){r, place, bound};
}

/* The best swap on a longest path; rank < 0: there is none. */
static struct swap find_swap(struct state *s)
{
    struct swap found = {-1, 0, INFINITY};

    find_tails(s);
    for (int box = path_begin(s); box >= 0;) {
        const int next = path_next(s, box);

        if (next >= 0 && next == box_behind(s, box))
            consider(s, box, &found);
        box = next;
    }
    return found;
}

/* ---- steps ---- */

static void try_swap(struct state *s, int r, int place)
{
    swap_boxes(s, r, place);
    s->now = mtlm_walk(s->walk, s->order);
    if (s->now < INFINITY)
        return;
    swap_boxes(s, r, place);
    s->now = mtlm_walk(s->walk, s->order);
}

/* Swaps at random, away from where the search has stuck. */
static void kick(struct state *s)
{
    for (int i = 0; i < KICKS; i++) {
        const int r = mtlm_chance_below(&s->chance, s->order->ranks);
        const int place = mtlm_chance_below(&s->chance, s->order->n[r] - 1);

        if (may_swap(s, r, place))
            try_swap(s, r, place);
    }
}

static void start_again(struct state *s)
{
    mtlm_order_copy(s->order, &s->best);
    find_levels(s);
    s->now = mtlm_walk(s->walk, s->order);
    s->best_step = s->step;
    for (int i = 0; i < s->walk->n; i++)
        s->until[i] = 0;
    kick(s);
}

static void note_best(struct state *s)
{
    if (s->now >= s->least * (1 - MTLM_WALK_ROUNDING))
        return;
    s->least = s->now;
    s->best_step = s->step;
    mtlm_order_copy(&s->best, s->order);
}

static void step(struct state *s)
{
    const struct swap swap = find_swap(s);
    int moved;

    if (swap.rank < 0) {
        kick(s);
        return;
    }
    moved = s->order->box[swap.rank][swap.place + 1];
    try_swap(s, swap.rank, swap.place);
    s->until[moved] =
        s->step + TABU_LEAST + mtlm_chance_below(&s->chance, TABU_MORE);
    note_best(s);
    if (s->step - s->best_step > PATIENCE)
        start_again(s);
}

double mtlm_improve_order(const struct mtlm_improve *improve,
                          struct mtlm_walk *walk, struct mtlm_box_order *order)
{
    struct state s = {.config = improve,
                      .walk = walk,
                      .order = order,
                      .best = mtlm_order_create(walk->boxes),
                      .tail = mtlm_calloc(walk->n, sizeof(double)),
                      .level = mtlm_calloc(order->ranks, sizeof(double *)),
                      .until = mtlm_calloc(walk->n, sizeof(int)),
                      .chance = mtlm_chance_create()};

    for (int r = 0; r < order->ranks; r++)
        s.level[r] = mtlm_calloc(order->n[r], sizeof(double));
    s.now = s.least = mtlm_walk(walk, order);
    mtlm_order_copy(&s.best, order);
    find_levels(&s);
    for (; s.step < improve->steps
           && s.least > improve->enough * (1 + MTLM_SECONDS_ROUNDING);
         s.step++)
        step(&s);
    mtlm_order_copy(order, &s.best);
    s.least = mtlm_walk(walk, order);
    for (int r = 0; r < order->ranks; r++)
        free(s.level[r]);
    free(s.level);
    free(s.until);
    free(s.tail);
    mtlm_order_free(&s.best);
    return s.least;
}
