/* --simulate without a layout: of long iterations the search simulates a part,
 * and counts all. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "launch/plan/layout_choice.h"
#include "launch/simulate/further_microbatch.h"
#include "runtime/base/memory.h"
#include "tests/launch/parse.h"
#include "tests/launch/simulated.h"

/* Both parts fill the pipeline, in multiples of its ranks. */
static void test_parts_fill_the_pipeline(void **state)
{
    static const struct {
        int ranks, less, more;
    } parts[] = {{1, 64, 96}, {12, 72, 108}, {48, 96, 144}, {64, 128, 192}};

    (void) state;
    for (int i = 0; i < 4; i++) {
        const struct mtlm_further_microbatch n =
            mtlm_further_microbatch_of(parts[i].ranks);

        assert_int_equal(n.less, parts[i].less);
        assert_int_equal(n.more, parts[i].more);
    }
}

/* Four equal stages: the first one keeps 8/3 of the window, for each worker.
 * The smaller part has 64 microbatches, and the iteration 200. */
static void test_the_parts_fill_the_windows(void **state)
{
    static const struct {
        const char *window;
        int workers;
        bool shows;
    } jobs[] = {{"24", 1, true},
                {"24.1", 1, false},
                {"1000", 1, true},
                {"6", 4, true},
                {"6.1", 4, false}};

    (void) state;
    for (int i = 0; i < 5; i++) {
        char *line = mtlm_sprintf(
            "--model gpt-tiny --simulate x.ini --num-layers 8 "
            "--micro-batch-size 1 --global-batch-size 200 "
            "--pipeline-model-parallel-size 4 --window %s",
            jobs[i].window);
        struct mtlm_program_config config;
        struct mtlm_wish wish;

        assert_int_equal(parse(line), MTLM_REQUEST_SIMULATE);
        wish = mtlm_layout_choice_wish(&options, jobs[i].workers);
        config = mtlm_wish_config(&wish, 1, 4, 1, 1);
        assert_int_equal(config.microbatches, 200);
        if (mtlm_further_microbatch_shows(&config) != jobs[i].shows)
            fail_msg("%d workers, --window %s", jobs[i].workers,
                     jobs[i].window);
        free(line);
    }
}

/* Asserts that the search counted a part of the microbatches of a layout, and
 * that the layout given by hand has about the same time and memory. */
static void compare_whole(const struct mtlm_layout_found *f, const char *given,
                          double tolerance)
{
    json_t *whole = numbers_of("dgx-a100", given);

    assert_false(f->whole);
    near(f->seconds, number(whole, "iteration_s"), tolerance);
    near(f->memory_bytes, number(whole, "memory_bytes"), 0.02);
    assert_true(f->memory_bytes <= number(whole, "memory_limit_bytes"));
    json_decref(whole);
}

/* Compares the fastest layouts of which the search counted a part. */
static void compare_parts(const char *line)
{
    enum { COMPARED = 2 };
    struct mtlm_layout_search search = search_of("dgx-a100", line);
    int compared = 0;

    for (int i = 0; i < search.n && compared < COMPARED; i++) {
        const struct mtlm_layout_found *f = &search.found[i];
        char *given;

        if (f->whole || f->granularity != MTLM_RECOMPUTE_FULL)
            continue;
        given = mtlm_sprintf("%s --tensor-model-parallel-size %d "
                             "--pipeline-model-parallel-size %d "
                             "--num-virtual-stages-per-pipeline-rank %d "
                             "--recompute-granularity full",
                             line, f->tp, f->pp, f->virtual_stages);
        compare_whole(f, given, 0.02);
        free(given);
        compared++;
    }
    assert_true(compared > 0);
    mtlm_layout_search_free(&search);
}

/* Schedules that keep all microbatches, of which a search simulates a part. */
static void test_a_search_counts_all_microbatches(void **state)
{
    static const char *const schedules[] = {"gpipe", "breadth-first",
                                            "gpipe --schedule-mode strict"};

    (void) state;
    for (int i = 0; i < 3; i++) {
        char *line = mtlm_sprintf(
            "--model gpt-3.6b --seq-length 512 --fp16 --world-size 32 "
            "--micro-batch-size 1 --global-batch-size 4096 --schedule %s",
            schedules[i]);

        compare_parts(line);
        free(line);
    }
}

/* Compares the layout of all ranks in one pipeline. */
static void compare_pipeline(int ranks, int stages, double tolerance,
                             const char *more)
{
    char *job = mtlm_sprintf(
        "--model gpt-tiny --num-layers %d --hidden-size 320 "
        "--ffn-hidden-size 1280 --num-attention-heads 5 --fp16 --world-size %d "
        "--micro-batch-size 1 --recompute-granularity none "
        "--num-virtual-stages-per-pipeline-rank %d %s",
        2 * ranks, ranks, stages, more);
    char *given = mtlm_sprintf("%s --tensor-model-parallel-size 1 "
                               "--pipeline-model-parallel-size %d",
                               job, ranks);
    struct mtlm_layout_search search = search_of("dgx-a100", job);
    int i = 0;

    while (i < search.n && search.found[i].pp != ranks)
        i++;
    assert_true(i < search.n);
    compare_whole(&search.found[i], given, tolerance);
    mtlm_layout_search_free(&search);
    free(given);
    free(job);
}

/* Interleaved ranks work in groups of p microbatches. */
static void test_a_search_counts_whole_groups(void **state)
{
    (void) state;
    compare_pipeline(12, 2, 0.001,
                     "--global-batch-size 960 --schedule interleaved "
                     "--schedule-mode strict");
    compare_pipeline(32, 2, 0.001,
                     "--global-batch-size 640 --schedule interleaved");
}

/* 970 microbatches are 80 groups of 12, and ten more. */
static void test_a_search_counts_a_part_of_a_group(void **state)
{
    (void) state;
    compare_pipeline(12, 2, 0.02,
                     "--global-batch-size 970 --schedule interleaved");
}

/* The output layer makes the last stage the busiest one, whose W wait long. */
static void test_a_search_counts_a_busy_stage(void **state)
{
    (void) state;
    compare_pipeline(32, 1, 0.001,
                     "--vocab-size 8192 --global-batch-size 640 "
                     "--schedule zb-h2");
}

/* Stages that keep 480 microbatches do nothing but F and B for long. */
static void test_a_search_counts_wide_windows(void **state)
{
    (void) state;
    compare_pipeline(12, 1, 0.03,
                     "--global-batch-size 1920 --schedule window --window 30");
    compare_pipeline(12, 1, 0.03,
                     "--global-batch-size 1920 --schedule window --window 8 "
                     "--workers 4");
}

/* 1201 samples have no second replica, so 8 x 12 ranks are slower than 4 x 24.
 * Four workers need less time for the work of a stage than its collectives,
 * which are 4 % less than the pace here. */
static void test_a_search_counts_collectives(void **state)
{
    static const char job[] =
        "--model gpt-tiny --num-layers 24 --hidden-size 320 "
        "--ffn-hidden-size 1280 --num-attention-heads 8 --fp16 "
        "--world-size 96 --micro-batch-size 1 --recompute-granularity none "
        "--num-virtual-stages-per-pipeline-rank 1 --workers 4 "
        "--global-batch-size 1201 --schedule window --window 8";
    struct mtlm_layout_search search = search_of("dgx-a100", job);
    char *given = mtlm_sprintf("%s --tensor-model-parallel-size 8 "
                               "--pipeline-model-parallel-size 12",
                               job);
    int i = 0;

    (void) state;
    while (i < search.n && search.found[i].pp != 12)
        i++;
    assert_true(i < search.n);
    compare_whole(&search.found[i], given, 0.05);
    mtlm_layout_search_free(&search);
    free(given);
}

/* Parts of 64 and 96 microbatches cost as much as 160.  The pipeline has a
 * bubble, so that two replicas are faster: these are simulated whole. */
static void test_parts_are_less_than_the_whole(void **state)
{
    static const struct {
        int samples;
        bool whole;
    } jobs[] = {{160, true}, {162, false}};

    (void) state;
    for (int i = 0; i < 2; i++) {
        char *line = mtlm_sprintf(
            "--model gpt-tiny --num-layers 128 --num-attention-heads 1 --fp16 "
            "--world-size 2 --micro-batch-size 1 --recompute-granularity none "
            "--num-virtual-stages-per-pipeline-rank 1 --schedule 1f1b "
            "--ignore-memory --global-batch-size %d",
            jobs[i].samples);
        struct mtlm_layout_search search = search_of("dgx-a100", line);
        int j = 0;

        while (j < search.n && search.found[j].pp != 2)
            j++;
        assert_true(j < search.n);
        assert_int_equal(search.found[j].whole, jobs[i].whole);
        mtlm_layout_search_free(&search);
        free(line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_fill_the_pipeline),
        cmocka_unit_test(test_the_parts_fill_the_windows),
        cmocka_unit_test(test_a_search_counts_all_microbatches),
        cmocka_unit_test(test_a_search_counts_whole_groups),
        cmocka_unit_test(test_a_search_counts_a_part_of_a_group),
        cmocka_unit_test(test_a_search_counts_a_busy_stage),
        cmocka_unit_test(test_a_search_counts_wide_windows),
        cmocka_unit_test(test_a_search_counts_collectives),
        cmocka_unit_test(test_parts_are_less_than_the_whole),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
