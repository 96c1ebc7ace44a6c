/* --schedule auto: the schedule that the search finds. */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/build/order_build.h"
#include "graph/build/program_build.h"
#include "graph/build/ring.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/evaluate_program.h"
#include "graph/predict/pipeline_programs.h"
#include "graph/predict/search.h"
#include "graph/predict/stage_kind.h"
#include "graph/predict/search_order.h"
#include "graph/predict/work.h"
#include "graph/schedule/schedule.h"
#include "tests/graph/small.h"

enum { PP = 8, LAYERS = 16 };

static struct mtlm_program_config found(int64_t microbatches)
{
    struct mtlm_program_config config = small_config(1, PP, microbatches);

    config.model.num_layers = LAYERS;
    config.schedule = mtlm_schedule_find("auto");
    mtlm_search_schedule(&config, MTLM_KINDS_ALL, &(struct mtlm_stage_cost){0});
    return config;
}

/* Beyond 8192 tasks only the first microbatches are evaluated: enough of them
 * that the choice stays. */
static void test_many_microbatches_get_the_schedule_of_few(void **state)
{
    const struct mtlm_program_config few = found(8 * PP), many = found(8192);

    (void) state;
    assert_int_equal(few.layout.virtual_stages, 2);
    assert_int_equal(many.layout.virtual_stages, few.layout.virtual_stages);
    assert_int_equal(many.layout.placement, few.layout.placement);
    assert_true(many.window > 0 && many.act_mem > 0);
}

static double evaluate(const struct mtlm_program_config *config)
{
    struct mtlm_work work = mtlm_work_create(config);
    const double seconds = mtlm_work_seconds(&work, config);

    mtlm_work_free(&work);
    return seconds;
}

/* ---- orders ---- */

static const struct mtlm_stage_cost no_machine = {0};

/* Four ranks, the second of which is slow, slow messages.  v > 1: placement
 * V. */
static struct mtlm_program_config slow_config(struct mtlm_stage_times *times,
                                              int v)
{
    struct mtlm_program_config config = small_config(1, 4, 8);

    config.model.num_layers = LAYERS;
    config.schedule = mtlm_schedule_find("auto");
    config.layout.virtual_stages = v;
    config.layout.placement = v > 1 ? MTLM_PLACEMENT_V : MTLM_PLACEMENT_LOOP;
    *times = mtlm_stage_times_create(4 * v);
    for (int k = 0; k < times->stages; k++) {
        const bool slow = mtlm_layout_pp_rank(&config.layout, k) == 1;
        const double one = (slow ? 1.25 : 1) / v;

        times->forward[k] = one;
        times->backward[k] = one * 1.3;
        times->weight[k] = one * .8;
    }
    times->hop = .2;
    config.times = times;
    return config;
}

/* The memory of two microbatches on the fullest stage. */
static double memory_of_two(const struct mtlm_program_config *config)
{
    struct mtlm_activation_memory memory = mtlm_activation_memory(config);
    double most = 0;

    for (int k = 0; k < mtlm_layout_stages(&config->layout); k++)
        most = memory.stage[k] > most ? memory.stage[k] : most;
    mtlm_activation_memory_free(&memory);
    return 2 * most;
}

/* Two stages on a rank have a few bytes more than one stage, the memory of
 * which is the limit. */
static void test_auto_is_no_longer_than_zb_v(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = slow_config(&times, 2), zb_v = config;

    (void) state;
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    mtlm_activation_memory_measure(&config);
    zb_v.schedule = mtlm_schedule_find("zb-v");
    assert_true(evaluate(&config) <= evaluate(&zb_v) * (1 + 1e-9));
    mtlm_activation_memory_free(&config.activation);
    mtlm_stage_times_free(&times);
}

/* With two workers on each rank, the largest windows that fit are worse. */
static void test_windows_of_1f1b_are_tried(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = slow_config(&times, 1), narrow = config;

    (void) state;
    config.layout.workers = narrow.layout.workers = 2;
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    mtlm_activation_memory_measure(&config);
    narrow.window = 1.5;
    narrow.act_mem = config.act_mem;
    narrow.activation = config.activation;
    assert_true(evaluate(&config) <= evaluate(&narrow) * (1 + 1e-9));
    mtlm_activation_memory_free(&config.activation);
    mtlm_stage_times_free(&times);
}

/* Of unequal stages the limit is the memory that 1F1B has with these stages:
 * 1F1B of equal ones has less, and stage 0 would hold one microbatch. */
static void check_uneven_stages(int v, const int64_t *layers)
{
    struct mtlm_program_config config = small_config(1, 2, 4), of_1f1b;

    config.model.num_layers = 12;
    config.layout.virtual_stages = v;
    config.layout.placement = v > 1 ? MTLM_PLACEMENT_V : MTLM_PLACEMENT_LOOP;
    config.layout.stage_layers = layers;
    config.schedule = mtlm_schedule_find("auto");
    of_1f1b = config;
    of_1f1b.layout.virtual_stages = 1;
    of_1f1b.layout.placement = MTLM_PLACEMENT_LOOP;
    of_1f1b.layout.stage_layers = (const int64_t[]){9, 3};
    of_1f1b.schedule = mtlm_schedule_find("1f1b");
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    assert_true(config.act_mem >= memory_of_two(&of_1f1b));
}

static void test_uneven_stages_have_the_memory_of_their_1f1b(void **state)
{
    (void) state;
    check_uneven_stages(1, (const int64_t[]){9, 3});
    check_uneven_stages(2, (const int64_t[]){5, 2, 1, 4});
}

static void test_an_order_beats_windows_within_the_memory(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = slow_config(&times, 1);
    struct mtlm_found_order windows, order;

    (void) state;
    config.act_mem = memory_of_two(&config);
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    assert_true(mtlm_search_order(&config, MTLM_KINDS_GIVEN, &no_machine, false,
                                  &windows, &order));
    assert_true(order.seconds < .95 * windows.seconds);
    assert_int_equal(order.layout.virtual_stages, 1);
    mtlm_activation_memory_measure(&config);
    assert_float_equal(evaluate(&config), windows.seconds, 1e-9);
    config.order = &order.order;
    config.follow = order.follow;
    assert_true(mtlm_ring_memory(&config) <= config.act_mem * (1 + 1e-9));
    assert_float_equal(evaluate(&config), order.seconds, 1e-9);
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
    struct mtlm_program_config config = slow_config(&times, 1);
    struct mtlm_found_order windows, order;
    double without;

    (void) state;
    config.act_mem = 1.5 * memory_of_two(&config);
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
    struct mtlm_program_config config = slow_config(&times, 1);
    struct mtlm_found_order windows[2], order[2];

    (void) state;
    config.act_mem = 1.5 * memory_of_two(&config);
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
    struct mtlm_program_config config = slow_config(&times, 2);
    struct mtlm_found_order windows, order;

    (void) state;
    for (int k = 0; k < times.stages; k++)
        times.forward[k] = times.backward[k] = times.weight[k] = .5;
    times.hop = 0;
    config.act_mem = 4 * memory_of_two(&config);
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

/* ---- the order of the windows ---- */

/* ZB-H1, F = B = W = 1, behind messages of 0.001 F: windows and orders take 27,
 * and three more messages.  In the windows, an F that arrives just after a B
 * goes between the steps of the B. */
static void test_places_tell_messages_apart_that_arrive_together(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = slow_config(&times, 1);
    struct mtlm_found_order windows, order;

    (void) state;
    for (int k = 0; k < times.stages; k++)
        times.forward[k] = times.backward[k] = times.weight[k] = 1;
    times.hop = 1e-3;
    config.schedule = mtlm_schedule_find("zb-h1");
    assert_true(mtlm_search_order_own(&config, &windows, &order));
    assert_float_equal(windows.seconds, 27.012, 1e-2);
    assert_float_equal(order.seconds, 27.012, 1e-2);
    assert_true(order.late_seconds < windows.late_seconds * .999);
    assert_int_equal(order.follow, MTLM_FOLLOW_HINT);
    mtlm_found_order_free(&order);
    config.schedule = mtlm_schedule_find("1f1b");
    assert_false(mtlm_search_order_own(&config, &windows, &order));
    mtlm_stage_times_free(&times);
}

/* ---- pieces of W ---- */

/* Returns how often the longest task of W in a layer fits into the W of the
 * layers of the program's first stage, by FLOPs. */
static double longest_tasks(const struct mtlm_program *program)
{
    const struct mtlm_list *list = &program->stage[0].weight;
    double all = 0, longest = 0;

    for (int i = 0; i < list->n; i++)
        if (list->node[i]->layer >= 0) {
            all += list->node[i]->flops;
            longest = fmax(longest, list->node[i]->flops);
        }
    return all / longest;
}

static void test_pieces_of_w_are_those_of_the_program(void **state)
{
    (void) state;
    for (int layers = 4; layers <= 8; layers += 4)
        for (int wide = 1; wide <= 2; wide++) {
            struct mtlm_program_config config = small_config(1, 4, 4);
            struct mtlm_program *program;
            struct mtlm_work work;

            config.model.num_layers = layers;
            config.model.ffn_hidden_size *= wide;
            mtlm_layout_place(&config.layout, 0);
            program = mtlm_program_build(&config);
            work = mtlm_work_create(&config);
            assert_float_equal(work.pipeline.pieces, longest_tasks(program),
                               .5);
            mtlm_work_free(&work);
            mtlm_program_destroy(program);
        }
}

/* Breadth-first, F = B = W = 1, messages of 0.01: an F that arrives during a B
 * of the other stage runs between two nodes of the B.  The program takes
 * 28.74. */
static void test_the_steps_of_a_b_are_those_of_the_program(void **state)
{
    const struct mtlm_cluster cluster = {
        .timed = true,
        .forward_s = 1,
        .backward_s = 1,
        .weight_s = 1,
        .host = {.latency_s = .01, .bytes_per_s = INFINITY}};
    const struct mtlm_stage_cost machine = {
        .cluster = &cluster, .stretch = 1, .slow_rank = -1};
    struct mtlm_program_config config = small_config(1, 4, 8);
    struct mtlm_pipeline_programs programs;
    struct mtlm_stage_times times;
    struct mtlm_execution run;

    (void) state;
    config.model.num_layers = LAYERS;
    config.schedule = mtlm_schedule_find("breadth-first");
    config.layout.virtual_stages = 2;
    times = mtlm_stage_cost_times(&machine, &config);
    config.times = &times;
    assert_float_equal(evaluate(&config), 28.74, .05);
    programs = mtlm_pipeline_programs_create(&config, &cluster);
    run = mtlm_evaluate_program(&(struct mtlm_evaluate_program){
        .program = (const struct mtlm_program *const *) programs.program,
        .n = programs.n,
        .iterations = 1,
        .seconds = mtlm_pipeline_programs_seconds,
        .arg = &programs});
    /* With the all-reduce of the norm. */
    assert_float_equal(1e-9 * run.makespan_ns, 28.74 + .05, .05);
    mtlm_execution_free(&run);
    mtlm_pipeline_programs_free(&programs);
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
    seconds = evaluate(&strict);
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
        struct mtlm_program_config config = slow_config(&times, 2);
        struct mtlm_found_order windows, order;

        config.microbatches = microbatches[i % 2];
        times.hop = hops[i / 2 % 3];
        config.act_mem = 4 * memory_of_two(&config);
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
    struct mtlm_program_config config = slow_config(&times, 2);
    struct mtlm_found_order windows, order;

    (void) state;
    config.times = NULL;
    config.microbatches = 16;
    config.act_mem = 4 * memory_of_two(&config);
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    assert_true(mtlm_search_order(&config, MTLM_KINDS_GIVEN, &no_machine, false,
                                  &windows, &order));
    assert_true(order.seconds < .995 * windows.seconds);
    assert_true(order.seconds <= 1.001 * zb_v_seconds(&config));
    mtlm_activation_memory_measure(&config);
    assert_float_equal(evaluate(&config), windows.seconds, 1e-9);
    mtlm_activation_memory_free(&config.activation);
    mtlm_found_order_free(&order);
    mtlm_stage_times_free(&times);
}

static void test_no_order_is_searched_for_workers(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = slow_config(&times, 1);
    struct mtlm_found_order windows, order;

    (void) state;
    config.act_mem = memory_of_two(&config);
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    config.layout.workers = 2;
    assert_false(mtlm_search_order(&config, MTLM_KINDS_GIVEN, &no_machine,
                                   false, &windows, &order));
    mtlm_stage_times_free(&times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_microbatches_get_the_schedule_of_few),
        cmocka_unit_test(test_auto_is_no_longer_than_zb_v),
        cmocka_unit_test(test_windows_of_1f1b_are_tried),
        cmocka_unit_test(test_uneven_stages_have_the_memory_of_their_1f1b),
        cmocka_unit_test(test_an_order_beats_windows_within_the_memory),
        cmocka_unit_test(test_waits_count),
        cmocka_unit_test(test_one_search_serves_both_policies),
        cmocka_unit_test(
            test_late_messages_decide_among_orders_of_equal_length),
        cmocka_unit_test(test_places_tell_messages_apart_that_arrive_together),
        cmocka_unit_test(test_pieces_of_w_are_those_of_the_program),
        cmocka_unit_test(test_the_steps_of_a_b_are_those_of_the_program),
        cmocka_unit_test(test_auto_is_no_longer_than_the_order_of_zb_v),
        cmocka_unit_test(test_without_times_orders_count_by_flops),
        cmocka_unit_test(test_no_order_is_searched_for_workers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
