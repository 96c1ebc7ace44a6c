/* Bounds by linear programs: never above the shortest of all orders, on it
 * where memory decides, and never above an order that a search finds. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/order/best.h"
#include "graph/predict/bound.h"
#include "graph/predict/lp.h"
#include "graph/predict/lp_bound.h"
#include "tests/graph/scene.h"

enum { MOST_BOXES = 64 };

/* ---- all orders ---- */

/* Schedules of a scene, box by box in the order of starts.  Microbatches have
 * any order, but start in ascending order: else they are the same schedules by
 * other names. */
struct all_orders {
    const struct scene *scene;
    double most, best; /* memory of a rank; the shortest makespan */
    double end[MOST_BOXES], behind[MOST_BOXES];
    bool run[MOST_BOXES];
    double rank_end[8], rank_left[8], held[8];
};

/* Returns the time from the box's end to the end, on the longest path. */
static double find_behind(struct all_orders *a, int box)
{
    const struct mtlm_walk *w = &a->scene->walk;
    double most = 0;

    for (int i = 0; i < w->n_after[box]; i++) {
        const int next = w->after[box][i];

        most = fmax(most, w->hop[next] + w->time[next] + find_behind(a, next));
    }
    return a->behind[box] = most;
}

static bool is_ready(const struct all_orders *a, int box)
{
    const struct mtlm_walk *w = &a->scene->walk;
    const struct mtlm_box at = mtlm_box_at(&a->scene->boxes, box);
    struct mtlm_box older = at;

    if (a->run[box] || (w->before[box] >= 0 && !a->run[w->before[box]]))
        return false;
    older.microbatch--;
    if (at.phase != MTLM_PHASE_FORWARD)
        return true;
    if (at.stage == 0 && at.microbatch > 0
        && !a->run[mtlm_box_number(&a->scene->boxes, older)])
        return false;
    return a->held[w->rank[box]] + w->growth[box] <= a->most + 1e-9;
}

static void try_boxes(struct all_orders *a, int left, double now,
                      double longest);

static void try_box(struct all_orders *a, int box, int left, double now,
                    double longest)
{
    const struct mtlm_walk *w = &a->scene->walk;
    const int r = w->rank[box], before = w->before[box];
    const double rank_end = a->rank_end[r];
    const double start =
        fmax(rank_end, before < 0 ? 0 : a->end[before] + w->hop[box]);
    const double end = start + w->time[box];

    if (start < now || end + a->behind[box] >= a->best - 1e-9
        || start + a->rank_left[r] >= a->best - 1e-9)
        return;
    a->run[box] = true;
    a->end[box] = a->rank_end[r] = end;
    a->rank_left[r] -= w->time[box];
    a->held[r] += w->growth[box];
    try_boxes(a, left - 1, start, fmax(longest, end));
    a->held[r] -= w->growth[box];
    a->rank_left[r] += w->time[box];
    a->rank_end[r] = rank_end;
    a->run[box] = false;
}

static void try_boxes(struct all_orders *a, int left, double now,
                      double longest)
{
    if (left == 0)
        a->best = fmin(a->best, longest);
    for (int box = 0; box < a->scene->walk.n; box++)
        if (is_ready(a, box))
            try_box(a, box, left, now, longest);
}

/* Returns the shortest makespan of all orders within the memory. */
static double shortest(const struct scene *scene, double most)
{
    const struct mtlm_walk *w = &scene->walk;
    struct all_orders a = {.scene = scene, .most = most, .best = INFINITY};

    assert_true(w->n <= MOST_BOXES);
    for (int i = 0; i < w->n; i++) {
        find_behind(&a, i);
        a.rank_left[w->rank[i]] += w->time[i];
    }
    try_boxes(&a, w->n, 0, 0);
    return a.best;
}

/* ---- bounds ---- */

static struct mtlm_evaluate pipeline_of(const struct scene *s)
{
    return (struct mtlm_evaluate){
        .layout = &s->layout,
        .schedule = mtlm_schedule_find(s->boxes.fused ? "1f1b" : "zb-h1"),
        .microbatches = s->boxes.microbatches,
        .forward = s->forward,
        .backward = s->backward,
        .weight = s->weight,
        .hop = s->boxes.hop,
        .pieces = 1};
}

/* Returns the bound below a schedule of this makespan. */
static double bound_of(const struct scene *s, double memory, double makespan)
{
    const struct mtlm_evaluate pipeline = pipeline_of(s);
    const struct mtlm_rank_memory rank = {s->memory, 1, memory};
    const double least = mtlm_bound_makespan(&pipeline);
    struct mtlm_lp_bound bound =
        mtlm_lp_bound_find(&pipeline, &rank, least, makespan);
    const double found = fmax(least, bound.least_s);

    mtlm_lp_bound_free(&bound);
    return found;
}

struct job {
    int p, m, v;
    double times[3], hop, memory;
    double gap; /* the bound is at least so much of the shortest */
};

static void test_no_order_is_below_the_bound(void **state)
{
    static const struct job job[] = {
        {2, 2, 1, {1, 1, 1}, 0, 1, .99},
        {2, 3, 1, {1, 1.3, .8}, .5, 1, .99},
        {2, 4, 1, {1, 1.3, .8}, .5, 2, .95},
        {2, 4, 1, {1, 1, 1}, .1, 2, .97},
        {2, 3, 1, {1, 2, .3}, 1, 2, .9},
        {2, 2, 2, {1, 1, 1}, 0, 1, .9},
        {2, 2, 2, {1, 1.3, .8}, .5, 1.5, .9},
        {2, 2, 2, {1, 1, 3}, 0, 2, .8},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(job) / sizeof(job[0]); i++)
        for (int fused = 0; fused < 2; fused++) {
            const struct job *j = &job[i];
            struct scene s;
            double best, bound;

            scene_create(&s, j->p, j->m, j->v, 1, j->times, j->hop);
            s.boxes.fused = fused;
            scene_update(&s);
            best = shortest(&s, j->memory);
            bound = bound_of(&s, j->memory, best);
            assert_true(best < INFINITY);
            assert_true(bound <= best * (1 + 1e-9));
            assert_true(bound >= best * j->gap);
            scene_free(&s);
        }
}

/* The search finds what the bound leaves open, and path and work do not. */
static void test_the_gap_of_searched_orders_is_small(void **state)
{
    static const double times[] = {1, 1.3, .8}, memories[] = {4};
    struct scene s;

    (void) state;
    scene_create(&s, 4, 8, 2, 1, times, .5);
    for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++) {
        const struct mtlm_evaluate pipeline = pipeline_of(&s);
        const struct mtlm_best best = {
            .most_memory = memories[i], .slots.pooled = true, .effort = .3};
        const double found = mtlm_best_order(&best, &s.walk, &s.order);
        const double bound = bound_of(&s, memories[i], found);

        assert_true(found > 1.2 * mtlm_bound_makespan(&pipeline));
        assert_true(bound <= found * (1 + 1e-9));
        assert_true(bound >= .97 * found);
    }
    scene_free(&s);
}

/* Passes whose steps other passes interrupt, and W in pieces. */
static void test_no_evaluation_is_below_the_bound(void **state)
{
    static const double times[] = {1, 1.3, .8};
    struct mtlm_window window[4];
    struct scene s;

    (void) state;
    scene_create(&s, 4, 8, 1, 1, times, .5);
    for (int k = 0; k < 4; k++)
        window[k] = (struct mtlm_window){.w = 4 - k, .q = k, .g = 4};
    for (int steps = 1; steps <= 8; steps += 7) {
        struct mtlm_evaluate pipeline = pipeline_of(&s);
        struct mtlm_evaluation e;
        double bound;

        pipeline.steps = pipeline.pieces = steps;
        pipeline.window = window;
        e = mtlm_evaluate(&pipeline);
        bound = bound_of(&s, 4, e.makespan_s);
        assert_true(bound <= e.makespan_s * (1 + 1e-9));
        assert_true(bound > 1.1 * mtlm_bound_makespan(&pipeline));
        mtlm_evaluation_free(&e);
    }
    scene_free(&s);
}

/* With memory for all microbatches, ZB-H1's order is on the longest path: no
 * program proves more, and no program proves too much. */
static void test_a_path_that_is_reached_is_the_bound(void **state)
{
    static const double times[] = {1, 1, 1};
    struct scene s;

    (void) state;
    scene_create(&s, 4, 8, 1, 1, times, 0);
    assert_float_equal(bound_of(&s, 8, 27), 27, 1e-9);
    assert_float_equal(bound_of(&s, 4, 40), 27, 27 * 2e-3);
    scene_free(&s);
}

int main(void)
{
    enum { SKIPPED = 77 };

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_order_is_below_the_bound),
        cmocka_unit_test(test_the_gap_of_searched_orders_is_small),
        cmocka_unit_test(test_no_evaluation_is_below_the_bound),
        cmocka_unit_test(test_a_path_that_is_reached_is_the_bound),
    };

    if (!mtlm_lp_available())
        return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
