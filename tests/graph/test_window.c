/* Activation windows: their closed values. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph/schedule/schedule.h"
#include "graph/schedule/window.h"

enum { MANY = 1000, MOST = 64 };

static const double rounding = 1e-6;

/* Virtual stages that are equal in everything, of 1 / v of a rank's. */
struct equal {
    struct mtlm_layout layout;
    double time[MOST], memory[MOST];
    const struct mtlm_schedule *schedule;
    struct mtlm_window_model model;
    struct mtlm_window window[MOST];
    double alpha;
};

static void equal(struct equal *e, int p, int v, enum mtlm_placement placement)
{
    e->layout = (struct mtlm_layout){.tp = 1,
                                     .pp = p,
                                     .dp = 1,
                                     .virtual_stages = v,
                                     .placement = placement,
                                     .workers = 1};
    for (int k = 0; k < p * v; k++) {
        e->time[k] = 3;
        e->memory[k] = 1.0 / v;
    }
    e->schedule = mtlm_schedule_find("window");
    e->model = (struct mtlm_window_model){.layout = &e->layout,
                                          .microbatches = MANY,
                                          .forward = e->time,
                                          .backward = e->time,
                                          .weight = e->time,
                                          .memory = e->memory};
}

static void solve(struct equal *e)
{
    e->alpha = mtlm_schedule_windows(e->schedule, &e->model, e->window);
}

static void assert_slots(const struct equal *e, const int *w)
{
    for (int k = 0; k < mtlm_layout_stages(&e->layout); k++)
        assert_int_equal(e->window[k].w, w[k]);
}

/* alpha and memory lead to the same windows. */
static void test_windows_are_those_of_the_memory(void **state)
{
    static const struct {
        int p, v;
        enum mtlm_placement placement;
        double memory, alpha;
        int w[16];
    } cases[] = {
        {1, 1, 0, 1, 1.5, {1}},
        {2, 1, 0, 2, 1.5, {2, 1}},
        {2, 1, 0, 3, 9 / 4.0, {3, 2}},
        {2, 2, 0, 2.5, 9 / 4.0, {3, 3, 2, 1}},
        {2, 2, MTLM_PLACEMENT_V, 2, 2, {3, 2, 2, 1}},
        {4, 1, 0, 4, 1.5, {4, 3, 2, 1}},
        {4, 1, 0, 7, 21 / 8.0, {7, 6, 4, 2}},
        {4, 2, 0, 5.5, 21 / 8.0, {7, 7, 6, 5, 4, 3, 2, 1}},
        {4, 2, MTLM_PLACEMENT_V, 4, 12 / 5.0, {7, 6, 5, 4, 4, 3, 2, 1}},
        {4, 2, MTLM_PLACEMENT_V, 3, 12 / 7.0, {5, 4, 4, 3, 3, 2, 2, 1}},
        {4, 2, MTLM_PLACEMENT_V, 2, 1, {3, 3, 2, 2, 2, 1, 1, 1}},
        {8, 1, 0, 8, 1.5, {8, 7, 6, 5, 4, 3, 2, 1}},
        {8, 1, 0, 15, 45 / 16.0, {15, 14, 12, 10, 8, 6, 4, 2}},
        {8,
         2,
         0,
         11.5,
         45 / 16.0,
         {15, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}},
        {8,
         2,
         MTLM_PLACEMENT_V,
         8,
         8 / 3.0,
         {15, 14, 13, 12, 11, 10, 9, 8, 8, 7, 6, 5, 4, 3, 2, 1}},
        {8,
         2,
         MTLM_PLACEMENT_V,
         5,
         8 / 5.0,
         {9, 8, 8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1}},
        {8,
         2,
         MTLM_PLACEMENT_V,
         4,
         5 / 4.0,
         {7, 7, 6, 6, 5, 5, 5, 4, 4, 3, 3, 3, 2, 2, 1, 1}},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct equal e;

        equal(&e, cases[i].p, cases[i].v, cases[i].placement);
        e.model.alpha = cases[i].alpha;
        solve(&e);
        assert_slots(&e, cases[i].w);
        e.model.alpha = 0;
        e.model.most_memory = cases[i].memory;
        solve(&e);
        assert_slots(&e, cases[i].w);
        assert_float_equal(e.alpha, cases[i].alpha, rounding);
        assert_true(mtlm_window_memory(&e.model, e.window)
                    <= cases[i].memory + rounding);
    }
}

/* Returns whether the w of alpha fit. */
static bool alpha_fits(struct equal *e, double alpha, double most)
{
    mtlm_window_set_alpha(&e->model, alpha, e->window);
    return mtlm_window_memory(&e->model, e->window) <= most + rounding;
}

/* Stages of unequal times, half of them of no memory, in memory for 0 to 70
 * slots: a little more alpha does not fit, unless all windows are m. */
static void test_the_largest_alpha_that_fits_is_found(void **state)
{
    enum { P = 4, M = 20 };
    static const double times[P] = {3, 1, 0.7, 5};
    struct equal e;

    (void) state;
    equal(&e, P, 1, MTLM_PLACEMENT_LOOP);
    e.model.microbatches = M;
    for (int half = 0; half < 2; half++)
        for (double most = 0; most < 70; most += 0.5) {
            struct mtlm_window window[P];
            double alpha;

            for (int k = 0; k < P; k++) {
                e.time[k] = times[k];
                e.memory[k] = half && k % 2 ? 0 : 1 + k / 2.0;
            }
            alpha = mtlm_window_set_memory(&e.model, most, window);
            assert_true(alpha == 0 || alpha_fits(&e, alpha, most));
            mtlm_window_set_alpha(&e.model, alpha, e.window);
            for (int k = 0; k < P; k++)
                assert_int_equal(window[k].w, e.window[k].w);
            if (alpha_fits(&e, alpha + 1e-6, most))
                for (int k = 0; k < P; k++)
                    assert_int_equal(window[k].w, M);
        }
}

/* A step of alpha for each slot would take hours. */
static void test_alpha_is_found_for_many_microbatches(void **state)
{
    enum { M = 1 << 24 };
    static const double most = 4e6;
    struct equal e;
    double alpha;

    (void) state;
    equal(&e, MOST, 1, MTLM_PLACEMENT_LOOP);
    e.model.microbatches = M;
    mtlm_window_set_memory(&e.model, 1e15, e.window);
    for (int k = 0; k < MOST; k++)
        assert_int_equal(e.window[k].w, M);
    alpha = mtlm_window_set_memory(&e.model, most, e.window);
    assert_int_equal(e.window[0].w, (int) most);
    assert_true(alpha_fits(&e, alpha, most));
    assert_false(alpha_fits(&e, alpha * (1 + 1e-6), most));
}

/* What a rank has left goes to the tensors that W needs. */
static void test_every_rank_is_filled_to_the_memory(void **state)
{
    static const int q_loop[] = {0, 0, 1, 2, 0, 1, 2, 3};
    struct equal e;

    (void) state;
    equal(&e, 4, 2, MTLM_PLACEMENT_LOOP);
    e.model.most_memory = 5.5;
    solve(&e);
    for (int k = 0; k < 8; k++)
        assert_int_equal(e.window[k].q, q_loop[k]);
    equal(&e, 4, 2, MTLM_PLACEMENT_V);
    e.model.most_memory = 4;
    solve(&e);
    for (int k = 0; k < 8; k++)
        assert_int_equal(e.window[k].q, 0);
}

/* A step for each slot would take hours. */
static void test_ranks_are_filled_for_many_microbatches(void **state)
{
    enum { M = 1 << 30 };
    static const double most = 4e6;
    struct equal e;

    (void) state;
    equal(&e, MOST / 2, 2, MTLM_PLACEMENT_LOOP);
    e.model.microbatches = M;
    mtlm_window_set_alpha(&e.model, 1.5, e.window);
    mtlm_window_fill(&e.model, 1e15, e.window);
    for (int k = 0; k < MOST; k++)
        assert_int_equal(e.window[k].w + e.window[k].q, M);
    mtlm_window_set_alpha(&e.model, 1.5, e.window);
    mtlm_window_fill(&e.model, most, e.window);
    for (int r = 0; r < MOST / 2; r++)
        assert_float_equal(mtlm_window_rank_memory(&e.model, e.window, r), most,
                           0.1);
}

static void assert_stage(struct equal *e, const char *schedule, int k, int w,
                         int q)
{
    e->schedule = mtlm_schedule_find(schedule);
    solve(e);
    assert_int_equal(e->window[k].w, w);
    assert_int_equal(e->window[k].q, q);
    assert_true(e->window[k].g >= q + 1);
}

static void test_published_schedules_have_their_windows(void **state)
{
    (void) state;
    for (int p = 1; p <= 32; p *= 2) {
        struct equal e;

        equal(&e, p, 1, MTLM_PLACEMENT_LOOP);
        for (int k = 0; k < p; k++) {
            assert_stage(&e, "gpipe", k, MANY, 0);
            assert_stage(&e, "1f1b", k, p - k, 0);
            assert_stage(&e, "zb-h1", k, p - k, k);
            assert_stage(&e, "zb-h2", k, 2 * (p - k) - 1, 2 * k);
        }
        if (p == 1)
            continue;
        equal(&e, p, 2, MTLM_PLACEMENT_V);
        e.schedule = mtlm_schedule_find("zb-v");
        solve(&e);
        assert_float_equal(mtlm_window_memory(&e.model, e.window), p, rounding);
    }
}

/* One chunk more than Megatron's on the fullest rank, which is the first. */
static void test_interleaved_windows_take_a_chunk_more_than_megatrons(
    void **state)
{
    static const int four[] = {8, 9, 8, 6, 4, 5, 4, 2};
    struct equal e;

    (void) state;
    equal(&e, 4, 2, MTLM_PLACEMENT_LOOP);
    e.schedule = mtlm_schedule_find("interleaved");
    solve(&e);
    assert_slots(&e, four);
    for (int p = 2; p <= 16; p *= 2) {
        equal(&e, p, 2, MTLM_PLACEMENT_LOOP);
        e.schedule = mtlm_schedule_find("interleaved");
        solve(&e);
        assert_int_equal(e.window[0].w + e.window[p].w, 3 * p);
    }
}

/* Three ranks, the middle one is the busiest, in the memory of four
 * microbatches.  There w = 3 and q = 1: up to two more slots of gradients, but
 * one only if two take the memory of a microbatch. */
static void test_the_busiest_rank_gets_slots_of_gradients(void **state)
{
    static const struct {
        double share;
        int more, g;
    } cases[] = {{0, 0, 2}, {0, 1, 3},   {0, 2, 4},
                 {0, 9, 4}, {0.5, 0, 2}, {0.5, 9, 3}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct equal e;

        equal(&e, 3, 1, MTLM_PLACEMENT_LOOP);
        e.time[1] = 4;
        e.model.most_memory = 4;
        e.model.gradient_share = cases[i].share;
        e.model.more_gradients = cases[i].more;
        solve(&e);
        assert_int_equal(e.window[1].w, 3);
        assert_int_equal(e.window[1].q, 1);
        assert_int_equal(e.window[1].g, cases[i].g);
        assert_int_equal(e.window[0].g, 2);
        assert_true(mtlm_window_memory(&e.model, e.window) <= 4 + rounding);
    }
}

/* Stages of 3 and 2 layers: T = 9, L_0 = 10, L_1 = 4. */
static void test_uneven_stages_have_windows_by_their_work(void **state)
{
    static const struct {
        double alpha;
        int w[2];
    } cases[] = {{1.5, {2, 1}},
                 {1.9, {3, 1}},
                 {9 / 4.0, {3, 1}},
                 {9 / 4.0 + 1e-6, {3, 2}}};
    struct equal e;

    (void) state;
    equal(&e, 2, 1, MTLM_PLACEMENT_LOOP);
    e.time[1] = 2;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        e.model.alpha = cases[i].alpha;
        solve(&e);
        assert_slots(&e, cases[i].w);
    }
}

/* A hop of 1.5 on both ways adds 3 to each L_k but the last: T = 9, L = 39,
 * 27, 15, 6 on four stages of 3. */
static void test_hops_lengthen_the_residence(void **state)
{
    static const int w[] = {5, 4, 2, 1};
    struct equal e;

    (void) state;
    equal(&e, 4, 1, MTLM_PLACEMENT_LOOP);
    e.model.hop = 1.5;
    e.model.alpha = 1;
    solve(&e);
    /* 33 / 9, 24 / 9, 15 / 9, 6 / 9 */
    assert_int_equal(e.window[0].w, 4);
    assert_int_equal(e.window[1].w, 3);
    assert_int_equal(e.window[2].w, 2);
    assert_int_equal(e.window[3].w, 1);
    e.model.alpha = 1.2;
    solve(&e);
    assert_slots(&e, w);
}

static void test_no_window_exceeds_the_microbatches(void **state)
{
    struct equal e;

    (void) state;
    equal(&e, 4, 1, MTLM_PLACEMENT_LOOP);
    for (int m = 1; m < 10; m++)
        for (int n = 0; n < MTLM_SCHEDULE_COUNT; n++) {
            e.model.microbatches = m;
            e.schedule = &mtlm_schedules[n];
            e.model.alpha = 1.5;
            solve(&e);
            for (int k = 0; k < 4; k++) {
                assert_in_range(e.window[k].w, 1, m);
                assert_in_range(e.window[k].w + e.window[k].q, 1, m);
                if (e.schedule->sizing == MTLM_SIZING_OPTIONS)
                    assert_int_equal(e.window[k].w, 4 - k < m ? 4 - k : m);
            }
        }
}

static void test_every_worker_has_a_slot(void **state)
{
    struct equal e;

    (void) state;
    equal(&e, 4, 1, MTLM_PLACEMENT_LOOP);
    for (int n = 1; n < 12; n++)
        for (int k = 0; k < 4; k++) {
            e.layout.workers = n;
            e.model.alpha = 1.5;
            e.model.microbatches = MANY;
            solve(&e);
            /* Workers also shorten the period. */
            assert_int_equal(e.window[k].w, (4 - k) * n);
            assert_true(e.window[k].g >= n);
            e.model.microbatches = 1;
            solve(&e);
            assert_int_equal(e.window[k].w, n);
            e.model.microbatches = MANY;
            e.model.alpha = 1e-6;
            solve(&e);
            assert_int_equal(e.window[k].w, n);
        }
}

static void test_the_least_memory_is_one_microbatch_for_each_worker(
    void **state)
{
    struct equal e;

    (void) state;
    equal(&e, 4, 2, MTLM_PLACEMENT_V);
    e.memory[5] = 2; /* on rank 2, with 0.5 */
    assert_float_equal(mtlm_window_least_memory(&e.model), 2.5, rounding);
    e.layout.workers = 3;
    assert_float_equal(mtlm_window_least_memory(&e.model), 7.5, rounding);
    e.layout.workers = 1;
    e.model.most_memory = 2.5;
    solve(&e);
    assert_float_equal(mtlm_window_memory(&e.model, e.window), 2.5, rounding);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_are_those_of_the_memory),
        cmocka_unit_test(test_the_largest_alpha_that_fits_is_found),
        cmocka_unit_test(test_alpha_is_found_for_many_microbatches),
        cmocka_unit_test(test_every_rank_is_filled_to_the_memory),
        cmocka_unit_test(test_ranks_are_filled_for_many_microbatches),
        cmocka_unit_test(test_published_schedules_have_their_windows),
        cmocka_unit_test(
            test_interleaved_windows_take_a_chunk_more_than_megatrons),
        cmocka_unit_test(test_the_busiest_rank_gets_slots_of_gradients),
        cmocka_unit_test(test_uneven_stages_have_windows_by_their_work),
        cmocka_unit_test(test_hops_lengthen_the_residence),
        cmocka_unit_test(test_no_window_exceeds_the_microbatches),
        cmocka_unit_test(test_every_worker_has_a_slot),
        cmocka_unit_test(
            test_the_least_memory_is_one_microbatch_for_each_worker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
