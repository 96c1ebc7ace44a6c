/* --schedule auto: the choice by the programs of all pipeline ranks. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph/predict/limits.h"
#include "graph/predict/pipeline_programs.h"
#include "graph/predict/search_program.h"
#include "graph/predict/stage_kind.h"
#include "tests/graph/search_scene.h"

enum { NO_KIND = 1 << MTLM_STAGE_KINDS };

static const struct mtlm_cluster timed_cluster = {
    .timed = true,
    .forward_s = 1,
    .backward_s = 1,
    .weight_s = 1,
    .host = {.latency_s = .001, .bytes_per_s = INFINITY}};
static const struct mtlm_stage_cost timed_machine = {
    .cluster = &timed_cluster, .stretch = 1, .slow_rank = -1, .speed = 1};

/* Each rank runs F, B and W of a microbatch before those of the next one. */
static struct mtlm_found_order one_by_one(
    const struct mtlm_program_config *config)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);
    struct mtlm_found_order found = {.order = mtlm_order_create(&boxes),
                                     .follow = MTLM_FOLLOW_STRICT,
                                     .schedule = config->schedule,
                                     .layout = config->layout,
                                     .seconds = 1};

    for (int k = 0; k < config->layout.pp; k++)
        for (int i = 0; i < config->microbatches; i++)
            for (int phase = MTLM_PHASE_FORWARD; phase <= MTLM_PHASE_WEIGHT;
                 phase++)
                mtlm_order_append_phase(&found.order, &boxes, phase, k, i);
    return found;
}

/* The windows of 1F1B, in the memory of eight microbatches and of one, beside
 * an order without overlap.  Nothing else is tried. */
static void test_windows_that_fit_replace_a_longer_order(void **state)
{
    static const double memory[] = {4, .5};
    const struct mtlm_search_program search = {.machine = &timed_machine,
                                               .kinds = NO_KIND};

    (void) state;
    for (int i = 0; i < 2; i++) {
        struct mtlm_program_config config = small_config(1, 4, 8);
        struct mtlm_found_order windows, found;

        config.schedule = mtlm_schedule_find("auto");
        config.act_mem = memory[i] * search_scene_two(&config);
        windows = (struct mtlm_found_order){.follow = MTLM_FOLLOW_WINDOWS,
                                            .schedule = config.schedule,
                                            .layout = config.layout};
        found = one_by_one(&config);
        mtlm_search_program(&search, &config, &windows, &found);
        assert_int_equal(windows.too_large, i > 0);
        assert_int_equal(found.order.ranks, i > 0 ? 4 : 0);
        if (i == 0)
            assert_float_equal(found.seconds, windows.seconds, 0);
        mtlm_found_order_free(&found);
    }
}

/* A fifth more microbatches than a search evaluates, in the memory of eight
 * microbatches, of one, and of a half, which nothing fits into.  A microbatch
 * takes 3 s at least, and 9 s in an order without overlap.  The seconds are
 * those of all microbatches where another search's are compared. */
static void test_seconds_to_compare_are_of_all_microbatches(void **state)
{
    static const struct {
        double memory, least; /* seconds of a microbatch */
        bool ordered, fits;
    } cases[] = {{4, 2.9, false, true},
                 {.5, 2.9, false, false},
                 {.25, 8.9, true, false}};
    const struct mtlm_search_program search = {
        .machine = &timed_machine, .kinds = NO_KIND, .whole = true};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mtlm_program_config config = small_config(1, 4, 8);
        struct mtlm_found_order windows, found = {0};

        config.schedule = mtlm_schedule_find("auto");
        config.microbatches =
            1.2 * MTLM_MANY_NODES / mtlm_pipeline_programs_nodes(&config);
        config.act_mem = cases[i].memory * search_scene_two(&config);
        windows = (struct mtlm_found_order){.follow = MTLM_FOLLOW_WINDOWS,
                                            .schedule = config.schedule,
                                            .layout = config.layout};
        if (cases[i].ordered)
            found = one_by_one(&config);
        mtlm_search_program(&search, &config, &windows, &found);
        assert_int_equal(found.order.ranks, cases[i].ordered ? 4 : 0);
        assert_int_equal(found.too_large, !cases[i].fits);
        assert_true(found.seconds > cases[i].least * config.microbatches);
        if (!cases[i].ordered)
            assert_float_equal(found.seconds, windows.seconds, 0);
        mtlm_found_order_free(&found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_that_fit_replace_a_longer_order),
        cmocka_unit_test(test_seconds_to_compare_are_of_all_microbatches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
