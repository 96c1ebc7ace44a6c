/* --as and --ours: published code in simulations, against published times and
 * closed forms. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "tests/launch/parse.h"
#include "tests/launch/simulated.h"

#define PUBLISHED                                                              \
    "--lr 1e-4 --train-iters 1 --fp16 --seq-length 1024 --vocab-size 50257 "   \
    "--micro-batch-size 8 --global-batch-size 8 --ignore-memory "              \
    "--pipeline-model-parallel-size 1 --recompute-granularity full "           \
    "--recompute-method uniform --recompute-num-layers 1 "

/* Megatron-LM v1.0 on a DGX-2H: 1288 ms, the fitted row, and 1508 ms. */
static void test_published_code_takes_the_published_time(void **state)
{
    (void) state;
    near(seconds_of("dgx-2h",
                    PUBLISHED "--as v1.0 --num-layers 24 --hidden-size 1920 "
                              "--num-attention-heads 15 "
                              "--tensor-model-parallel-size 1"),
         1.288, 0.01);
    near(seconds_of("dgx-2h",
                    PUBLISHED "--as megatron-v1.0 --num-layers 42 "
                              "--hidden-size 4096 --num-attention-heads 32 "
                              "--tensor-model-parallel-size 8"),
         1.508, 0.03);
}

#define TWO_REPLICAS                                                           \
    "--lr 1e-4 --train-iters 1 --fp16 --seq-length 1024 --vocab-size 50257 "   \
    "--micro-batch-size 8 --global-batch-size 16 --ignore-memory "             \
    "--pipeline-model-parallel-size 1 --tensor-model-parallel-size 1 "         \
    "--world-size 2 --recompute-granularity full --recompute-method uniform "  \
    "--recompute-num-layers 1 "
#define BASELINE                                                               \
    "--num-layers 24 --hidden-size 1920 --num-attention-heads 15 "             \
    "--tensor-model-parallel-size 1 "

/* Gradients of 1.161e9 parameters in 2 bytes, those of the tied embedding for
 * each of its uses, reduced after B in a ring of two at 130 GB/s; or almost all
 * beside B. */
static void test_gradients_are_reduced_after_or_beside_b(void **state)
{
    const double alone =
        seconds_of("dgx-2h", PUBLISHED BASELINE "--as megatron-2019");
    const double after =
        seconds_of("dgx-2h", TWO_REPLICAS BASELINE "--as 2019-unoverlapped");
    const double beside =
        seconds_of("dgx-2h", TWO_REPLICAS BASELINE "--as megatron-2019");
    const double reduction = 2 * (1.161e9 + 50304 * 1920) / 130e9;

    (void) state;
    near(after - alone, reduction, 0.03);
    assert_true(beside - alone < 0.25 * reduction);
}

/* Published code follows the order of 1f1b or interleaved strictly. */
static void test_published_code_has_the_features_of_its_year(void **state)
{
    static const struct {
        const char *line, *error;
    } cases[] = {
        {"--as 2021 --schedule zb-v", "--as 2021: Megatron-LM v2.5 (arXiv "
                                      "2104.04473) never had a schedule but "
                                      "1f1b and interleaved"},
        {"--as megatron-2019",
         "--as megatron-2019: Megatron-LM of 2019 (arXiv 1909.08053) never had "
         "a pipeline"},
        {"--as 2020-09 --schedule interleaved",
         "--as 2020-09: Megatron-LM before interleaving (figures of 2021-01) "
         "never had virtual stages"}};

    char *text;

    (void) state;
    text = text_of("uniform", FOUR "--global-batch-size 8 --as 2021");
    assert_says(text, "(arXiv 2104.04473): the times of the file instead of "
                      "its kernels, and one thing after another");
    free(text);
    near(seconds_of("uniform", FOUR "--global-batch-size 8 --as 2021"),
         (8 + 3) * 0.15, 1e-6);
    /* No note on a schedule that nobody gave. */
    text = text_of("dgx-2h", PUBLISHED BASELINE "--as v1.0");
    assert_null(strstr(text, "without effect"));
    free(text);
    near(seconds_of("uniform", FOUR "--global-batch-size 8 --as 2021 "
                                    "--num-virtual-stages-per-pipeline-rank 2"),
         (8 + 3 / 2.0) * 0.15, 1e-6);
    /* Layers of stages make no virtual stages. */
    near(seconds_of("uniform", FOUR "--global-batch-size 8 --as 2021 "
                                    "--stage-layers 2,3,2,1"),
         seconds_of("uniform", FOUR "--global-batch-size 8 --as 2021 "
                                    "--schedule 1f1b --stage-layers 2,3,2,1"),
         1e-12);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *line =
            mtlm_sprintf(FOUR "--global-batch-size 8 %s", cases[i].line);

        assert_null(simulated(cluster_path("uniform"), line));
        assert_int_equal(error.code, MTLM_EXIT_USAGE);
        assert_string_equal(error.text, cases[i].error);
        free(line);
    }
    refuses("--model gpt-tiny --as 2021", "--as is for --simulate CLUSTER.ini");
    refuses("--model gpt-tiny --simulate x.ini --as 2018",
            "--as is '2018', it must be 2019, 2019-unoverlapped, "
            "v1.0, 2020-09, 2021, 2021-unscattered, 2021-unfused, 2022 or "
            "deepspeed");
    refuses("--model gpt-tiny --simulate x.ini --as 2021 --schedule-mode hint",
            "--as follows the order of its schedule; leave out "
            "--schedule-mode");
}

/* A cluster file of four equal stages whose messages take a millisecond. */
static char late_machine[] = "/tmp/mtlm-late.XXXXXX";

static int setup(void **state)
{
    const int fd = mkstemp(late_machine);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

    if (!file)
        return -1;
    fputs("[stage]\nforward_ms = 50\nbackward_ms = 50\nweight_ms = 50\n"
          "[host]\nlatency_us = 1000\n",
          file);
    return fclose(file) ? -1 : parse_setup(state);
}

static int teardown(void **state)
{
    unlink(late_machine);
    return parse_teardown(state);
}

static double late_seconds(const char *code, int chunks, int batch)
{
    char *line = mtlm_sprintf(FOUR "--as %s --global-batch-size %d "
                                   "--num-virtual-stages-per-pipeline-rank %d",
                              code, batch, chunks);
    json_t *numbers = numbers_on(late_machine, line);
    const double seconds = number(numbers, "iteration_s");

    json_decref(numbers);
    free(line);
    return seconds;
}

/* A rank in the middle sends a message behind each F and each B of a chunk, and
 * waits for both: two messages a microbatch, four with two chunks. */
static void test_a_rank_waits_for_all_that_it_sends(void **state)
{
    static const struct {
        const char *code;
        int chunks;
    } cases[] = {{"2020-09", 1}, {"2021", 1}, {"2021", 2}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *code = cases[i].code;
        const int chunks = cases[i].chunks;

        near(late_seconds(code, chunks, 128) - late_seconds(code, chunks, 64),
             64 * (0.15 + chunks * 2 * 0.001), 1e-6);
    }
}

#define EIGHT_GPUS                                                             \
    "--num-layers 42 --hidden-size 4096 --num-attention-heads 32 "             \
    "--tensor-model-parallel-size 8 "

/* The parts that --ours replaces: with the published kernels, our order has the
 * closed forms of our schedules, and pruned layers recompute less. */
static void test_our_parts_replace_those_of_published_code(void **state)
{
    const double whole = seconds_of("dgx-2h", PUBLISHED EIGHT_GPUS "--as v1.0");
    const double pruned =
        seconds_of("dgx-2h", PUBLISHED EIGHT_GPUS "--as v1.0 --ours recompute");

    (void) state;
    assert_true(pruned < 0.97 * whole);
    near(seconds_of("uniform", FOUR "--global-batch-size 8 --as 2021 "
                                    "--ours overlap --schedule zb-h1 "
                                    "--schedule-mode strict"),
         8 * 0.15 + 3 * 0.05, 1e-6);
    /* The default schedule is the published one. */
    near(seconds_of("uniform", FOUR "--global-batch-size 5 --as 2020-09 "
                                    "--ours all"),
         (5 + 3) * 0.15, 1e-6);
    refuses("--model gpt-tiny --simulate x.ini --ours all",
            "--ours replaces parts of published code and is for --as");
    refuses("--model gpt-tiny --simulate x.ini --as 2021 --ours recompute "
            "--schedule-mode hint",
            "--as follows the order of its schedule; leave out "
            "--schedule-mode");
}

/* The code has no order but its own.  With our order, a file of four ranks and
 * eight microbatches has B and W apart: its time is that of zb-h1. */
static void test_an_order_of_a_file_goes_with_our_order_alone(void **state)
{
    static const char *const ours[] = {"overlap", "all"};
    char path[] = "/tmp/mtlm-order-XXXXXX", *line;
    const int fd = mkstemp(path);

    (void) state;
    assert_true(fd >= 0);
    close(fd);
    line = mtlm_sprintf(FOUR "--global-batch-size 8 --workers 1 --dry-run "
                             "--schedule zb-h1 --schedule-mode strict "
                             "--schedule-out %s",
                        path);
    free(plan_of(line));
    free(line);
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        line = mtlm_sprintf(FOUR "--global-batch-size 8 --as 2021 --ours %s "
                                 "--schedule-file %s",
                            ours[i], path);
        near(seconds_of("uniform", line), 8 * 0.15 + 3 * 0.05, 1e-6);
        free(line);
    }
    line = mtlm_sprintf(FOUR "--global-batch-size 8 --simulate x.ini --as 2021 "
                             "--schedule-file %s",
                        path);
    refuses(line, "--as follows the order of its schedule; leave out "
                  "--schedule-file");
    free(line);
    unlink(path);
}

/* ---- memory ---- */

#define OF_22_BILLION                                                          \
    "--as 2022 --fp16 --world-size 8 --tensor-model-parallel-size 8 "          \
    "--num-layers 48 --hidden-size 6144 --num-attention-heads 64 "             \
    "--seq-length 2048 --vocab-size 50257 --micro-batch-size 4 "               \
    "--global-batch-size 4 "

/* The smallest job of arXiv 2205.05198: too large for its GPUs, unless ranks
 * share rows and scores are made again. */
static void test_memory_is_that_of_the_code(void **state)
{
    char *text =
        text_of("dgx-a100", OF_22_BILLION "--sequence-parallel "
                                          "--recompute-granularity selective");

    (void) state;
    assert_says(text, "\nmemory           56.88 GiB on the fullest device "
                      "(pipeline rank 0) of 80.00 GiB\n");
    assert_says(text,
                "\n  memory         the code's: 18 bytes a parameter, and "
                "34 sbh/t bytes of a layer for each microbatch in "
                "flight, by arXiv 2205.05198; the scores of one layer "
                "are made again\n");
    free(text);
    assert_null(simulated(cluster_path("dgx-a100"), OF_22_BILLION));
    assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
    assert_says(error.text, "needs 106.15 GiB on a device");
}

/* The formulas are those of the layers that are kept and made again. */
static void test_memory_names_what_is_recomputed(void **state)
{
    static const struct {
        const char *line, *text;
    } cases[] = {
        {"", "2sbh/t bytes of a layer for each microbatch in flight, by arXiv "
             "2205.05198; one layer is made again\n"},
        {"--recompute-num-layers 4",
         "2sbh/t bytes of each group of 4 layers for each microbatch in "
         "flight, by arXiv 2205.05198; one group is made again\n"},
        {"--recompute-num-layers 2 --recompute-method block",
         "2sbh/t bytes of a recomputed layer (the first 2 of each virtual "
         "stage) and sbh/t (34 + 5as/h) of another for each microbatch in "
         "flight, by arXiv 2205.05198; one layer is made again\n"}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *line = mtlm_sprintf(OF_22_BILLION "--sequence-parallel "
                                                "--ignore-memory "
                                                "--recompute-granularity full "
                                                "%s",
                                  cases[i].line);
        char *text = text_of("dgx-a100", line);

        assert_says(text, cases[i].text);
        free(text);
        free(line);
    }
}

/* Our order in the published memory has no more microbatches in flight. */
static void test_an_order_has_the_memory_of_its_microbatches(void **state)
{
#define OF_FOUR_STAGES                                                         \
    "--fp16 --num-layers 16 --hidden-size 1024 --num-attention-heads 16 "      \
    "--seq-length 1024 --vocab-size 50257 --micro-batch-size 2 "               \
    "--global-batch-size 32 --world-size 4 --as 2022 "                         \
    "--pipeline-model-parallel-size 4 "
    static const char *const same[] = {
        "", "--ours all", "--ours all --schedule-mode strict",
        "--ours all --schedule zb-h1 --schedule-mode strict"};
    char *text;

    (void) state;
    for (int i = 0; i < 4; i++) {
        char *line = mtlm_sprintf(OF_FOUR_STAGES "%s", same[i]);

        text = text_of("dgx-a100", line);
        assert_says(text, "\nmemory           5.30 GiB ");
        free(text);
        free(line);
    }
}

/* Figures 13 and 16 of arXiv 2104.04473: the best of tensor x pipeline, and of
 * micro batches, among all layouts that fit.  Interleaved orders are among
 * them. */
static void test_a_search_finds_the_layouts_of_the_paper(void **state)
{
    static const struct {
        const char *line;
        int micro_batch, virtual_stages;
    } cases[] = {{"--hidden-size 20480 --global-batch-size 32", 1, 1},
                 {"--hidden-size 20480 --global-batch-size 128", 1, 1},
                 {"--hidden-size 15360 --global-batch-size 128", 2, 1},
                 {"--hidden-size 15360 --global-batch-size 512", 2, 1},
                 {"--hidden-size 20480 --global-batch-size 32 "
                  "--recompute-granularity full",
                  2, 4},
                 {"--hidden-size 20480 --global-batch-size 128 "
                  "--recompute-granularity full",
                  2, 4}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *line = mtlm_sprintf("--as 2021 --fp16 --world-size 64 "
                                  "--seq-length 2048 --vocab-size 50257 "
                                  "--num-layers 32 --num-attention-heads 128 "
                                  "%s",
                                  cases[i].line);
        char *text = text_of("dgx-a100", line);

        assert_int_equal(options.tensor_parallel, 8);
        assert_int_equal(options.pipeline_parallel, 8);
        assert_int_equal(options.micro_batch_size, cases[i].micro_batch);
        if (cases[i].virtual_stages > 1) {
            assert_int_equal(options.virtual_stages, cases[i].virtual_stages);
            assert_says(text, "\nschedule         interleaved\n");
        } else {
            assert_says(text, "\nschedule         1f1b\n");
        }
        free(text);
        free(line);
    }
}

/* Seconds of an iteration of the found layout, and of the layout given. */
static void test_a_found_interleaved_layout_may_be_given(void **state)
{
#define OF_162_BILLION                                                         \
    "--as 2021 --fp16 --world-size 64 --seq-length 2048 --vocab-size 50257 "   \
    "--num-layers 32 --hidden-size 20480 --num-attention-heads 128 "           \
    "--global-batch-size 32 --recompute-granularity full "
    const double found = seconds_of("dgx-a100", OF_162_BILLION);
    const int v = options.virtual_stages;
    char *line;

    (void) state;
    assert_true(v > 1);
    line = mtlm_sprintf(
        OF_162_BILLION "--tensor-model-parallel-size %d "
                       "--pipeline-model-parallel-size %d "
                       "--micro-batch-size %d "
                       "--num-virtual-stages-per-pipeline-rank %d",
        (int) options.tensor_parallel, (int) options.pipeline_parallel,
        (int) options.micro_batch_size, v);
    near(seconds_of("dgx-a100", line), found, 1e-12);
    free(line);
    /* A schedule that is given has no virtual stages. */
    assert_true(seconds_of("dgx-a100", OF_162_BILLION "--schedule 1f1b")
                > found);
    assert_true(options.virtual_stages <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_code_takes_the_published_time),
        cmocka_unit_test(test_gradients_are_reduced_after_or_beside_b),
        cmocka_unit_test(test_published_code_has_the_features_of_its_year),
        cmocka_unit_test(test_a_rank_waits_for_all_that_it_sends),
        cmocka_unit_test(test_our_parts_replace_those_of_published_code),
        cmocka_unit_test(test_an_order_of_a_file_goes_with_our_order_alone),
        cmocka_unit_test(test_memory_is_that_of_the_code),
        cmocka_unit_test(test_memory_names_what_is_recomputed),
        cmocka_unit_test(test_an_order_has_the_memory_of_its_microbatches),
        cmocka_unit_test(test_a_search_finds_the_layouts_of_the_paper),
        cmocka_unit_test(test_a_found_interleaved_layout_may_be_given),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
