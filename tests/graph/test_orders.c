/* Orders of a pipeline: what published orders take, what a walk finds, and that
 * a search ends with the best order there is. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/order/improve.h"
#include "graph/order/rounds.h"
#include "tests/graph/scene.h"

static double build(struct scene *s, double memory)
{
    const struct mtlm_rounds rounds = {.most_memory = memory};
    const double makespan = mtlm_rounds_build(&rounds, &s->walk, &s->order);

    scene_assert_sound(s, memory);
    return makespan;
}

static const double one[3] = {1, 1, 1};

/* arXiv 2401.10241: m T + (p - 1)(F + B - W) for ZB-H1; ZB-H2's makespan is the
 * same, its span shorter.  arXiv 2405.15362, ZB-V with the memory of 1F1B:
 * m T + (p - 1) F / 2, also where m = p. */
static void test_rounds_give_the_published_makespans(void **state)
{
    static const int sizes[][2] = {{2, 8},  {4, 4}, {4, 8},
                                   {4, 16}, {8, 8}, {8, 32}};

    (void) state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const int p = sizes[i][0], m = sizes[i][1];
        struct scene s;

        scene_create(&s, p, m, 1, 1, one, 0);
        assert_float_equal(build(&s, p), 3 * m + p - 1, scene_rounding);
        assert_float_equal(build(&s, 2 * p - 1), 3 * m + p - 1, scene_rounding);
        scene_free(&s);
        scene_create(&s, p, m, 2, 1, one, 0);
        assert_float_equal(build(&s, p), 3 * m + (p - 1) / 2.0, scene_rounding);
        scene_free(&s);
    }
}

/* The zero-bubble authors' own scheduler gives 83.99
 * (sail-sg/zero-bubble-pipeline- parallelism, zbv.py, revision 39f2c18). */
static void test_rounds_know_times_and_latency(void **state)
{
    static const double times[3] = {1, .976, .504};
    struct scene s;

    (void) state;
    scene_create(&s, 8, 32, 2, 1, times, .0324);
    assert_float_equal(build(&s, 8), 83.99, .005);
    scene_free(&s);
    /* ZB-H1 with a latency of a thousandth: the path through eight hops. */
    scene_create(&s, 4, 8, 1, 1, one, .001);
    assert_float_equal(build(&s, 4), 27.012, 1e-9);
    scene_free(&s);
}

static void test_too_little_memory_is_said(void **state)
{
    const struct mtlm_rounds rounds = {.most_memory = .5};
    struct scene s;

    (void) state;
    scene_create(&s, 4, 8, 2, 1, one, 0);
    assert_true(mtlm_rounds_build(&rounds, &s.walk, &s.order) == INFINITY);
    scene_free(&s);
}

/* B before its own F on the last rank: the first boxes that never run. */
static void test_a_walk_finds_where_an_order_is_stuck(void **state)
{
    struct scene s;
    int *last;

    (void) state;
    scene_create(&s, 2, 4, 1, 1, one, 0);
    build(&s, 2);
    last = s.order.box[1];
    assert_int_equal(mtlm_box_at(&s.boxes, last[0]).phase, MTLM_PHASE_FORWARD);
    assert_int_equal(mtlm_box_at(&s.boxes, last[1]).phase, MTLM_PHASE_BACKWARD);
    last[0] = last[1];
    last[1] = mtlm_box_number(&s.boxes,
                              (struct mtlm_box){MTLM_PHASE_FORWARD, 1, 0, 0});
    assert_true(mtlm_walk(&s.walk, &s.order) == INFINITY);
    assert_int_equal(mtlm_walk_stuck(&s.walk, &s.order, 1), 0);
    assert_true(mtlm_walk_stuck(&s.walk, &s.order, 0) > 0);
    /* An order without its last box. */
    build(&s, 2);
    s.order.n[1]--;
    assert_true(mtlm_walk(&s.walk, &s.order) == INFINITY);
    assert_int_equal(mtlm_walk_stuck(&s.walk, &s.order, 1), -1);
    scene_free(&s);
}

/* ---- the best order there is ---- */

/* Appends boxes in every order that memory and the microbatches of a kind
 * allow; returns the least makespan. */
static double try_all(struct scene *s, int next[][SCENE_MOST][3], double most)
{
    double least = INFINITY;
    bool whole = true;

    for (int r = 0; r < s->order.ranks; r++) {
        const int chunks = s->layout.virtual_stages, m = s->boxes.microbatches;

        if (s->order.n[r] == 3 * chunks * m)
            continue;
        whole = false;
        for (int k = 0; k < s->layout.pp * chunks; k++)
            for (int phase = 0; phase < 3; phase++) {
                int *count = &next[r][k][phase];
                const struct mtlm_box box = {phase == 0   ? MTLM_PHASE_FORWARD
                                             : phase == 1 ? MTLM_PHASE_BACKWARD
                                                          : MTLM_PHASE_WEIGHT,
                                             k, *count, 0};

                if (mtlm_layout_pp_rank(&s->layout, k) != r || *count == m
                    || (phase > 0 && next[r][k][phase - 1] <= *count))
                    continue;
                mtlm_order_append(&s->order, &s->boxes,
                                  mtlm_box_number(&s->boxes, box));
                ++*count;
                if (mtlm_order_peak(&s->order, &s->boxes)
                    <= most + scene_rounding)
                    least = fmin(least, try_all(s, next, most));
                --*count;
                s->order.n[r]--;
            }
        break; /* one rank after another */
    }
    return whole ? mtlm_walk(&s->walk, &s->order) : least;
}

static double best_of_all(struct scene *s, double most)
{
    int next[SCENE_MOST][SCENE_MOST][3];

    memset(next, 0, sizeof(next));
    for (int r = 0; r < s->order.ranks; r++)
        s->order.n[r] = 0;
    return try_all(s, next, most);
}

static void test_improvement_finds_the_best_order(void **state)
{
    static const double times[][3] = {
        {1, 1, 1}, {1, 1.3, .8}, {1, 1.55, 1}, {.7, 1.2, 1.9}, {2, 1, 1}};

    (void) state;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        for (int most = 1; most <= 3; most++) {
            struct scene s;
            double best, found;

            scene_create(&s, 2, 3, 1, 1, times[i], .1 * i);
            s.forward[1] *= 1.2; /* unequal stages */
            scene_update(&s);
            best = best_of_all(&s, most);
            found = build(&s, most);
            assert_true(found >= best - scene_rounding);
            found = mtlm_improve_order(
                &(struct mtlm_improve){.most_memory = most, .steps = 3000},
                &s.walk, &s.order);
            scene_assert_sound(&s, most);
            assert_float_equal(found, best, scene_rounding);
            scene_free(&s);
        }
}

/* One rank that is slower than the others, two virtual stages: 61.39 by rounds;
 * the bound, the slow rank's work behind its first F, is reached. */
static void test_improvement_reaches_the_bound_of_a_slow_rank(void **state)
{
    struct scene s;
    double found;

    (void) state;
    scene_create(&s, 4, 16, 2, 4, one, .1);
    for (int k = 0; k < 8; k++)
        if (mtlm_layout_pp_rank(&s.layout, k) == 1) {
            s.forward[k] *= 1.25;
            s.backward[k] *= 1.25;
            s.weight[k] *= 1.25;
        }
    scene_update(&s);
    build(&s, 4);
    found = mtlm_improve_order(&(struct mtlm_improve){.most_memory = 4,
                                                      .steps = 20000,
                                                      .enough = 60.6},
                               &s.walk, &s.order);
    scene_assert_sound(&s, 4);
    assert_float_equal(found, 60.6, scene_rounding);
    scene_free(&s);
}

/* The boxes of later microbatches are left out, and no other. */
static void test_first_microbatches_keep_their_order(void **state)
{
    enum { FEW = 3 };
    struct scene s;
    struct mtlm_boxes fewer;
    struct mtlm_box_order first;
    struct mtlm_walk walk;

    (void) state;
    scene_create(&s, 4, 8, 2, 2, one, 0);
    build(&s, 4);
    first = mtlm_order_first(&s.order, &s.boxes, FEW);
    fewer = s.boxes;
    fewer.microbatches = FEW;
    for (int r = 0; r < 4; r++) {
        int n = 0;

        for (int j = 0; j < s.order.n[r]; j++) {
            const struct mtlm_box box =
                mtlm_box_at(&s.boxes, s.order.box[r][j]);

            if (box.microbatch >= FEW)
                continue;
            assert_true(n < first.n[r]);
            assert_int_equal(first.box[r][n++], mtlm_box_number(&fewer, box));
        }
        assert_int_equal(n, first.n[r]);
        assert_int_equal(n, 2 * FEW * 4);
    }
    walk = mtlm_walk_create(&fewer);
    assert_true(mtlm_walk(&walk, &first) < INFINITY);
    mtlm_walk_free(&walk);
    mtlm_order_free(&first);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds_give_the_published_makespans),
        cmocka_unit_test(test_rounds_know_times_and_latency),
        cmocka_unit_test(test_too_little_memory_is_said),
        cmocka_unit_test(test_a_walk_finds_where_an_order_is_stuck),
        cmocka_unit_test(test_improvement_finds_the_best_order),
        cmocka_unit_test(test_improvement_reaches_the_bound_of_a_slow_rank),
        cmocka_unit_test(test_first_microbatches_keep_their_order)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
