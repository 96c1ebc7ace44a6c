/* --jitter-file: factors of passes, what is refused, and a plan with them. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/options/jitter_file.h"
#include "launch/plan/dry_run.h"
#include "runtime/base/memory.h"
#include "tests/launch/parse.h"
#include "tests/launch/times_file.h"

#define COLUMNS "iteration,replica,stage,microbatch,pass,factor\n"
#define TWO                                                                    \
    "--model gpt-tiny --num-layers 2 --workers 1 --micro-batch-size 1 "        \
    "--global-batch-size 1 --pipeline-model-parallel-size 2 --schedule 1f1b "  \
    "--schedule-mode strict --dry-run "

/* One iteration, replica, stage and microbatch. */
#define ONE "0,0,0,0,F,2\n0,0,0,0,B,3\n0,0,0,0,W,4\n"

static double factor(const struct mtlm_noise_table *table, int64_t iteration,
                     int replica, int stage, int microbatch,
                     enum mtlm_phase phase)
{
    const struct mtlm_noise noise = {.table = table};
    const struct mtlm_noise_pass pass = {.iteration = iteration,
                                         .replica = replica,
                                         .stage = stage,
                                         .microbatch = microbatch,
                                         .phase = phase};

    assert_true(mtlm_noise_is_any(&noise));
    return mtlm_noise_of_pass(&noise, 1, &pass);
}

/* Factors 1000 e + 100 r + 10 k + i + 1, W a half more; the last line comes
 * first. */
static char *numbered(void)
{
    char *text = mtlm_strdup("");

    for (int n = 0; n < 2 * 2 * 3 * 2 * 3; n++) {
        const int pass = n % 3, i = n / 3 % 2, k = n / 6 % 3, r = n / 18 % 2;
        const int e = n / 36;
        char *more = mtlm_sprintf(
            "%d,%d,%d,%d,%c,%g\n%s", e, r, k, i, "FBW"[pass],
            1000 * e + 100 * r + 10 * k + i + 1 + (pass == 2 ? 0.5 : 0), text);

        free(text);
        text = more;
    }
    return text;
}

static void test_each_pass_has_its_factor(void **state)
{
    char *rows = numbered(), *text = mtlm_sprintf("%s%s", COLUMNS, rows);
    struct mtlm_noise_table *table;

    (void) state;
    times_file_write(text);
    table = mtlm_jitter_file_read(times_file, &error);
    assert_non_null(table);
    assert_int_equal(table->iterations, 2);
    assert_int_equal(table->replicas, 2);
    assert_int_equal(table->stages, 3);
    assert_int_equal(table->microbatches, 2);
    assert_true(factor(table, 1, 1, 2, 1, MTLM_PHASE_BACKWARD) == 1122);
    assert_true(factor(table, 0, 1, 0, 0, MTLM_PHASE_WEIGHT) == 101.5);
    /* Iterations and replicas repeat; other passes have no factor. */
    assert_true(factor(table, 3, 2, 1, 0, MTLM_PHASE_FORWARD) == 1011);
    assert_true(factor(table, 0, 0, 0, -1, MTLM_PHASE_OPTIMIZER) == 1);
    mtlm_noise_table_free(table);
    free(text);
    free(rows);
}

static void refuses_file(const char *text, const char *sentence)
{
    char *all = mtlm_sprintf("--jitter-file: %s%s", times_file, sentence);

    times_file_write(text);
    assert_null(mtlm_jitter_file_read(times_file, &error));
    assert_string_equal(error.text, all);
    assert_int_equal(error.code, MTLM_EXIT_USAGE);
    free(all);
}

static void test_wrong_files_are_refused(void **state)
{
    static const char *const bad[] = {"0", "-1", "1e7"};

    (void) state;
    for (int i = 0; i < 3; i++) {
        char *text = mtlm_sprintf(COLUMNS "0,0,0,0,F,%s\n", bad[i]);
        char *why = mtlm_sprintf(", line 2: factor is '%s', it must be from "
                                 "1e-6 to 1e6",
                                 bad[i]);

        refuses_file(text, why);
        free(why);
        free(text);
    }
    refuses_file(COLUMNS "0,0,0,0,FB,1\n",
                 ", line 2: pass is 'FB', it must be F, B or W");
    refuses_file(COLUMNS "0,0,0,0,F,1\n0,0,0,0,B,1\n",
                 " has no line for W of iteration 0, replica 0, stage 0, "
                 "microbatch 0");
    refuses_file(COLUMNS ONE "0,0,0,0,F,1\n",
                 " has two lines for F of iteration 0, replica 0, stage 0, "
                 "microbatch 0");
    refuses_file(COLUMNS ONE "1048576,0,0,1048576,F,1\n",
                 " has 4 lines; its numbers make 3298541174787 passes, and "
                 "there can be 1 to 67108864");
    refuses_file(COLUMNS, " has 0 lines; its numbers make 0 passes, and there "
                          "can be 1 to 67108864");
}

/* Wherever a file is cut off, but behind a digit of its last number. */
static void test_files_that_are_cut_off_are_refused(void **state)
{
    char *text = mtlm_strdup(COLUMNS ONE);

    (void) state;
    for (size_t n = strlen(text) - 2; n-- > 0;) {
        text[n] = '\0';
        times_file_write(text);
        assert_null(mtlm_jitter_file_read(times_file, &error));
        assert_int_equal(error.code, MTLM_EXIT_USAGE);
        assert_non_null(strstr(error.text, times_file));
    }
    free(text);
}

/* Two ranks, one microbatch: F 1, hop .5, F 2, B 3, W 5, hop .5, B 4, W 6: 22
 * s. Rank 0 takes twice as long in the second iteration of the second replica:
 * 33 s. */
static void test_a_plan_has_the_slowest_replica(void **state)
{
    char times[] = "/tmp/mtlm-test.XXXXXX";
    FILE *file = fdopen(mkstemp(times), "w");
    char *line = mtlm_sprintf(TWO "--stage-times %s --jitter-file %s", times,
                              times_file);
    char *text = mtlm_strdup(COLUMNS);

    (void) state;
    assert_non_null(file);
    fputs("[stage 0]\nforward_ms = 1000\nbackward_ms = 4000\n"
          "weight_ms = 6000\n[stage 1]\nforward_ms = 2000\n"
          "backward_ms = 3000\nweight_ms = 5000\n[hop]\nlatency_us = 500000\n",
          file);
    fclose(file);
    for (int n = 0; n < 24; n++) {
        const int k = n / 3 % 2, r = n / 6 % 2, e = n / 12;
        char *more =
            mtlm_sprintf("%s%d,%d,%d,0,%c,%d\n", text, e, r, k, "FBW"[n % 3],
                         e == 1 && r == 1 && k == 0 ? 2 : 1);

        free(text);
        text = more;
    }
    times_file_write(text);
    free(text);
    text = plan_of(line);
    assert_non_null(strstr(text, "\nschedule         1f1b: 22 s "));
    /* 27.5 s, and 5.5 s times 12.7062 of Student's distribution. */
    assert_non_null(strstr(text, "\njitter           2 iterations of 2 "
                                 "replicas: strict 27.5 s +- 254.12 %;\n"));
    free(text);
    free(line);
    unlink(times);
}

static void test_factors_of_another_pipeline_are_refused(void **state)
{
    char *line = mtlm_sprintf(TWO "--jitter-file %s", times_file);
    char *why = mtlm_sprintf("--jitter-file %s is of 1 stages and 1 "
                             "microbatches, and there are 2 x 1 and 1",
                             times_file);

    (void) state;
    times_file_write(COLUMNS ONE);
    assert_int_equal(parse(line), MTLM_REQUEST_PLAN);
    assert_int_equal(mtlm_dry_run(&options, stdout, &error), -1);
    assert_string_equal(error.text, why);
    assert_int_equal(error.code, MTLM_EXIT_USAGE);
    free(why);
    free(line);
    line = mtlm_sprintf("--model gpt-tiny --jitter-file %s", times_file);
    refuses(line, "--jitter-file changes modelled durations and needs "
                  "--synthetic CLUSTER.ini, --simulate or --dry-run");
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_pass_has_its_factor),
        cmocka_unit_test(test_wrong_files_are_refused),
        cmocka_unit_test(test_files_that_are_cut_off_are_refused),
        cmocka_unit_test(test_a_plan_has_the_slowest_replica),
        cmocka_unit_test(test_factors_of_another_pipeline_are_refused)};

    return cmocka_run_group_tests(tests, times_file_setup, times_file_teardown);
}
