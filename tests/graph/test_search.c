/* --schedule auto: the schedule that the search finds. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/build/program_build.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/evaluate_program.h"
#include "graph/predict/pipeline_programs.h"
#include "graph/predict/search.h"
#include "graph/predict/stage_kind.h"
#include "graph/predict/work.h"
#include "tests/graph/search_scene.h"

enum { PP = 8 };

static struct mtlm_program_config found(int64_t microbatches)
{
    struct mtlm_program_config config = small_config(1, PP, microbatches);

    config.model.num_layers = SEARCH_SCENE_LAYERS;
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

/* 2^31 passes are more than an int counts, and still get few microbatches. */
static void test_all_passes_are_counted(void **state)
{
    struct mtlm_program_config config = small_config(1, 4, 16777216);

    (void) state;
    config.model.num_layers = 128;
    config.layout.virtual_stages = 32;
    config.schedule = mtlm_schedule_find("auto");
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN,
                         &(struct mtlm_stage_cost){0});
    assert_true(config.window > 0 && config.act_mem > 0);
}

/* ---- schedules ---- */

static const struct mtlm_stage_cost no_machine = {0};

/* Two stages on a rank have a few bytes more than one stage, the memory of
 * which is the limit. */
static void test_auto_is_no_longer_than_zb_v(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = search_scene_create(&times, 2);
    struct mtlm_program_config zb_v = config;

    (void) state;
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    mtlm_activation_memory_measure(&config);
    zb_v.schedule = mtlm_schedule_find("zb-v");
    assert_true(search_scene_seconds(&config)
                <= search_scene_seconds(&zb_v) * (1 + 1e-9));
    mtlm_activation_memory_free(&config.activation);
    mtlm_stage_times_free(&times);
}

/* With two workers on each rank, the largest windows that fit are worse. */
static void test_windows_of_1f1b_are_tried(void **state)
{
    struct mtlm_stage_times times;
    struct mtlm_program_config config = search_scene_create(&times, 1);
    struct mtlm_program_config narrow = config;

    (void) state;
    config.layout.workers = narrow.layout.workers = 2;
    mtlm_search_schedule(&config, MTLM_KINDS_GIVEN, &no_machine);
    mtlm_activation_memory_measure(&config);
    narrow.window = 1.5;
    narrow.act_mem = config.act_mem;
    narrow.activation = config.activation;
    assert_true(search_scene_seconds(&config)
                <= search_scene_seconds(&narrow) * (1 + 1e-9));
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
    assert_true(config.act_mem >= search_scene_two(&of_1f1b));
}

static void test_uneven_stages_have_the_memory_of_their_1f1b(void **state)
{
    (void) state;
    check_uneven_stages(1, (const int64_t[]){9, 3});
    check_uneven_stages(2, (const int64_t[]){5, 2, 1, 4});
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
    config.model.num_layers = SEARCH_SCENE_LAYERS;
    config.schedule = mtlm_schedule_find("breadth-first");
    config.layout.virtual_stages = 2;
    times = mtlm_stage_cost_times(&machine, &config);
    config.times = &times;
    assert_float_equal(search_scene_seconds(&config), 28.74, .05);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_microbatches_get_the_schedule_of_few),
        cmocka_unit_test(test_all_passes_are_counted),
        cmocka_unit_test(test_auto_is_no_longer_than_zb_v),
        cmocka_unit_test(test_windows_of_1f1b_are_tried),
        cmocka_unit_test(test_uneven_stages_have_the_memory_of_their_1f1b),
        cmocka_unit_test(test_pieces_of_w_are_those_of_the_program),
        cmocka_unit_test(test_the_steps_of_a_b_are_those_of_the_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
