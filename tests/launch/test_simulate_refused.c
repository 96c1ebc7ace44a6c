/* --simulate: options that contradict, times that no clock can count, and
 * iterations beyond the memory. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/plan/layout_choice.h"
#include "launch/simulate/simulate.h"
#include "launch/simulate/simulate_size.h"
#include "tests/launch/parse.h"
#include "tests/launch/simulated.h"

static void test_what_contradicts_is_refused(void **state)
{
    static const char *const others[] = {"--dry-run", "--synthetic x.ini",
                                         "--generate x", "--eval-only"};

    (void) state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        char *line =
            mtlm_sprintf("--model gpt-tiny --simulate x.ini %s", others[i]);
        char *why = mtlm_sprintf("--simulate predicts a training and "
                                 "contradicts %.*s; give one of them",
                                 (int) strcspn(others[i], " "), others[i]);

        refuses(line, why);
        free(why);
        free(line);
    }
    refuses("--model gpt-tiny --simulate x.ini --slow-rank 0:0.5",
            "--simulate lets one rank stand for its group; --slow-rank is for "
            "--synthetic, and --jitter 0,rank=R:TIMES slows a rank here");
    refuses("--model gpt-tiny --simulate x.ini --stretch 2",
            "--simulate takes the times of the file; --stretch is for "
            "--synthetic");
    refuses("--model gpt-tiny --ignore-memory",
            "--ignore-memory is for --simulate CLUSTER.ini");
    refuses("--model gpt-tiny --trace x --trace-microbatches 1:2",
            "--trace-microbatches is for --simulate CLUSTER.ini");
    refuses("--model gpt-tiny --simulate x.ini --trace-microbatches 1:2",
            "--trace-microbatches is for --trace DIR");
    refuses("--model gpt-tiny --simulate x.ini --trace x --trace-iterations "
            "1:2",
            "--simulate has one iteration; --trace-microbatches chooses a "
            "part for --trace DIR");
    refuses("--model gpt-tiny --simulate x.ini --transport serial "
            "--simulate-engine starpu",
            "--transport serial lets collectives take turns, and "
            "--simulate-engine starpu does not; leave one of them out");
    refuses("--model gpt-tiny --simulate x.ini --save x",
            "--save needs computed values, and --simulate computes none");
    refuses("--model gpt-tiny --simulate x.ini --replan-after 2",
            "--replan-after measures iterations, and --simulate runs none");
    refuses("--model gpt-tiny --simulate x.ini --tensorboard-dir x",
            "--tensorboard-dir needs a run, and --simulate runs nothing");
}

/* No assertion, no infinite rate: the clock counts 1 ns to 10^7 s. */
static void test_times_beyond_the_clock_are_refused(void **state)
{
    static const struct {
        const char *device, *why;
    } rows[] = {
        {"1e-6\nefficiency = 1e-6\nmemory_gb_per_s = 1e-3",
         "an iteration takes more than 10^7 s at the rates of "},
        {"1e9\nefficiency = 1\nmemory_gb_per_s = 1e9",
         "no task of an iteration takes a nanosecond at the rates of "},
    };

    char file[] = "/tmp/mtlm-cluster.XXXXXX";

    (void) state;
    close(mkstemp(file));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *line = mtlm_sprintf("--model gpt-tiny --simulate %s", file);
        FILE *out = fopen(file, "w");

        assert_non_null(out);
        fprintf(out, "[device]\npeak_tflop_per_s = %s\n", rows[i].device);
        fclose(out);
        assert_int_equal(parse(line), MTLM_REQUEST_SIMULATE);
        assert_int_equal(mtlm_simulate(&options, stdout, &error), -1);
        assert_int_equal(error.code, MTLM_EXIT_USAGE);
        assert_says(error.text, rows[i].why);
        assert_says(error.text, file);
        free(line);
    }
}

static void describe(const char *file, double memory_gib)
{
    FILE *out = fopen(file, "w");

    assert_non_null(out);
    fprintf(out,
            "[device]\npeak_tflop_per_s = 100\nefficiency = 0.5\n"
            "memory_gb = %.9f\nmemory_gb_per_s = 1000\n"
            "[host]\nlatency_us = 1\ngb_per_s = 100\n",
            memory_gib * 1.073741824);
    assert_int_equal(fclose(out), 0);
}

/* The head makes the last stage slow, and windows by times smaller than windows
 * by layers. */
static void test_memory_counts_by_times(void **state)
{
    static const char job[] =
        "--model gpt2-345m --fp16 --micro-batch-size 1 --global-batch-size 32 "
        "--tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 "
        "--schedule window --window 1.5";
    char file[] = "/tmp/mtlm-cluster.XXXXXX", *text, *why;
    double gib;

    (void) state;
    close(mkstemp(file));
    describe(file, 1000);
    text = simulated(file, job);
    assert_non_null(text);
    gib = number_after(text, "\nmemory           ");
    free(text);
    describe(file, gib + 0.01);
    text = simulated(file, job);
    if (!text)
        fail_msg("%s", error.text);
    near(number_after(text, "\nmemory           "), gib, 1e-9);
    free(text);
    describe(file, gib - 0.01);
    assert_null(simulated(file, job));
    assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
    why = mtlm_sprintf("needs %.2f GiB on a device", gib);
    assert_says(error.text, why);
    free(why);
    unlink(file);
}

/* Before orders and programs are built: with these, no machine has enough
 * memory. */
static void test_iterations_beyond_memory_are_refused(void **state)
{
    static const char *const lines[] = {
        "--tensor-model-parallel-size 1",
        "--world-size 4",
        "--pipeline-model-parallel-size 2 --as 2021",
        "--pipeline-model-parallel-size 2 --schedule zb-h1 --schedule-mode "
        "strict",
        "--pipeline-model-parallel-size 2 --schedule auto",
    };

    (void) state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char *line = mtlm_sprintf("--model gpt-tiny --micro-batch-size 1 "
                                  "--global-batch-size 16777216 %s",
                                  lines[i]);

        assert_null(simulated(cluster_path("uniform"), line));
        assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
        assert_says(error.text, "an iteration of ");
        assert_says(error.text, " microbatches has about ");
        assert_says(error.text, " tasks, ");
        assert_says(error.text, "a smaller --global-batch-size");
        free(line);
    }
}

/* One layout each: a prime number of ranks, one attention head, and samples
 * that the ranks do not divide.  No machine has the memory for the parts of the
 * first job, nor for the order of the second. */
static void test_searches_beyond_memory_are_refused(void **state)
{
#define ONE_LAYOUT(ranks, layers)                                              \
    "--model gpt-tiny --num-layers " layers                                    \
    " --hidden-size 64 --ffn-hidden-size 256 --num-attention-heads 1 --fp16 "  \
    "--micro-batch-size 1 --recompute-granularity none --ignore-memory "       \
    "--num-virtual-stages-per-pipeline-rank 1 --world-size " ranks
    (void) state;
    assert_null(simulated(cluster_path("dgx-a100"),
                          ONE_LAYOUT("1009", "6054")
                          " --global-batch-size 8192 --schedule 1f1b"));
    assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
    assert_says(error.text,
                "none of 1 layouts on 1009 ranks fits and can be simulated: "
                "tensor 1 x pipeline 1009 x data 1, micro batch 1: 3027 "
                "microbatches have about ");
    assert_says(error.text, " tasks, too many to simulate on this machine");
    assert_null(simulated(cluster_path("dgx-a100"),
                          ONE_LAYOUT("11", "11")
                          " --global-batch-size 16777216 --schedule gpipe "
                          "--schedule-mode strict"));
    assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
    assert_says(error.text, ": 16777216 microbatches have about 5.54e+08 "
                            "passes of an order, too many to simulate");
#undef ONE_LAYOUT
}

/* All layers on the second of two ranks.  Nothing is evaluated here: nobody has
 * the memory. */
static void test_tasks_of_all_stages_count(void **state)
{
    struct mtlm_program_config config;
    struct mtlm_wish wish;

    (void) state;
    assert_int_equal(parse("--model gpt-tiny --simulate x.ini --num-layers 512 "
                           "--micro-batch-size 1 --global-batch-size 32768 "
                           "--pipeline-model-parallel-size 2 "
                           "--stage-layers 0,512"),
                     MTLM_REQUEST_SIMULATE);
    wish = mtlm_layout_choice_wish(&options, 1);
    config = mtlm_wish_config(&wish, 1, 2, 1, 1);
    assert_true(mtlm_simulate_size_tasks(&config) > 20.0 * 512 * 32768);
    assert_int_equal(mtlm_simulate_size_check(&options, &config, &error), -1);
    assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
    assert_says(error.text, "an iteration of 32768 microbatches has about ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_contradicts_is_refused),
        cmocka_unit_test(test_times_beyond_the_clock_are_refused),
        cmocka_unit_test(test_memory_counts_by_times),
        cmocka_unit_test(test_iterations_beyond_memory_are_refused),
        cmocka_unit_test(test_searches_beyond_memory_are_refused),
        cmocka_unit_test(test_tasks_of_all_stages_count),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
