/* The hold rule: when a free worker waits for a message, and what the wait is
 * worth to whole pipelines. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/order/published.h"
#include "graph/predict/hold.h"
#include "graph/predict/late.h"
#include "graph/predict/pipeline_programs.h"
#include "graph/predict/simulator.h"
#include "graph/schedule/order_window.h"
#include "tests/graph/scene.h"
#include "tests/graph/small.h"
#include "tests/tier.h"

static const double rounding = 1e-6, thousandth = 1e-3;

/* ---- a worker ---- */

/* A worker with a ready task of 100, priority 1.  On another lane a task of
 * `before` runs; behind it, after `message`, the worker has a task of 10.  Sets
 * *start to the start of the ready task, and returns that of the other one. */
static int64_t start_behind(int64_t before, int64_t message, int64_t priority,
                            double share, bool keep, int workers,
                            int64_t *start)
{
    struct mtlm_simulator *sim = mtlm_simulator_create();
    const int far = mtlm_simulator_lane(sim, 1);
    const int lane = mtlm_simulator_lane(sim, workers);
    const int first = mtlm_simulator_task(sim, far, before, 0);
    const int other = mtlm_simulator_task(sim, lane, 10, priority);
    const int ready = mtlm_simulator_task(sim, lane, 100, 1);
    int64_t result;

    mtlm_simulator_edge(sim, first, other, message);
    mtlm_simulator_hold(sim, lane, share);
    mtlm_simulator_await(sim, other);
    if (keep)
        mtlm_simulator_keep(sim, ready);
    assert_true(mtlm_simulator_run(sim));
    *start = mtlm_simulator_start(sim, ready);
    result = mtlm_simulator_start(sim, other);
    mtlm_simulator_destroy(sim);
    return result;
}

static void test_a_worker_waits_for_what_is_near_and_more_urgent(void **state)
{
    int64_t ready;

    (void) state;
    assert_int_equal(start_behind(14, 10, 2, .25, false, 1, &ready), 24);
    assert_int_equal(ready, 34);
    /* Too far. */
    assert_int_equal(start_behind(15, 10, 2, .25, false, 1, &ready), 100);
    assert_int_equal(ready, 0);
    assert_int_equal(start_behind(15, 10, 2, .5, false, 1, &ready), 25);
    /* No more urgent. */
    assert_int_equal(start_behind(14, 10, 1, .25, false, 1, &ready), 100);
    assert_int_equal(start_behind(14, 10, 2, .25, true, 1, &ready), 100);
    assert_int_equal(start_behind(14, 10, 2, 0, false, 1, &ready), 100);
}

/* One worker waits, the other one does not. */
static void test_one_worker_waits_for_one_task(void **state)
{
    int64_t ready;

    (void) state;
    assert_int_equal(start_behind(14, 10, 2, .25, false, 2, &ready), 24);
    assert_int_equal(ready, 0);
}

/* Two ranks: a pass of two tasks, its message, the task behind the message.  A
 * task of 30 and higher priority interrupts the pass, or none does. */
static void test_a_worker_waits_for_a_pass_but_not_for_ever(void **state)
{
    for (int interrupted = 0; interrupted <= 1; interrupted++) {
        struct mtlm_simulator *sim = mtlm_simulator_create();
        const int far = mtlm_simulator_lane(sim, 1);
        const int lane = mtlm_simulator_lane(sim, 1);
        const int a = mtlm_simulator_task(sim, far, 10, 5);
        const int b = mtlm_simulator_task(sim, far, 10, 5);
        const int message = mtlm_simulator_task(sim, -1, 2, 0);
        const int other = mtlm_simulator_task(sim, lane, 10, 5);
        const int ready = mtlm_simulator_task(sim, lane, 40, 1);

        (void) state;
        mtlm_simulator_edge(sim, a, b, 0);
        mtlm_simulator_edge(sim, b, message, 0);
        mtlm_simulator_edge(sim, message, other, 0);
        mtlm_simulator_hold(sim, far, 1);
        mtlm_simulator_hold(sim, lane, 1);
        mtlm_simulator_await(sim, other);
        if (interrupted)
            mtlm_simulator_edge(sim, a, mtlm_simulator_task(sim, far, 50, 6),
                                0);
        assert_true(mtlm_simulator_run(sim));
        /* Expected at 22; the patience is 40. */
        assert_int_equal(mtlm_simulator_start(sim, other),
                         interrupted ? 102 : 22);
        assert_int_equal(mtlm_simulator_start(sim, ready),
                         interrupted ? 62 : 32);
        mtlm_simulator_destroy(sim);
    }
}

/* ---- pipelines ---- */

static const struct mtlm_window_model *model_of(struct scene *s,
                                                struct mtlm_window_model *model)
{
    *model = (struct mtlm_window_model){.layout = &s->layout,
                                        .microbatches = s->boxes.microbatches,
                                        .forward = s->forward,
                                        .backward = s->backward,
                                        .weight = s->weight,
                                        .memory = s->memory,
                                        .alpha = 2};
    return model;
}

/* The pipeline of the scene without order; window [SCENE_MOST] is set. */
static struct mtlm_evaluate pipeline_of(struct scene *s,
                                        const struct mtlm_schedule *schedule,
                                        int pieces, struct mtlm_window *window)
{
    struct mtlm_window_model model;

    mtlm_schedule_windows(schedule, model_of(s, &model), window);
    return (struct mtlm_evaluate){.layout = &s->layout,
                                  .schedule = schedule,
                                  .microbatches = s->boxes.microbatches,
                                  .forward = s->forward,
                                  .backward = s->backward,
                                  .weight = s->weight,
                                  .hop = s->boxes.hop,
                                  .pieces = pieces,
                                  .window = window};
}

static double seconds_of(const struct mtlm_evaluate *pipeline, double share)
{
    struct mtlm_evaluate one = *pipeline;

    one.hold = share;
    return mtlm_evaluate_seconds(&one);
}

/* Without waits, a W starts just before a B arrives: any latency costs up to a
 * W on every rank. */
static void test_latency_costs_zb_h1_what_it_costs_the_fixed_order(void **state)
{
    static const double one[3] = {1, 1, 1};

    (void) state;
    for (int p = 4; p <= 8; p *= 2)
        for (int m = 2 * p; m <= 4 * p; m += 2 * p)
            for (int pieces = 1; pieces <= 8; pieces *= 2) {
                struct mtlm_window window[SCENE_MOST];
                struct mtlm_evaluate pipeline;
                struct scene s;
                double fixed, seconds, share;

                scene_create(&s, p, m, 1, 1, one, thousandth);
                fixed = mtlm_published_build(mtlm_published_find("zb-h1"),
                                             &s.walk, 0, &s.order);
                pipeline = pipeline_of(&s, mtlm_schedule_find("zb-h1"), pieces,
                                       window);
                share = mtlm_hold_choose(&pipeline, &seconds);
                assert_true(share > 0);
                assert_float_equal(seconds_of(&pipeline, share), seconds,
                                   rounding);
                assert_true(seconds < fixed * 1.005);
                assert_true(seconds_of(&pipeline, 0)
                            > fixed * (1 + .05 / pieces));
                scene_free(&s);
            }
}

/* Times of F, B and W of a rank; of messages, as shares of F. */
static const double times[][3] = {
    {1, 1, 1}, {1, 1.3, .8}, {1, .976, .504}, {1, 2, 1}, {.7, 1.4, .6}};
static const double hops[] = {0, .001, .03, .1, .5};

enum {
    TIMES = sizeof(times) / sizeof(times[0]),
    HOPS = sizeof(hops) / sizeof(hops[0])
};

struct gains {
    int n, better;
};

static void compare(struct scene *s, const struct mtlm_schedule *schedule,
                    int pieces, struct gains *gains)
{
    struct mtlm_window window[SCENE_MOST];
    const struct mtlm_evaluate pipeline =
        pipeline_of(s, schedule, pieces, window);
    const double before = seconds_of(&pipeline, 0);
    double seconds = 0;
    const double share = mtlm_hold_choose(&pipeline, &seconds);

    assert_float_equal(seconds_of(&pipeline, share), seconds, rounding);
    assert_true(seconds <= before + rounding);
    gains->n++;
    gains->better += seconds < before * (1 - thousandth);
}

/* Every schedule with its placement, with one rank at 0.8x, too. */
static void test_no_schedule_loses(void **state)
{
    const int most = full_tier() ? 8 : 4;

    (void) state;
    for (int n = 0; n < MTLM_SCHEDULE_COUNT; n++) {
        const struct mtlm_schedule *schedule = &mtlm_schedules[n];
        struct gains gains = {0};

        for (int i = 0; i < TIMES * HOPS * 2; i++)
            for (int p = 2; p <= most; p *= 2)
                for (int m = p; m <= 4 * p; m *= 2)
                    for (int pieces = 1; pieces <= 4; pieces += 3) {
                        struct scene s;

                        scene_create(&s, p, m, schedule->least_chunks, 1,
                                     times[i / 2 / HOPS], hops[i / 2 % HOPS]);
                        if (schedule->placed)
                            s.layout.placement = schedule->placement;
                        if (i % 2)
                            scene_slow_down(&s, 1);
                        compare(&s, schedule, pieces, &gains);
                        scene_free(&s);
                    }
        /* B and W as one: F, of the highest priority, never comes just after
         * something else starts. */
        if (schedule->fused && schedule->least_chunks == 1)
            assert_int_equal(gains.better, 0);
        if (!schedule->fused)
            assert_true(gains.better > gains.n / 20);
    }
}

/* ZB-V behind messages of 0.001 F, a rank at 0.8x.  With messages 0.005 F later
 * a quarter takes 26.35 and a half 26.50; with messages 0.02 F later, 27.26 and
 * 26.58. */
static void test_later_messages_choose_the_share(void **state)
{
    const struct mtlm_schedule *schedule = mtlm_schedule_find("zb-v");
    struct mtlm_window window[SCENE_MOST];
    struct mtlm_evaluate pipeline;
    struct scene s;

    (void) state;
    scene_create(&s, 4, 8, 2, 1, times[2], thousandth);
    scene_slow_down(&s, 1);
    pipeline = pipeline_of(&s, schedule, 1, window);
    assert_float_equal(mtlm_hold_choose(&pipeline, NULL), .5, 0);
    pipeline.hop += 5e-3 * s.forward[0];
    assert_float_equal(seconds_of(&pipeline, .25), 26.35, 1e-2);
    assert_float_equal(seconds_of(&pipeline, .5), 26.50, 1e-2);
    pipeline.hop += 15e-3 * s.forward[0];
    assert_float_equal(seconds_of(&pipeline, .25), 27.26, 1e-2);
    assert_float_equal(seconds_of(&pipeline, .5), 26.58, 1e-2);
    scene_free(&s);
}

/* One microbatch passes four ranks, and its messages form one path: F and B of
 * every rank, and W of the first one. */
static void test_each_late_message_has_a_time_of_its_own(void **state)
{
    static const double one[3] = {1, 1, 1}, more = .01;
    struct mtlm_window window[SCENE_MOST];
    struct mtlm_evaluate pipeline, late;
    struct scene s;
    double shares = 0;

    (void) state;
    scene_create(&s, 4, 1, 1, 1, one, thousandth);
    pipeline = pipeline_of(&s, mtlm_schedule_find("zb-h1"), 1, window);
    for (int k = 0; k < 3; k++)
        shares += mtlm_late_share(k, k + 1, 0) + mtlm_late_share(k + 1, k, 0);
    late = mtlm_late_pipeline(&pipeline, 0);
    assert_float_equal(mtlm_evaluate_seconds(&late), 9 + 6 * thousandth,
                       rounding);
    late = mtlm_late_pipeline(&pipeline, more);
    assert_float_equal(mtlm_evaluate_seconds(&late),
                       9 + 6 * thousandth + 2 * more * shares, rounding);
    scene_free(&s);
}

/* Places in an order are priorities. */
static void test_hints_with_waits_cost_what_the_order_costs(void **state)
{
    double worst_before = 0;

    (void) state;
    for (int n = 0; n < MTLM_PUBLISHED_COUNT; n++)
        for (int i = 0; i < TIMES * HOPS; i++)
            for (int p = 4; p <= (full_tier() ? 8 : 4); p += 4)
                for (int pieces = 1; pieces <= 4; pieces += 3) {
                    const struct mtlm_published *published = &mtlm_published[n];
                    struct mtlm_window window[SCENE_MOST];
                    struct mtlm_evaluate pipeline;
                    struct scene s;
                    double fixed, seconds;

                    scene_create(&s, p, 4 * p, published->least_chunks, 1,
                                 times[i / HOPS], hops[i % HOPS]);
                    s.layout.placement = published->placement;
                    s.boxes.fused = published->fused;
                    scene_update(&s);
                    fixed =
                        mtlm_published_build(published, &s.walk, 0, &s.order);
                    pipeline = pipeline_of(
                        &s,
                        mtlm_schedule_find(published->fused ? "1f1b" : "zb-h1"),
                        pieces, window);
                    mtlm_order_window_set(&s.walk, window);
                    pipeline.order = &s.order;
                    mtlm_hold_choose(&pipeline, &seconds);
                    worst_before =
                        fmax(worst_before, seconds_of(&pipeline, 0) / fixed);
                    if (seconds > fixed * 1.01)
                        fail_msg("%s, p %d, times %d, %d pieces: %g, the "
                                 "order takes %g",
                                 published->name, p, i, pieces, seconds, fixed);
                    scene_free(&s);
                }
    /* Unless workers wait. */
    assert_true(worst_before > 1.05);
}

/* ---- programs ---- */

static double seconds_of_programs(struct mtlm_pipeline_programs *p,
                                  double share)
{
    struct mtlm_execution run =
        mtlm_evaluate_program(&(struct mtlm_evaluate_program){
            .program = (const struct mtlm_program *const *) p->program,
            .n = p->n,
            .iterations = 1,
            .seconds = mtlm_pipeline_programs_seconds,
            .arg = p,
            .hold = share});

    mtlm_execution_free(&run);
    return 1e-9 * run.makespan_ns;
}

/* ZB-H1 takes 27 F: nodes of a pass end together, and messages come then. */
static void test_programs_of_zb_h1_take_what_its_boxes_take(void **state)
{
    const struct mtlm_cluster cluster = {
        .timed = true,
        .forward_s = 1,
        .backward_s = 1,
        .weight_s = 1,
        .host = {.latency_s = thousandth, .bytes_per_s = INFINITY}};
    const struct mtlm_stage_cost machine = {.cluster = &cluster,
                                            .slow_rank = -1};
    struct mtlm_program_config config = small_config(1, 4, 8);
    struct mtlm_pipeline_programs programs;
    double share;

    (void) state;
    config.schedule = mtlm_schedule_find("zb-h1");
    share = mtlm_hold_choose_program(&config, &machine);
    assert_true(share > 0);
    programs = mtlm_pipeline_programs_create(&config, &cluster);
    assert_true(seconds_of_programs(&programs, share) < 27 * 1.005);
    assert_true(seconds_of_programs(&programs, 0) > 27 * 1.02);
    mtlm_pipeline_programs_free(&programs);
}

/* Neither share is one that an evaluation chooses. */
static void test_a_given_share_replaces_the_choice(void **state)
{
    double searched[MTLM_HOLD_SEARCHED];
    static const struct {
        const char *text;
        double share;
    } cases[] = {{"0.001", .001}, {"0", 0}, {"10.5", .5}, {"much", .5}};
    const struct mtlm_cluster cluster = {
        .timed = true, .forward_s = 1, .backward_s = 1, .weight_s = 1};
    const struct mtlm_stage_cost machine = {.cluster = &cluster,
                                            .slow_rank = -1};
    const struct mtlm_program_config config = small_config(1, 4, 8);
    const struct mtlm_box_order order = {0};
    const struct mtlm_program_config alone = small_config(2, 1, 8);
    struct mtlm_program_config chained = config;
    struct mtlm_window window[SCENE_MOST];
    struct mtlm_evaluate pipeline;
    struct scene s;

    (void) state;
    chained.order = &order;
    chained.follow = MTLM_FOLLOW_STRICT;
    scene_create(&s, 4, 8, 2, 1, times[2], thousandth);
    scene_slow_down(&s, 1);
    pipeline = pipeline_of(&s, mtlm_schedule_find("zb-v"), 1, window);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const double share = cases[i].share;
        const int last = share < .5 ? 0 : 1;
        double seconds;

        setenv("MTLM_HOLD", cases[i].text, 1);
        assert_float_equal(mtlm_hold_choose(&pipeline, &seconds), share, 0);
        assert_float_equal(mtlm_hold_searched(), share, 0);
        assert_float_equal(mtlm_hold_alone(&alone), last == 0 ? share : .25, 0);
        assert_int_equal(mtlm_hold_searched_shares(&config, true, searched),
                         last + 1);
        assert_float_equal(searched[last], share, 0);
        assert_int_equal(mtlm_hold_searched_shares(&config, false, searched),
                         1);
        assert_float_equal(searched[0], 0, 0);
        assert_int_equal(mtlm_hold_searched_shares(&chained, true, searched),
                         1);
        assert_float_equal(searched[0], 0, 0);
        assert_float_equal(seconds_of(&pipeline, share), seconds, rounding);
        if (share < .5)
            assert_float_equal(mtlm_hold_choose_program(&config, &machine),
                               share, 0);
    }
    unsetenv("MTLM_HOLD");
    assert_float_equal(mtlm_hold_choose(&pipeline, NULL), .5, 0);
    assert_float_equal(mtlm_hold_alone(&alone), .25, 0);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_worker_waits_for_what_is_near_and_more_urgent),
        cmocka_unit_test(test_one_worker_waits_for_one_task),
        cmocka_unit_test(test_a_worker_waits_for_a_pass_but_not_for_ever),
        cmocka_unit_test(
            test_latency_costs_zb_h1_what_it_costs_the_fixed_order),
        cmocka_unit_test(test_no_schedule_loses),
        cmocka_unit_test(test_later_messages_choose_the_share),
        cmocka_unit_test(test_each_late_message_has_a_time_of_its_own),
        cmocka_unit_test(test_hints_with_waits_cost_what_the_order_costs),
        cmocka_unit_test(test_programs_of_zb_h1_take_what_its_boxes_take),
        cmocka_unit_test(test_a_given_share_replaces_the_choice)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
