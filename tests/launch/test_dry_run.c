/* What --dry-run says of a job. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/plan/dry_run.h"
#include "tests/launch/parse.h"

static void assert_says(const char *text, const char *what)
{
    if (text && !strstr(text, what))
        fail_msg("no \"%s\" in\n%s", what, text);
}

/* The trillion parameters of arXiv 2104.04473, table 1: 3072 ranks, of which
 * six hold the same. */
static void test_a_plan_knows_replicas(void **state)
{
    static const char line[] =
        "--model gpt-1t --dry-run --world-size 3072 --eval-iters 0 "
        "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 64 "
        "--global-batch-size 3072 --micro-batch-size 1";
    char *text = plan_of(line), *more;
    struct mtlm_error err;

    (void) state;
    assert_says(text, "tensor 8 x pipeline 64 x data 6 = 3072 ranks,");
    assert_says(text, "3072 samples = 6 x 512 microbatches of 1 x 2048 tokens");
    assert_says(text, "(p-1)/m = 0.123 ");
    assert_says(text, "\n63        3024-3071 ");
    free(text);
    more = mtlm_sprintf("%s --use-distributed-optimizer", line);
    text = plan_of(more);
    assert_says(text, "x data 6 = 3072 ranks,");
    free(text);
    free(more);
    /* The preset's 4 samples are more than a rank's share. */
    text = plan_of("--model gpt2-345m --dry-run --world-size 8 "
                   "--global-batch-size 8 --tensor-model-parallel-size 1 "
                   "--pipeline-model-parallel-size 1 --eval-iters 0");
    assert_says(text, "8 samples = 8 x 1 microbatch of 1 x 1024 tokens");
    free(text);
    assert_int_equal(parse("--model gpt-1t --dry-run --world-size 3000 "
                           "--tensor-model-parallel-size 8"),
                     MTLM_REQUEST_PLAN);
    assert_int_equal(mtlm_dry_run(&options, stdout, &err), -1);
    assert_non_null(strstr(err.text, "375 data-parallel ranks"));
    refuses("--model gpt-tiny --world-size 2",
            "--world-size is for --dry-run and --simulate; in a run mpirun "
            "sets the number of ranks");
}

static void test_a_plan_says_what_the_model_is(void **state)
{
    char *text = plan_of("--model bert-3.9b --dry-run "
                         "--tensor-model-parallel-size 4 "
                         "--pipeline-model-parallel-size 12");

    (void) state;
    assert_says(text, "bert-3.9b: BERT, 48 layers, hidden 2560, 40 heads, MLP "
                      "10240, sequence 512\n");
    assert_says(text, "30522 tokens, padded to 30720\n");
    assert_says(text, "parameters       3869588482 (3.870 B), 3869081404 "
                      "without the padding");
    assert_says(text, "tensor 4 x pipeline 12 x data 1 = 48 ranks,");
    assert_says(text, "1024 samples = 256 microbatches of 4 x 512 tokens\n");
    assert_says(text, "1.254e+16 per iteration, 72 B s l h^2 "
                      "(1 + s/6h + V/12lh) + 6 B s h^2\n");
    assert_says(text, "(p-1)/m = 0.04297 of the ideal time, 4.12 % of");
    assert_says(text, "\n0         0-3 ");
    assert_says(text, "\n11        44-47 ");
    free(text);
}

/* Two ranks on this machine, and one on another. */
static void test_a_plan_has_all_ranks_of_unequal_machines(void **state)
{
    char *text;

    (void) state;
    setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
    text = plan_of("--model gpt-tiny --dry-run --no-gpu --micro-batch-size 1 "
                   "--global-batch-size 12");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    assert_says(text, " = 3 ranks");
    free(text);
}

/* Of p = 2 ranks with v = 2 stages each, 12 microbatches: 1 / 24 = 4.167 % of
 * the ideal time; a third of it where W fills the gaps. */
static void test_a_plan_says_how_stages_lie(void **state)
{
    char *text = plan_of("--model gpt-tiny --dry-run --num-layers 7 "
                         "--micro-batch-size 1 "
                         "--global-batch-size 12 --placement v "
                         "--tensor-model-parallel-size 1 "
                         "--pipeline-model-parallel-size 2");

    (void) state;
    assert_says(text, "\nstages           4, 2 on each rank (placement v), "
                      "layers 2 2 2 1\n");
    assert_says(text, "(p-1)/(v m) = 0.04167 of the ideal time, 4.00 % of the "
                      "iteration (interleaved 1F1B);");
    assert_says(text, " 0.01389, 1.37 % with weight gradients in it; equal");
    free(text);
}

/* The file up to a megabyte; the caller frees the text. */
static char *read_text(const char *path)
{
    const size_t size = 1 << 20;
    char *text = calloc(size + 1, 1);
    FILE *file = fopen(path, "r");

    assert_non_null(text);
    assert_non_null(file);
    assert_true(fread(text, 1, size, file) > 0);
    fclose(file);
    return text;
}

/* Stages of unequal work, and a worker too many for a rank. */
static void test_picture_and_text_have_one_bubble(void **state)
{
    static const char *const lines[] = {
        "--pipeline-model-parallel-size 4 --workers 1 --global-batch-size 64",
        "--pipeline-model-parallel-size 2 --workers 20",
        "--num-layers 24 --hidden-size 1000 --workers 1 --global-batch-size 1 "
        "--micro-batch-size 1"};

    (void) state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char path[] = "/tmp/mtlm-test-svg.XXXXXX";
        const int fd = mkstemp(path);
        char *line = mtlm_sprintf("--model gpt-tiny --dry-run --svg %s %s",
                                  path, lines[i]);
        char *text, *picture;

        assert_true(fd >= 0);
        text = plan_of(line);
        picture = read_text(path);
        assert_float_equal(number_after(text, ": bubble "),
                           number_after(picture, " ms, bubble "), 0.056);
        assert_null(strstr(text, "-0.00 %"));
        assert_null(strstr(picture, "-0.0 %"));
        close(fd);
        unlink(path);
        free(picture);
        free(text);
        free(line);
    }
}

/* 256 microbatches have boxes of 2 pixels.  The picture shows the begin and the
 * end, with a mark between them, in every schedule. */
static void test_picture_of_many_microbatches_is_cut(void **state)
{
    static const char *const schedules[] = {"gpipe", "1f1b", "zb-h1",
                                            "interleaved"};

    (void) state;
    for (size_t i = 0; i < sizeof(schedules) / sizeof(schedules[0]); i++) {
        char path[] = "/tmp/mtlm-test-svg.XXXXXX";
        const int fd = mkstemp(path);
        char *line = mtlm_sprintf(
            "--model gpt-tiny --dry-run --pipeline-model-parallel-size 2 "
            "--workers 1 --micro-batch-size 1 --global-batch-size 256 "
            "--schedule %s --svg %s",
            schedules[i], path);
        char *text, *picture;

        assert_true(fd >= 0);
        text = plan_of(line);
        picture = read_text(path);
        assert_non_null(strstr(picture, " cut out between the first 20 and the "
                                        "last 10 of 256 microbatches<"));
        assert_non_null(strstr(picture, " ms are cut out</title>"));
        for (int m = 0; m < 256; m += m == 19 ? 227 : 1) {
            char *hover = mtlm_sprintf(" microbatch %d,", m);

            assert_non_null(strstr(picture, hover));
            free(hover);
        }
        assert_null(strstr(picture, " microbatch 128,"));
        /* Text and title tell of the whole iteration. */
        assert_float_equal(number_after(text, ": bubble "),
                           number_after(picture, " ms, bubble "), 0.056);
        close(fd);
        unlink(path);
        free(picture);
        free(text);
        free(line);
    }
}

/* Across two boundaries, 256 microbatches of 4 b s h bytes each. */
static void test_a_plan_says_what_is_sent(void **state)
{
    char *text = plan_of("--model bert-3.9b --dry-run --num-layers 24 "
                         "--pipeline-model-parallel-size 12 --workers 1");

    (void) state;
    assert_says(
        text, "\n6         6                0.00       0   10240.00     512 ");
    free(text);
}

static void test_a_trillion_parameters_take_a_plan_no_time(void **state)
{
    char *text = plan_of("--model gpt-1t --dry-run --global-batch-size 512 "
                         "--tensor-model-parallel-size 8 "
                         "--pipeline-model-parallel-size 64");

    (void) state;
    assert_says(text, "parameters       1008038758400 (1008 B)\n");
    assert_says(text, "= 512 ranks");
    assert_says(text, "512 microbatches of 1 x 2048 tokens\n");
    assert_says(text, "(p-1)/m = 0.123 of the ideal time, 10.96 %");
    assert_says(text, "\n1-62      8-503 ");
    free(text);
}

static void test_a_plan_says_what_has_no_effect(void **state)
{
    char *text = plan_of("--model gpt-tiny --dry-run --sequence-parallel "
                         "--tensor-model-parallel-size 1 --schedule zb-v");

    (void) state;
    assert_says(text, "--sequence-parallel: without effect, the "
                      "tensor-parallel size is 1\n");
    assert_says(text, "--schedule zb-v: without effect, the pipeline has one "
                      "rank\n");
    free(text);
    text = plan_of("--model gpt-tiny --dry-run --sequence-parallel "
                   "--tensor-model-parallel-size 2 --schedule zb-v "
                   "--pipeline-model-parallel-size 2");
    assert_null(strstr(text, "without effect"));
    free(text);
    refuses("--model gpt-tiny --num-layers 2 --recompute-granularity full "
            "--recompute-num-layers 50",
            "--recompute-num-layers 50 is more than the --num-layers 2 of the "
            "model");
}

static void test_one_is_no_plural(void **state)
{
    char *text = plan_of("--model gpt-tiny --dry-run --num-layers 1 "
                         "--num-attention-heads 1 --global-batch-size 1");

    (void) state;
    assert_says(text, "GPT, 1 layer, hidden 256, 1 head, MLP");
    assert_says(text, "1 sample = 1 microbatch of 1 x");
    free(text);
}

static void test_a_plan_needs_a_complete_model(void **state)
{
    (void) state;
    refuses("--dry-run --num-layers 4",
            "--hidden-size is missing; give it, or start from a preset such "
            "as --model gpt-tiny");
    refuses("--dry-run=yes --model gpt-tiny", "--dry-run takes no value");
}

/* Nobody waits for a plan of it, which would take gigabytes. */
static void test_what_no_run_can_count_has_no_plan(void **state)
{
    (void) state;
    for (int t = 1; t <= 2; t++) {
        char line[128];

        snprintf(line, sizeof(line),
                 "--model gpt-tiny --dry-run --global-batch-size 16777216 "
                 "--tensor-model-parallel-size %d",
                 t);
        assert_int_equal(parse(line), MTLM_REQUEST_PLAN);
        assert_int_equal(mtlm_dry_run(&options, stdout, &error), -1);
        assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
        assert_says(error.text,
                    "more nodes than this version can count; give a "
                    "smaller --global-batch-size");
    }
}

/* Before orders are built, and before anything is printed. */
static void test_a_plan_beyond_memory_is_refused(void **state)
{
    static const char *const lines[] = {
        "16777216 --pipeline-model-parallel-size 32",
        "16777216 --pipeline-model-parallel-size 32 --schedule zb-h1 "
        "--schedule-mode strict",
    };

    (void) state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char *line = mtlm_sprintf("--model gpt-tiny --dry-run --num-layers 32 "
                                  "--tensor-model-parallel-size 1 "
                                  "--micro-batch-size 1 "
                                  "--global-batch-size %s",
                                  lines[i]);
        FILE *out = tmpfile();

        assert_int_equal(parse(line), MTLM_REQUEST_PLAN);
        assert_int_equal(mtlm_dry_run(&options, out, &error), -1);
        assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
        assert_says(error.text, " microbatches on ");
        assert_says(error.text, " stages evaluates ");
        assert_says(error.text, "a smaller --global-batch-size");
        assert_int_equal(ftell(out), 0);
        fclose(out);
        free(line);
    }
}

/* 2048 x 64 x 51200 logits, on a machine of any memory. */
static void test_a_plan_names_what_no_run_can_count(void **state)
{
    char cluster[] = "/tmp/mtlm-cluster.XXXXXX", *line, *text;
    FILE *file = fdopen(mkstemp(cluster), "w");

    (void) state;
    assert_non_null(file);
    fputs("[stage]\nforward_ms = 1\nbackward_ms = 1\nweight_ms = 1\n", file);
    fclose(file);
    line = mtlm_sprintf("--model gpt-tiny --dry-run --world-size 1 "
                        "--tensor-model-parallel-size 1 "
                        "--pipeline-model-parallel-size 1 --vocab-size 51200 "
                        "--seq-length 2048 --max-position-embeddings 2048 "
                        "--micro-batch-size 64 --global-batch-size 64 "
                        "--eval-iters 0 --synthetic %s",
                        cluster);
    text = plan_of(line);
    assert_says(text, "\nIt does not run: ");
    assert_says(text, " has 6710886400 elements, this version can have "
                      "4294967295 in one tensor; a larger "
                      "--tensor-model-parallel-size or a smaller "
                      "--micro-batch-size would do.\n");
    assert_null(strstr(text, "GiB are needed"));
    free(text);
    free(line);
    unlink(cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plan_says_what_the_model_is),
        cmocka_unit_test(test_a_plan_has_all_ranks_of_unequal_machines),
        cmocka_unit_test(test_a_plan_says_how_stages_lie),
        cmocka_unit_test(test_a_plan_knows_replicas),
        cmocka_unit_test(test_picture_and_text_have_one_bubble),
        cmocka_unit_test(test_picture_of_many_microbatches_is_cut),
        cmocka_unit_test(test_a_plan_says_what_is_sent),
        cmocka_unit_test(test_a_trillion_parameters_take_a_plan_no_time),
        cmocka_unit_test(test_a_plan_says_what_has_no_effect),
        cmocka_unit_test(test_one_is_no_plural),
        cmocka_unit_test(test_a_plan_needs_a_complete_model),
        cmocka_unit_test(test_what_no_run_can_count_has_no_plan),
        cmocka_unit_test(test_a_plan_beyond_memory_is_refused),
        cmocka_unit_test(test_a_plan_names_what_no_run_can_count),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
