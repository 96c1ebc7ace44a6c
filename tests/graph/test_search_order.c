/* --schedule auto: orders of boxes that the search finds, beside windows. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/build/order_build.h"
#include "graph/build/ring.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/search.h"
#include "graph/predict/search_limit.h"
#include "graph/predict/search_order.h"
#include "graph/predict/stage_kind.h"
#include "graph/predict/work.h"
#include "tests/graph/search_scene.h"

static const struct mtlm_stage_cost no_machine = {0};

static void test_an_order_beats_windows_within_the_memory(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = search_scene_create(&times, 1);
    struct mtlm_found_order windows, order;

    (void) state;
    config.act_mem = search_scene_two(&config);
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    assert_true(mtlm_search_order(&config, MTLM_KINDS_GIVEN, &no_machine, false,
                                  &windows, &order));
    assert_true(order.seconds < .95 * windows.seconds);
    assert_int_equal(order.layout.virtual_stages, 1);
    mtlm_activation_memory_measure(&config);
    assert_float_equal(search_scene_seconds(&config), windows.seconds, 1e-9);
    config.order = &order.order;
    config.follow = order.follow;
    assert_true(mtlm_ring_memory(&config) <= config.act_mem * (1 + 1e-9));
    assert_float_equal(search_scene_seconds(&config), order.seconds, 1e-9);
    mtlm_activation_memory_free(&config.activation);
    mtlm_found_order_free(&order);
    mtlm_stage_times_free(&times);
}

/* The memory of three microbatches: the order takes 38.825, where workers wait
 * for messages, or for the box before in the order.  Waits shorten what windows
 * take, too. */
static void test_waits_count(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = search_scene_create(&times, 1);
    struct mtlm_found_order windows, order;
    double without;

    (void) state;
    config.act_mem = 1.5 * search_scene_two(&config);
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    assert_true(mtlm_search_order(&config, MTLM_KINDS_GIVEN, &no_machine, false,
                                  &windows, &order));
    assert_float_equal(order.seconds, 38.825, 1e-6);
    assert_int_equal(order.follow, MTLM_FOLLOW_STRICT);
    without = windows.seconds;
    mtlm_found_order_free(&order);
    assert_true(mtlm_search_order(&config, MTLM_KINDS_GIVEN, &no_machine, true,
                                  &windows, &order));
    assert_float_equal(order.seconds, 38.825, 1e-6);
    assert_float_equal(without, 39.375, 1e-6);
    assert_float_equal(windows.seconds, 39.35, 1e-6);
    mtlm_found_order_free(&order);
    mtlm_stage_times_free(&times);
}

static void test_one_search_serves_both_policies(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = search_scene_create(&times, 1);
    struct mtlm_found_order windows[2], order[2];

    (void) state;
    config.act_mem = 1.5 * search_scene_two(&config);
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    mtlm_search_order_both(&config, MTLM_KINDS_GIVEN, &no_machine, windows,
                           order);
    for (int i = 0; i < 2; i++) {
        struct mtlm_found_order alone, found;

        mtlm_search_order(&config, MTLM_KINDS_GIVEN, &no_machine, i > 0, &alone,
                          &found);
        assert_float_equal(windows[i].seconds, alone.seconds, 0);
        assert_float_equal(order[i].seconds, found.seconds, 0);
        assert_float_equal(order[i].late_seconds, found.late_seconds, 0);
        assert_int_equal(order[i].follow, found.follow);
        assert_memory_equal(order[i].order.box[0], found.order.box[0],
                            found.order.n[0] * sizeof(int));
        mtlm_found_order_free(&found);
        mtlm_found_order_free(&order[i]);
    }
    mtlm_stage_times_free(&times);
}

/* Equal ranks, free messages, the memory of four microbatches: windows and
 * orders take the bound, 3 m + 1.5, and any latency costs windows a piece of W.
 */
static void test_late_messages_decide_among_orders_of_equal_length(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = search_scene_create(&times, 2);
    struct mtlm_found_order windows, order;

    (void) state;
    for (int k = 0; k < times.stages; k++)
        times.forward[k] = times.backward[k] = times.weight[k] = .5;
    times.hop = 0;
    config.act_mem = 4 * search_scene_two(&config);
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    assert_true(mtlm_search_order(&config, MTLM_KINDS_GIVEN, &no_machine, false,
                                  &windows, &order));
    assert_float_equal(windows.seconds, 25.5, 1e-6);
    assert_float_equal(order.seconds, 25.5, 1e-6);
    assert_int_equal(order.follow, MTLM_FOLLOW_STRICT);
    assert_true(windows.late_seconds > 25.5 * 1.015);
    assert_true(order.late_seconds < 25.5 * 1.005);
    mtlm_found_order_free(&order);
    mtlm_stage_times_free(&times);
}

/* The seconds of windows whose workers wait for this share of a task. */
static double seconds_with(const struct mtlm_program_config *config,
                           double share)
{
    struct mtlm_program_config one = *config;
    struct mtlm_work work;
    double seconds;

    mtlm_activation_memory_measure(&one);
    work = mtlm_work_create(&one);
    work.pipeline.hold = share;
    seconds = mtlm_work_seconds(&work, &one);
    mtlm_work_free(&work);
    mtlm_activation_memory_free(&one.activation);
    return seconds;
}

/* Stages of equal times, with the windows of a search. */
static struct mtlm_program_config equal_scene(struct mtlm_stage_times *times)
{
    struct mtlm_program_config config = search_scene_create(times, 2);

    for (int k = 0; k < times->stages; k++)
        times->forward[k] = times->backward[k] = times->weight[k] = .5;
    times->hop = 0;
    config.act_mem = 4 * search_scene_two(&config);
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    return config;
}

/* Workers that always wait as MTLM_HOLD says may take longer than without
 * waits. */
static void test_a_given_share_is_the_only_one(void **state)
{
    static const double shares[] = {0, .001, 10};
    struct mtlm_stage_times times;
    struct mtlm_program_config config = equal_scene(&times);

    (void) state;
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        struct mtlm_found_order windows, order;
        char text[16];

        snprintf(text, sizeof(text), "%g", shares[i]);
        setenv("MTLM_HOLD", text, 1);
        mtlm_search_order(&config, MTLM_KINDS_GIVEN, &no_machine, true,
                          &windows, &order);
        unsetenv("MTLM_HOLD");
        assert_float_equal(windows.seconds, seconds_with(&config, shares[i]),
                           1e-9);
        mtlm_found_order_free(&order);
    }
    assert_true(seconds_with(&config, 10) > seconds_with(&config, 0) + 1e-3);
    mtlm_stage_times_free(&times);
}

/* ---- the order of the windows ---- */

/* ZB-H1, F = B = W = 1, behind messages of 0.001 F: windows and orders take 27,
 * and three more messages.  In the windows, an F that arrives just after a B
 * goes between the steps of the B. */
static void test_places_tell_messages_apart_that_arrive_together(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = search_scene_create(&times, 1);
    struct mtlm_found_order windows, order;

    (void) state;
    for (int k = 0; k < times.stages; k++)
        times.forward[k] = times.backward[k] = times.weight[k] = 1;
    times.hop = 1e-3;
    config.schedule = mtlm_schedule_find("zb-h1");
    assert_true(mtlm_search_order_own(&config, true, &windows, &order));
    assert_float_equal(windows.seconds, 27.012, 1e-2);
    assert_float_equal(order.seconds, 27.012, 1e-2);
    assert_true(order.late_seconds < windows.late_seconds * .999);
    assert_int_equal(order.follow, MTLM_FOLLOW_HINT);
    mtlm_found_order_free(&order);
    config.schedule = mtlm_schedule_find("1f1b");
    assert_false(mtlm_search_order_own(&config, true, &windows, &order));
    mtlm_stage_times_free(&times);
}

/* Sets the seconds of windows and choice, with MTLM_HOLD if given. */
static void own_seconds(const struct mtlm_program_config *config, bool waits,
                        const char *hold, double seconds[2])
{
    struct mtlm_found_order windows, order;

    if (hold)
        setenv("MTLM_HOLD", hold, 1);
    mtlm_search_order_own(config, waits, &windows, &order);
    unsetenv("MTLM_HOLD");
    seconds[0] = windows.seconds;
    seconds[1] = order.seconds;
    mtlm_found_order_free(&order);
}

static void test_workers_that_never_wait_ignore_a_given_share(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = equal_scene(&times);
    double plain[2], without[2], given[2];

    (void) state;
    own_seconds(&config, false, NULL, plain);
    own_seconds(&config, true, NULL, given);
    for (int i = 0; i < 2; i++)
        assert_float_equal(given[i], plain[i], 1e-9);
    own_seconds(&config, false, "10", without);
    for (int i = 0; i < 2; i++)
        assert_float_equal(without[i], plain[i], 1e-9);
    own_seconds(&config, true, "10", given);
    assert_float_equal(given[0], seconds_with(&config, 10), 1e-9);
    assert_true(given[0] > plain[0] + 1e-3);
    mtlm_stage_times_free(&times);
}

/* ---- other orders ---- */

/* ZB-V in the memory of config, W in one piece as its authors have it. */
static double zb_v_seconds(const struct mtlm_program_config *config)
{
    struct mtlm_program_config strict = *config;
    struct mtlm_box_order order;
    double seconds;

    strict.schedule = mtlm_schedule_find("zb-v");
    mtlm_activation_memory_measure(&strict);
    order = mtlm_order_build(mtlm_published_find("zb-v"), &strict);
    strict.order = &order;
    assert_true(mtlm_ring_memory(&strict) <= strict.act_mem * (1 + 1e-9));
    seconds = search_scene_seconds(&strict);
    mtlm_activation_memory_free(&strict.activation);
    mtlm_order_free(&order);
    return seconds;
}

/* Where stages share slots, the best order is never longer than the published
 * one in the same memory, whether workers wait for messages or not. */
static void test_auto_is_no_longer_than_the_order_of_zb_v(void **state)
{
    static const int microbatches[] = {8, 16};
    static const double hops[] = {0, .001, .2};

    (void) state;
    for (int i = 0; i < 12; i++) {
        struct mtlm_stage_times times;
        struct mtlm_program_config config = search_scene_create(&times, 2);
        struct mtlm_found_order windows, order;

        config.microbatches = microbatches[i % 2];
        times.hop = hops[i / 2 % 3];
        config.act_mem = 4 * search_scene_two(&config);
        mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
        mtlm_search_order(&config, MTLM_KINDS_GIVEN, &no_machine, i >= 6,
                          &windows, &order);
        assert_true(order.seconds <= 1.002 * zb_v_seconds(&config));
        mtlm_found_order_free(&order);
        mtlm_stage_times_free(&times);
    }
}

/* The same by FLOPs; messages take no time. */
static void test_without_times_orders_count_by_flops(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = search_scene_create(&times, 2);
    struct mtlm_found_order windows, order;

    (void) state;
    config.times = NULL;
    config.microbatches = 16;
    config.act_mem = 4 * search_scene_two(&config);
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    assert_true(mtlm_search_order(&config, MTLM_KINDS_GIVEN, &no_machine, false,
                                  &windows, &order));
    assert_true(order.seconds < .995 * windows.seconds);
    assert_true(order.seconds <= 1.001 * zb_v_seconds(&config));
    mtlm_activation_memory_measure(&config);
    assert_float_equal(search_scene_seconds(&config), windows.seconds, 1e-9);
    mtlm_activation_memory_free(&config.activation);
    mtlm_found_order_free(&order);
    mtlm_stage_times_free(&times);
}

static void test_no_order_is_searched_for_workers(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = search_scene_create(&times, 1);
    struct mtlm_found_order windows, order;

    (void) state;
    config.act_mem = search_scene_two(&config);
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    config.layout.workers = 2;
    assert_false(mtlm_search_order(&config, MTLM_KINDS_GIVEN, &no_machine,
                                   false, &windows, &order));
    mtlm_stage_times_free(&times);
}

/* Four ranks and 5,000 microbatches: 60,000 passes with one stage on each rank,
 * 120,000 with two. */
static void test_the_limit_holds_for_each_kind_of_stages(void **state)
{
    struct mtlm_program_config config = small_config(1, 4, 5000), one;
    struct mtlm_found_order windows, order;

    (void) state;
    config.model.num_layers = SEARCH_SCENE_LAYERS;
    config.schedule = mtlm_schedule_find("auto");
    for (int v = 1; v <= 2; v++) {
        config.layout.virtual_stages = v;
        assert_int_equal(mtlm_search_limit_takes(&config), v == 1);
        assert_true(mtlm_search_limit_takes_any(&config, MTLM_KINDS_ALL));
        assert_true(mtlm_search_limit_skips(&config, MTLM_KINDS_ALL, &one));
        assert_int_equal(one.layout.virtual_stages, 2);
        assert_false(mtlm_search_limit_takes_any(&config, MTLM_KINDS_OF_TWO));
    }
    assert_true(mtlm_search_limit_skips(&config, MTLM_KINDS_GIVEN, &one));
    config.layout.virtual_stages = 1;
    assert_false(mtlm_search_limit_skips(&config, MTLM_KINDS_GIVEN, &one));
    assert_false(mtlm_search_order(&config, MTLM_KINDS_OF_TWO, &no_machine,
                                   false, &windows, &order));
    assert_float_equal(windows.seconds, 0, 0); /* nothing is evaluated */
    config.layout.workers = 2;
    assert_false(mtlm_search_limit_skips(&config, MTLM_KINDS_ALL, &one));
}

/* 3 x 2^30 passes are more than an int counts. */
static void test_the_limit_counts_all_passes(void **state)
{
    struct mtlm_program_config config = small_config(1, 4, 16777216), one;

    (void) state;
    config.layout.virtual_stages = 16;
    assert_false(mtlm_search_limit_takes(&config));
    assert_true(mtlm_search_limit_skips(&config, MTLM_KINDS_GIVEN, &one));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_order_beats_windows_within_the_memory),
        cmocka_unit_test(test_waits_count),
        cmocka_unit_test(test_one_search_serves_both_policies),
        cmocka_unit_test(
            test_late_messages_decide_among_orders_of_equal_length),
        cmocka_unit_test(test_a_given_share_is_the_only_one),
        cmocka_unit_test(test_places_tell_messages_apart_that_arrive_together),
        cmocka_unit_test(test_workers_that_never_wait_ignore_a_given_share),
        cmocka_unit_test(test_auto_is_no_longer_than_the_order_of_zb_v),
        cmocka_unit_test(test_without_times_orders_count_by_flops),
        cmocka_unit_test(test_no_order_is_searched_for_workers),
        cmocka_unit_test(test_the_limit_holds_for_each_kind_of_stages),
        cmocka_unit_test(test_the_limit_counts_all_passes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
