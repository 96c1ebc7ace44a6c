/* Activation windows: their closed values, and the schedules that arise from
 * them without being written down anywhere. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/priority.h"
#include "graph/simulator.h"
#include "graph/window.h"
#include "runtime/memory.h"

enum { MANY = 1000 };

static struct mtlm_layout layout(int p, int v)
{
    return (struct mtlm_layout){
        .tp = 1, .pp = p, .dp = 1, .virtual_stages = v, .workers = 1};
}

static void test_windows_are_those_of_the_memory_that_alpha_stands_for(
    void **state)
{
    static const struct {
        int p, v;
        double alpha;
        int w[16];
    } cases[] = {
        {1, 1, 1.5, {1}},
        {2, 1, 1.5, {2, 1}},
        {2, 1, 9 / 4.0, {3, 2}},
        {2, 2, 9 / 4.0, {3, 3, 2, 1}},
        {4, 1, 1.5, {4, 3, 2, 1}},
        {4, 1, 21 / 8.0, {7, 6, 4, 2}},
        {4, 2, 21 / 8.0, {7, 7, 6, 5, 4, 3, 2, 1}},
        {8, 1, 1.5, {8, 7, 6, 5, 4, 3, 2, 1}},
        {8, 1, 45 / 16.0, {15, 14, 12, 10, 8, 6, 4, 2}},
        {8,
         2,
         45 / 16.0,
         {15, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct mtlm_layout l = layout(cases[i].p, cases[i].v);
        const int stages = mtlm_layout_stages(&l);

        for (int layers = stages; layers <= 3 * stages; layers += stages)
            for (int k = 0; k < stages; k++) {
                const struct mtlm_window window =
                    mtlm_window(&l, layers, MANY, cases[i].alpha, k);

                assert_int_equal(window.w, cases[i].w[k]);
                /* One chunk per rank: filled up to the first stage's. */
                assert_int_equal(
                    window.q, cases[i].v == 1 ? cases[i].w[0] - window.w : 0);
            }
    }
}

/* 5 layers on 2 ranks: T = 9, L_0 = 10, L_1 = 4. */
static void test_uneven_stages_have_windows_by_their_work(void **state)
{
    const struct mtlm_layout l = layout(2, 1);

    (void) state;
    assert_int_equal(mtlm_window(&l, 5, MANY, 1.5, 0).w, 2);
    assert_int_equal(mtlm_window(&l, 5, MANY, 1.5, 1).w, 1);
    assert_int_equal(mtlm_window(&l, 5, MANY, 1.9, 0).w, 3);
    assert_int_equal(mtlm_window(&l, 5, MANY, 9 / 4.0, 1).w, 1);
    assert_int_equal(mtlm_window(&l, 5, MANY, 9 / 4.0 + 1e-6, 1).w, 2);
}

static void test_no_window_exceeds_the_microbatches(void **state)
{
    const struct mtlm_layout l = layout(4, 1);

    (void) state;
    for (int m = 1; m < 6; m++)
        for (int k = 0; k < 4; k++) {
            const struct mtlm_window window = mtlm_window(&l, 4, m, 1.5, k);

            assert_int_equal(window.w, 4 - k < m ? 4 - k : m);
            assert_int_equal(window.w + window.q, m < 4 ? m : 4);
        }
}

static void test_every_worker_has_a_slot(void **state)
{
    struct mtlm_layout l = layout(4, 1);

    (void) state;
    for (l.workers = 1; l.workers < 12; l.workers++)
        for (int k = 0; k < 4; k++) {
            /* Workers also shorten the period. */
            const int w = (4 - k) * l.workers;

            assert_int_equal(mtlm_window(&l, 4, MANY, 1.5, k).w, w);
            assert_int_equal(mtlm_window(&l, 4, 1, 1.5, k).w, l.workers);
            assert_int_equal(mtlm_window(&l, 4, MANY, 1e-6, k).w, l.workers);
        }
}

/* ---- schedules ---- */

struct pipeline {
    int p, m;
    double alpha;
    struct mtlm_simulator *sim;
    int *f, *b, *w; /* task of [stage][microbatch] */
};

static int task(const struct pipeline *pipe, enum mtlm_phase phase, int k,
                int i)
{
    const struct mtlm_priority priority = {1, pipe->m};

    return mtlm_simulator_task(pipe->sim, k, 1,
                               mtlm_priority(&priority, phase, i, 0));
}

static void edge(const struct pipeline *pipe, const int *before, int bk, int bi,
                 const int *after, int ak, int ai)
{
    if (bk >= 0 && bk < pipe->p && bi >= 0)
        mtlm_simulator_edge(pipe->sim, before[bk * pipe->m + bi],
                            after[ak * pipe->m + ai], 0);
}

/* Stage k, microbatch i: data from below and above, and slots, whose last
 * user must end before they are written again. */
static void connect(const struct pipeline *pipe, int k, int i)
{
    const struct mtlm_layout l = layout(pipe->p, 1);
    const struct mtlm_window window =
        mtlm_window(&l, pipe->p, pipe->m, pipe->alpha, k);
    const int between = window.q + 1 > 2 ? window.q + 1 : 2;

    edge(pipe, pipe->f, k - 1, i, pipe->f, k, i);
    edge(pipe, pipe->b, k + 1, i, pipe->b, k, i);
    edge(pipe, pipe->f, k, i, pipe->b, k, i);
    edge(pipe, pipe->b, k, i, pipe->w, k, i);
    edge(pipe, pipe->w, k, i - 1, pipe->w, k, i);
    edge(pipe, pipe->b, k, i - window.w, pipe->f, k, i);
    edge(pipe, pipe->w, k, i - window.w - window.q, pipe->f, k, i);
    edge(pipe, pipe->w, k, i - between, pipe->b, k, i);
}

/* F, B and W of unit time, one worker per rank, two rings per stage. */
static struct pipeline run(int p, int m, double alpha)
{
    struct pipeline pipe = {.p = p,
                            .m = m,
                            .alpha = alpha,
                            .sim = mtlm_simulator_create(),
                            .f = mtlm_calloc(p * m, sizeof(int)),
                            .b = mtlm_calloc(p * m, sizeof(int)),
                            .w = mtlm_calloc(p * m, sizeof(int))};

    for (int k = 0; k < p; k++)
        mtlm_simulator_lane(pipe.sim, 1);
    for (int k = 0; k < p; k++)
        for (int i = 0; i < m; i++) {
            pipe.f[k * m + i] = task(&pipe, MTLM_PHASE_FORWARD, k, i);
            pipe.b[k * m + i] = task(&pipe, MTLM_PHASE_BACKWARD, k, i);
            pipe.w[k * m + i] = task(&pipe, MTLM_PHASE_WEIGHT, k, i);
        }
    for (int k = 0; k < p; k++)
        for (int i = 0; i < m; i++)
            connect(&pipe, k, i);
    assert_true(mtlm_simulator_run(pipe.sim));
    return pipe;
}

static void finish(struct pipeline *pipe)
{
    mtlm_simulator_destroy(pipe->sim);
    free(pipe->f);
    free(pipe->b);
    free(pipe->w);
}

static void assert_makespan(int p, int m, double alpha, int want)
{
    struct pipeline pipe = run(p, m, alpha);

    assert_int_equal(mtlm_simulator_makespan(pipe.sim), want);
    finish(&pipe);
}

/* mT + (p-1)(tF + tB - tW), ZB-H1's makespan; it is the lower bound. */
static void test_windows_of_one_and_a_half_make_the_zero_bubble_schedule(
    void **state)
{
    (void) state;
    assert_makespan(1, 8, 1.5, 24);
    assert_makespan(2, 8, 1.5, 25);
    assert_makespan(4, 8, 1.5, 27);
    assert_makespan(4, 16, 1.5, 51);
    assert_makespan(8, 16, 1.5, 55);
    assert_makespan(8, 32, 1.5, 103);
}

static void test_wider_windows_lose_nothing(void **state)
{
    (void) state;
    assert_makespan(2, 8, 9 / 4.0, 25);
    assert_makespan(4, 8, 21 / 8.0, 27);
    assert_makespan(4, 16, 21 / 8.0, 51);
    assert_makespan(8, 16, 45 / 16.0, 55);
    assert_makespan(8, 32, 45 / 16.0, 103);
}

static void test_narrower_windows_cost_time(void **state)
{
    struct pipeline pipe = run(4, 16, 0.75);

    (void) state;
    assert_true(mtlm_simulator_makespan(pipe.sim) > 51);
    finish(&pipe);
}

/* What each rank does, in order, for 2 stages and 4 microbatches. */
static void test_ranks_work_in_the_order_of_1f1b_with_w_in_the_gaps(
    void **state)
{
    static const char *const want[] = {"F0F1B0W0F2B1W1F3B2W2B3W3",
                                       "F0B0F1B1W0F2B2W1F3B3W2W3"};
    struct pipeline pipe = run(2, 4, 1.5);

    (void) state;
    for (int k = 0; k < 2; k++) {
        char got[25] = "";

        for (int at = 0, n = 0; at < 24; at++)
            for (int phase = 0; phase < 3; phase++) {
                const int *t = phase == 0   ? pipe.f
                               : phase == 1 ? pipe.b
                                            : pipe.w;

                for (int i = 0; i < 4; i++)
                    if (t[k * 4 + i] == mtlm_simulator_started(pipe.sim, at)) {
                        got[n++] = "FBW"[phase];
                        got[n++] = '0' + i;
                    }
            }
        assert_string_equal(got, want[k]);
    }
    finish(&pipe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_windows_are_those_of_the_memory_that_alpha_stands_for),
        cmocka_unit_test(test_uneven_stages_have_windows_by_their_work),
        cmocka_unit_test(test_no_window_exceeds_the_microbatches),
        cmocka_unit_test(test_every_worker_has_a_slot),
        cmocka_unit_test(
            test_windows_of_one_and_a_half_make_the_zero_bubble_schedule),
        cmocka_unit_test(test_wider_windows_lose_nothing),
        cmocka_unit_test(test_narrower_windows_cost_time),
        cmocka_unit_test(
            test_ranks_work_in_the_order_of_1f1b_with_w_in_the_gaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
