/* Times of stages: from the model of a machine, and what windows and the search
 * make of times. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/build/program_build.h"
#include "graph/build/ring.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/search.h"
#include "graph/predict/stage_kind.h"
#include "graph/predict/work.h"
#include "tests/graph/small.h"

enum { P = 4, M = 16, SLOW = 2 };

static const double rounding = 1e-9;

/* Seconds of F, B and W of a stage; a slow rank takes 1 / 0.8 of them. */
static struct mtlm_stage_times times_of(int stages, double f, double b,
                                        double w, double hop, int slow)
{
    struct mtlm_stage_times times = mtlm_stage_times_create(stages);

    for (int k = 0; k < stages; k++) {
        const double more = k % P == slow ? 1 / 0.8 : 1;

        times.forward[k] = more * f;
        times.backward[k] = more * b;
        times.weight[k] = more * w;
    }
    times.hop = hop;
    return times;
}

/* Four equal stages in the memory of four microbatches.  The caller frees the
 * windows. */
static struct mtlm_window *windows_in_memory(
    const struct mtlm_stage_times *times, const char *schedule)
{
    struct mtlm_program_config config = small_config(1, P, M);
    struct mtlm_window *window;

    config.schedule = mtlm_schedule_find(schedule);
    config.times = times;
    config.window = 0;
    config.act_mem = 1;
    mtlm_activation_memory_measure(&config);
    config.act_mem = P * config.activation.stage[0];
    if (times)
        mtlm_search_gradients(&config);
    window = mtlm_ring_windows(&config);
    mtlm_activation_memory_free(&config.activation);
    return window;
}

static void assert_slots(const struct mtlm_window *window, const int *w)
{
    for (int k = 0; k < P; k++)
        assert_int_equal(window[k].w, w[k]);
}

/* The makespan of the windows with those times. */
static double makespan(const struct mtlm_stage_times *times,
                       const struct mtlm_window *window)
{
    const struct mtlm_layout layout = {
        .tp = 1, .pp = P, .dp = 1, .virtual_stages = 1, .workers = 1};
    const struct mtlm_evaluate pipeline = {.layout = &layout,
                                           .schedule =
                                               mtlm_schedule_find("window"),
                                           .microbatches = M,
                                           .forward = times->forward,
                                           .backward = times->backward,
                                           .weight = times->weight,
                                           .hop = times->hop,
                                           .pieces = 4,
                                           .window = window};
    struct mtlm_evaluation e;

    e = mtlm_evaluate(&pipeline);
    mtlm_evaluation_free(&e);
    assert_true(e.makespan_s >= e.least_s - rounding);
    return e.makespan_s;
}

/* One rank at 0.8 of the others' speed.  Windows from times, and a slot of
 * gradients more on that rank, all in the same bytes, come to the lower bound:
 * work of that rank behind the F of two stages. */
static void test_windows_from_times_come_to_the_bound(void **state)
{
    static const int by_layers[] = {4, 3, 2, 1}, by_times[] = {4, 4, 3, 1};
    struct mtlm_stage_times times = times_of(P, 1, 1.2, 0.9, 0.05, SLOW);
    struct mtlm_window *window = windows_in_memory(NULL, "window");

    (void) state;
    assert_slots(window, by_layers);
    assert_float_equal(makespan(&times, window), 65.175, 1e-6);
    free(window);
    window = windows_in_memory(&times, "window");
    assert_slots(window, by_times);
    assert_int_equal(window[SLOW].q, 1);
    assert_int_equal(window[SLOW].g, 3);
    assert_float_equal(makespan(&times, window), 64.1, 0.03);
    window[SLOW].g = 2;
    assert_float_equal(makespan(&times, window), 65.25, 1e-6);
    free(window);
    mtlm_stage_times_free(&times);
}

/* Published windows are formulas of the stages; times of other stages are times
 * of another layout. */
static void test_times_change_no_other_windows(void **state)
{
    static const int by_layers[] = {4, 3, 2, 1};
    struct mtlm_stage_times times = times_of(P, 1, 2, 1, 0.5, SLOW);
    struct mtlm_stage_times others = times_of(2 * P, 1, 2, 1, 0.5, SLOW);
    struct mtlm_window *window = windows_in_memory(&times, "zb-h1");

    (void) state;
    assert_slots(window, by_layers);
    free(window);
    window = windows_in_memory(&others, "window");
    assert_slots(window, by_layers);
    free(window);
    mtlm_stage_times_free(&others);
    mtlm_stage_times_free(&times);
}

/* alpha = 1: w_k = ceil(L_k / T), L_3 = 2, and each hop adds 2 x 2 s. */
static void test_messages_widen_windows(void **state)
{
    static const int free_messages[] = {3, 2, 2, 1},
                     slow_messages[] = {7, 5, 3, 1};
    struct mtlm_program_config config = small_config(1, P, M);
    struct mtlm_stage_times times = times_of(P, 1, 1, 1, 0, -1);
    struct mtlm_window *window;

    (void) state;
    config.times = &times;
    config.window = 1;
    window = mtlm_ring_windows(&config);
    assert_slots(window, free_messages);
    free(window);
    times.hop = 2;
    window = mtlm_ring_windows(&config);
    assert_slots(window, slow_messages);
    free(window);
    mtlm_stage_times_free(&times);
}

/* The work of a plan has the given times, or FLOPs. */
static void test_a_plan_works_with_the_times(void **state)
{
    struct mtlm_program_config config = small_config(1, P, M);
    struct mtlm_stage_times times = times_of(P, 1, 1.2, 0.9, 0.05, SLOW);
    struct mtlm_work work = mtlm_work_create(&config);

    (void) state;
    assert_true(work.flops_per_s > 0);
    assert_true(work.pipeline.hop == 0);
    mtlm_work_free(&work);
    config.times = &times;
    work = mtlm_work_create(&config);
    assert_true(work.pipeline.forward[SLOW] == times.forward[SLOW]);
    assert_true(work.pipeline.backward[0] == times.backward[0]);
    assert_true(work.pipeline.weight[P - 1] == times.weight[P - 1]);
    assert_true(work.pipeline.hop == times.hop);
    mtlm_work_free(&work);
    mtlm_stage_times_free(&times);
}

/* ---- modelled machines ---- */

static const struct mtlm_cluster timed = {.timed = true,
                                          .forward_s = 4,
                                          .backward_s = 5,
                                          .weight_s = 3,
                                          .host = {.latency_s = 0.25}};

/* Of a layer of four: a quarter.  Tensor parallelism halves nothing: the times
 * are those of a rank. */
static void test_a_cluster_says_the_times(void **state)
{
    static const int64_t layers[] = {1, 2, 1};
    const struct mtlm_stage_cost machine = {
        .cluster = &timed, .stretch = 2, .slow_rank = 5, .speed = 0.5};
    struct mtlm_program_config config = small_config(1, 3, 2);
    struct mtlm_stage_times times;

    (void) state;
    config.layout.dp = 2; /* rank 5 is of the last stage */
    config.layout.stage_layers = layers;
    times = mtlm_stage_cost_times(&machine, &config);
    assert_int_equal(times.stages, 3);
    for (int k = 0; k < 3; k++) {
        const double share = 2 * layers[k] * 3 / 4.0 * (k == 2 ? 2 : 1);

        assert_float_equal(times.forward[k], 4 * share, rounding);
        assert_float_equal(times.backward[k], 5 * share, rounding);
        assert_float_equal(times.weight[k], 3 * share, rounding);
    }
    assert_float_equal(times.hop, 0.5, rounding);
    mtlm_stage_times_free(&times);
}

static void test_a_machine_without_a_cluster_leaves_the_times(void **state)
{
    struct mtlm_stage_cost machine = {
        .cluster = &timed, .stretch = 1, .slow_rank = -1};
    const struct mtlm_stage_times given = {0};
    struct mtlm_program_config config = small_config(1, 3, 2);
    struct mtlm_stage_times times;

    (void) state;
    config.times = &given;
    mtlm_stage_cost_take(&machine, &config, &times);
    assert_ptr_equal(config.times, &times);
    assert_int_equal(times.stages, 3);
    mtlm_stage_times_free(&times);
    machine.cluster = NULL;
    config.times = &given;
    mtlm_stage_cost_take(&machine, &config, &times);
    assert_ptr_equal(config.times, &given);
    assert_null(times.forward);
}

/* Two all-reduces a layer, of two steps of 0.25 s; the embedding's is on the
 * first stage. */
static void test_tensor_parallel_messages_count_with_their_pass(void **state)
{
    const struct mtlm_stage_cost machine = {
        .cluster = &timed, .stretch = 1, .slow_rank = -1};
    const struct mtlm_program_config config = small_config(2, 4, 2);
    struct mtlm_stage_times times = mtlm_stage_cost_times(&machine, &config);

    (void) state;
    assert_float_equal(times.forward[0], 4 + 3 * 0.5, rounding);
    assert_float_equal(times.forward[1], 4 + 2 * 0.5, rounding);
    assert_float_equal(times.backward[1], 5 + 2 * 0.5, rounding);
    assert_float_equal(times.weight[1], 3, rounding);
    mtlm_stage_times_free(&times);
}

/* Every node of a pass counts once, W that runs at B's priority, too. */
static void test_no_node_is_lost(void **state)
{
    static const struct mtlm_cluster device = {.flops_per_s = 1e9,
                                               .efficiency = 1,
                                               .bytes_per_s = 1e9,
                                               .memory_efficiency = 1,
                                               .launch_s = 1e-6,
                                               .element_bytes = 4};
    const struct mtlm_stage_cost machine = {
        .cluster = &device, .stretch = 1, .slow_rank = -1};

    (void) state;
    for (int way = 0; way < 3; way++) {
        struct mtlm_program_config config = small_config(2, 1, 2);
        struct mtlm_stage_times times;
        struct mtlm_program *program;
        struct mtlm_cost cost;
        double sum = 0;

        config.sequence_parallel = way == 1;
        if (way == 2)
            config.recompute = (struct mtlm_recompute){
                MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 1};
        times = mtlm_stage_cost_times(&machine, &config);
        program = mtlm_program_build(&config);
        cost = mtlm_cost_create(&device, program);
        for (int i = 0; i < program->train.n; i++)
            if (program->train.item[i].microbatch == 1)
                sum += mtlm_cost_seconds(&cost, program->train.item[i].node);
        assert_float_equal(times.forward[0] + times.backward[0]
                               + times.weight[0],
                           sum, 1e-9 * sum);
        mtlm_program_destroy(program);
        mtlm_stage_times_free(&times);
    }
}

/* ---- search ---- */

static struct mtlm_program_config searched(const struct mtlm_stage_times *times,
                                           const struct mtlm_cluster *cluster)
{
    const struct mtlm_stage_cost machine = {
        .cluster = cluster, .stretch = 1, .slow_rank = -1};
    struct mtlm_program_config config = small_config(1, P, 2 * P);

    config.model.num_layers = 2 * P;
    config.schedule = mtlm_schedule_find("auto");
    config.times = times;
    mtlm_search_schedule(&config, MTLM_KINDS_ALL, &machine);
    return config;
}

/* Two stages per rank send twice as often: worth it only while messages are
 * short. */
static void test_slow_messages_cost_two_stages_a_rank(void **state)
{
    struct mtlm_cluster cluster = timed;

    (void) state;
    cluster.host.latency_s = 1e-3;
    assert_int_equal(searched(NULL, &cluster).layout.virtual_stages, 2);
    cluster.host.latency_s = 8;
    assert_int_equal(searched(NULL, &cluster).layout.virtual_stages, 1);
}

/* Given times are times of so many stages. */
static void test_the_search_keeps_to_the_stages_of_the_times(void **state)
{
    struct mtlm_stage_times one = times_of(P, 1, 1, 1, 0, -1);
    struct mtlm_stage_times two = times_of(2 * P, 1, 1, 1, 0, -1);

    (void) state;
    assert_int_equal(searched(&one, NULL).layout.virtual_stages, 1);
    assert_int_equal(searched(&two, NULL).layout.virtual_stages, 2);
    mtlm_stage_times_free(&two);
    mtlm_stage_times_free(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_from_times_come_to_the_bound),
        cmocka_unit_test(test_times_change_no_other_windows),
        cmocka_unit_test(test_messages_widen_windows),
        cmocka_unit_test(test_a_plan_works_with_the_times),
        cmocka_unit_test(test_a_cluster_says_the_times),
        cmocka_unit_test(test_a_machine_without_a_cluster_leaves_the_times),
        cmocka_unit_test(test_tensor_parallel_messages_count_with_their_pass),
        cmocka_unit_test(test_no_node_is_lost),
        cmocka_unit_test(test_slow_messages_cost_two_stages_a_rank),
        cmocka_unit_test(test_the_search_keeps_to_the_stages_of_the_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
