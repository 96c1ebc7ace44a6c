/* Times of stages on the command line: what is refused, and what a plan says of
 * them. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/predict/lp.h"
#include "launch/plan/dry_run.h"
#include "runtime/base/memory.h"
#include "tests/launch/parse.h"
#include "tests/launch/times_file.h"

#define FOUR                                                                   \
    "--model gpt-tiny --num-layers 8 --workers 1 --micro-batch-size 1 "        \
    "--global-batch-size 16 --pipeline-model-parallel-size 4 --dry-run "

static void test_two_sources_of_times_are_refused(void **state)
{
    char *line =
        mtlm_sprintf(FOUR "--stage-times %s --durations nowhere", times_file);

    (void) state;
    times_file_write(TIMES_SLOW);
    refuses(line, "--stage-times and --durations both say how long F, B and W "
                  "take; give one of them");
    free(line);
    refuses(FOUR "--durations nowhere",
            "--durations: cannot read nowhere: No such file or directory");
}

static void refuses_plan(const char *line, const char *sentence)
{
    assert_int_equal(parse(line), MTLM_REQUEST_PLAN);
    assert_int_equal(mtlm_dry_run(&options, stdout, &error), -1);
    assert_string_equal(error.text, sentence);
    assert_int_equal(error.code, MTLM_EXIT_USAGE);
}

static void test_times_of_other_stages_are_refused(void **state)
{
    static const char *const more[] = {"--schedule interleaved",
                                       "--schedule zb-v",
                                       "--schedule auto --placement v "
                                       "--num-virtual-stages-per-pipeline-rank "
                                       "2"};
    char *why = mtlm_sprintf("--stage-times %s has times of 4 stages, and "
                             "there are 4 x 2",
                             times_file);

    (void) state;
    times_file_write(TIMES_SLOW);
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
        char *line =
            mtlm_sprintf(FOUR "--stage-times %s %s", times_file, more[i]);

        refuses_plan(line, why);
        free(line);
    }
    free(why);
}

/* ZB-H1 with a slow rank: 65.2 s; 64.1 s is the work of that rank behind the F
 * of two stages.  Windows from times come to 64.1 s in ZB-H1's memory. */
static void test_a_plan_counts_in_seconds(void **state)
{
    char *line =
        mtlm_sprintf(FOUR "--schedule zb-h1 --stage-times %s", times_file);
    char *text;

    (void) state;
    times_file_write(TIMES_SLOW "[hop]\nlatency_us = 50000\n");
    text = plan_of(line);
    assert_non_null(strstr(text, "; a message takes 50 ms;\n"
                                 "                 F 1000 1000 1250 1000 ms\n"
                                 "                 B 1200 1200 1500 1200 ms\n"
                                 "                 W 900 900 1125 900 ms\n"));
    assert_float_equal(number_after(text, "\nschedule         zb-h1: "), 65.2,
                       0.05);
    assert_float_equal(number_after(text, "no schedule takes less than "), 64.1,
                       1e-6);
    assert_null(strstr(text, "FLOPs as times"));
    free(text);
    free(line);
    line = mtlm_sprintf(FOUR "--schedule auto --stage-times %s", times_file);
    text = plan_of(line);
    assert_float_equal(number_after(text, "\nschedule         auto: "), 64.1,
                       0.03);
    free(text);
    free(line);
}

/* Behind slow messages, ZB-V takes 26 % less than two stages in a loop. */
static void test_given_stages_leave_the_placement_open(void **state)
{
    static const char *const more[] = {"", "--placement loop"},
                             *const placed[] = {"placement v,",
                                                "placement loop,"};

    (void) state;
    times_file_write("[stage 0-7]\nforward_ms = 500\nbackward_ms = 600\n"
                     "weight_ms = 400\n[hop]\nlatency_us = 1000000\n");
    for (int i = 0; i < 2; i++) {
        char *line = mtlm_sprintf(
            FOUR "--schedule auto --num-virtual-stages-per-pipeline-rank 2 "
                 "--stage-times %s %s",
            times_file, more[i]);
        char *text = plan_of(line);

        if (!strstr(text, placed[i]))
            fail_msg("no '%s' in %s", placed[i], text);
        free(text);
        free(line);
    }
}

/* Two ranks, one microbatch: F 1, hop, F 2, B 3, hop, B 4, W 6 of rank 0. */
static void test_the_plan_of_an_order_counts_in_seconds(void **state)
{
    char csv[] = "/tmp/mtlm-test.XXXXXX";
    FILE *file = fdopen(mkstemp(csv), "w");
    char *line = mtlm_sprintf(
        "--model gpt-tiny --num-layers 2 --workers 1 --micro-batch-size 1 "
        "--global-batch-size 1 --dry-run --schedule-file %s --stage-times %s",
        csv, times_file);
    char *text, *phrase;

    (void) state;
    assert_non_null(file);
    fputs("0F0,0I0,0W0\n1F0,1I0,1W0\n", file);
    fclose(file);
    times_file_write("[stage 0]\nforward_ms = 1000\nbackward_ms = 4000\n"
                     "weight_ms = 6000\n"
                     "[stage 1]\nforward_ms = 2000\nbackward_ms = 3000\n"
                     "weight_ms = 5000\n[hop]\nlatency_us = 500000\n");
    text = plan_of(line);
    phrase = mtlm_sprintf("\nschedule         %s: ", csv);
    assert_float_equal(number_after(text, phrase), 17, 1e-6);
    free(phrase);
    free(text);
    /* What rank 0 runs takes twice as long, in every draw. */
    phrase = mtlm_sprintf("%s --jitter 0,rank=0:2", line);
    text = plan_of(phrase);
    assert_non_null(strstr(text, ": strict 28 s +- 0.00 %;\n"
                                 "                 beside it hint +0.00 +- "
                                 "0.00 %, "));
    free(phrase);
    unlink(csv);
    free(text);
    free(line);
}

/* uniform.ini: 50 ms each.  Stretched, with one slow rank. */
static void test_a_plan_counts_by_the_cluster(void **state)
{
    char *text;

    (void) state;
    times_file_write(
        "[stage]\nforward_ms = 50\nbackward_ms = 60\nweight_ms = 40\n"
        "[host]\nlatency_us = 1000\n");
    for (int given = 0; given < 2; given++) {
        char *line =
            mtlm_sprintf(FOUR "--synthetic %s --stretch 2 --slow-rank 1:0.5 %s",
                         times_file, given ? "--jitter 0.3" : "");

        text = plan_of(line);
        assert_non_null(strstr(text, "; a message takes 2 ms;\n"
                                     "                 F 100 200 100 100 ms\n"
                                     "                 B 120 240 120 120 ms\n"
                                     "                 W 80 160 80 80 ms\n"));
        assert_int_equal(strstr(text, "\njitter           seeds 1234 to 1253: ")
                             != NULL,
                         given);
        /* 16 x 600 ms behind an F and a message. */
        assert_float_equal(number_after(text, "no schedule takes less than "),
                           9.702, 1e-9);
        free(text);
        free(line);
    }
    text = mtlm_sprintf(FOUR "--synthetic %s --slow-rank 4:0.5", times_file);
    refuses_plan(text, "--slow-rank 4:0.5: this job has the ranks 0 to 3");
    free(text);
    refuses_plan(FOUR "--jitter 0,rank=4:1.5",
                 "--jitter rank=4:1.5: this job has the ranks 0 to 3");
}

/* A plan counts by the file, whatever the tasks of a synthetic run take. */
static void test_a_file_comes_before_the_cluster(void **state)
{
    char cluster[] = "/tmp/mtlm-test.XXXXXX";
    FILE *file = fdopen(mkstemp(cluster), "w");
    char *line = mtlm_sprintf(FOUR "--synthetic %s --slow-rank 1:0.5 "
                                   "--stage-times %s",
                              cluster, times_file);
    char *why = mtlm_sprintf("--synthetic %s: without effect on the plan, "
                             "which counts by --stage-times\n",
                             cluster);
    char *text;

    (void) state;
    assert_non_null(file);
    fputs("[stage]\nforward_ms = 50\nbackward_ms = 60\nweight_ms = 40\n", file);
    fclose(file);
    times_file_write(TIMES_SLOW);
    text = plan_of(line);
    assert_non_null(
        strstr(text, "                 F 1000 1000 1250 1000 ms\n"));
    assert_non_null(strstr(text, why));
    free(text);
    free(line);
    line = mtlm_sprintf(FOUR "--synthetic %s --slow-rank 4:0.5 "
                             "--stage-times %s",
                        cluster, times_file);
    refuses_plan(line, "--slow-rank 4:0.5: this job has the ranks 0 to 3");
    free(line);
    free(why);
    unlink(cluster);
}

/* ZB-H1 in its memory, behind slow messages: path and work allow 0.293 s. */
static void test_a_plan_has_a_bound_that_knows_memory(void **state)
{
    char *line = mtlm_sprintf(
        "--model gpt-tiny --num-layers 8 --workers 1 --micro-batch-size 1 "
        "--global-batch-size 8 --pipeline-model-parallel-size 4 --dry-run "
        "--schedule zb-h1 --stage-times %s --bound lp",
        times_file);
    char *text;

    (void) state;
    if (!mtlm_lp_available())
        skip();
    times_file_write("[stage 0-3]\nforward_ms = 10\nbackward_ms = 13\n"
                     "weight_ms = 8\n[hop]\nlatency_us = 5000\n");
    text = plan_of(line);
    assert_float_equal(number_after(text, "; no schedule takes less than "),
                       .293, 1e-9);
    assert_float_equal(
        number_after(text, "in this memory no schedule takes less than "), .349,
        .001);
    assert_non_null(strstr(text, "of rank 0: this one is 2."));
    free(text);
    free(line);
}

/* F, B and W of a second each, m 8: 33 s with B and W as one.  ZB-H1 takes less
 * in the same memory. */
static void test_bounds_of_fused_schedules_say_so(void **state)
{
#define EQUAL                                                                  \
    "--model gpt-tiny --num-layers 8 --workers 1 --micro-batch-size 1 "        \
    "--global-batch-size 8 --pipeline-model-parallel-size 4 --dry-run "
    static const char as_one[] = "; no schedule with B and W as one takes less "
                                 "than ",
                      apart[] = "; no schedule takes less than ";
    char *fused =
        mtlm_sprintf(EQUAL "--schedule 1f1b --stage-times %s", times_file);
    char *split =
        mtlm_sprintf(EQUAL "--schedule zb-h1 --stage-times %s", times_file);
    char *text;

    (void) state;
    times_file_write("[stage 0-3]\nforward_ms = 1000\nbackward_ms = 1000\n"
                     "weight_ms = 1000\n");
    text = plan_of(fused);
    assert_float_equal(number_after(text, as_one), 33, 1e-6);
    assert_null(strstr(text, apart));
    free(text);
    text = plan_of(split);
    assert_true(number_after(text, "\nschedule         zb-h1: ") < 33);
    assert_true(number_after(text, apart) < 33);
    assert_null(strstr(text, as_one));
    free(text);
    free(fused);
    free(split);
    fused = mtlm_sprintf(EQUAL "--schedule 1f1b --stage-times %s --workers 2",
                         times_file);
    text = plan_of(fused);
    assert_non_null(strstr(text, "; no schedule of whole passes with B and W "
                                 "as one takes less than "));
    free(text);
    free(fused);
}

static void test_bounds_that_nobody_can_prove_are_refused(void **state)
{
    char *timed =
        mtlm_sprintf(FOUR "--schedule zb-h1 --stage-times %s ", times_file);
    char *lanes = mtlm_sprintf("%s--bound lp --workers 2", timed);
    char *nothing = mtlm_sprintf(
        FOUR "--schedule gpipe --stage-times %s --bound lp --bound-out x",
        times_file);

    (void) state;
    times_file_write(TIMES_SLOW);
    refuses(FOUR "--bound foo", "--bound is 'foo', it must be one of path/lp");
    refuses(FOUR "--bound-out x", "--bound-out writes the proof of --bound lp");
    refuses(FOUR "--bound lp",
            "--bound lp needs the times of F, B and W: --stage-times, "
            "--durations or --synthetic");
    refuses("--model gpt-tiny --bound lp",
            "--bound lp bounds the plan of --dry-run");
    if (mtlm_lp_available()) {
        refuses_plan(lanes, "--bound lp is for one worker on each rank, and "
                            "there are 2: give --workers 1");
        refuses_plan(nothing, "--bound-out has nothing to prove: no linear "
                              "program raises the bound of path and work");
    } else {
        refuses(lanes, "--bound lp needs GLPK, which this build lacks: install "
                       "libglpk-dev, then configure again");
    }
    free(nothing);
    free(lanes);
    free(timed);
}

/* ---- --modes-out ---- */

enum { MODES = 4, SEEDS = 20 };

static const char *const modes[MODES] = {"strict", "hint", "windows",
                                         "emergent"};

/* Plans 1F1B on four stages; sets seconds[] from the file of --modes-out.
 * Returns what the plan prints; the caller frees the text. */
static char *plan_modes(const char *more, int seeds,
                        double seconds[MODES][SEEDS])
{
    char path[] = "/tmp/mtlm-test.XXXXXX", name[16];
    FILE *file = fdopen(mkstemp(path), "r");
    char *line = mtlm_sprintf(FOUR "--schedule 1f1b --schedule-mode strict "
                                   "--stage-times %s --modes-out %s %s",
                              times_file, path, more);
    char *text = plan_of(line);
    int seed, iteration;

    file = freopen(path, "r", file); /* the plan replaced the file */
    assert_non_null(file);
    assert_int_equal(fscanf(file, "mode,seed,iteration,seconds\n"), 0);
    for (int m = 0; m < MODES; m++)
        for (int i = 0; i < seeds; i++) {
            assert_int_equal(fscanf(file, "%15[^,],%d,%d,%lf\n", name, &seed,
                                    &iteration, &seconds[m][i]),
                             4);
            assert_string_equal(name, modes[m]);
            assert_int_equal(seed, 7 + i);
            assert_int_equal(iteration, 0);
        }
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    unlink(path);
    free(line);
    return text;
}

/* (m + p - 1) (F + B + W), in every mode. */
static void test_modes_without_noise(void **state)
{
    double seconds[MODES][SEEDS];

    (void) state;
    times_file_write("[stage 0-3]\nforward_ms = 1000\nbackward_ms = 1200\n"
                     "weight_ms = 900\n");
    free(plan_modes("--seed 7", 1, seconds));
    for (int m = 0; m < MODES; m++)
        assert_float_equal(seconds[m][0], 19 * 3.1, 1e-6);
}

/* The line of the plan has the means of the file. */
static void test_modes_under_noise(void **state)
{
    double seconds[MODES][SEEDS], mean = 0, beside = 0;
    char *text;

    (void) state;
    times_file_write(TIMES_SLOW);
    text = plan_modes("--seed 7 --jitter 0.2", SEEDS, seconds);
    for (int i = 0; i < SEEDS; i++) {
        mean += seconds[0][i] / SEEDS;
        beside += 100 * (seconds[2][i] / seconds[0][i] - 1) / SEEDS;
    }
    assert_true(seconds[0][0] != seconds[0][1]);
    assert_float_equal(number_after(text, "seeds 7 to 26: strict "), mean,
                       1e-3);
    assert_float_equal(number_after(strstr(text, "beside it"), "windows "),
                       beside, 0.0051);
    free(text);
}

static void test_modes_need_times_and_a_plan(void **state)
{
    (void) state;
    refuses(FOUR "--modes-out x",
            "--modes-out needs the times of F, B and W: --stage-times, "
            "--durations or --synthetic");
    refuses("--model gpt-tiny --modes-out x",
            "--modes-out writes the plan of a training: give --dry-run without "
            "--eval-only");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_sources_of_times_are_refused),
        cmocka_unit_test(test_times_of_other_stages_are_refused),
        cmocka_unit_test(test_a_plan_counts_in_seconds),
        cmocka_unit_test(test_given_stages_leave_the_placement_open),
        cmocka_unit_test(test_the_plan_of_an_order_counts_in_seconds),
        cmocka_unit_test(test_a_plan_counts_by_the_cluster),
        cmocka_unit_test(test_a_file_comes_before_the_cluster),
        cmocka_unit_test(test_a_plan_has_a_bound_that_knows_memory),
        cmocka_unit_test(test_bounds_of_fused_schedules_say_so),
        cmocka_unit_test(test_bounds_that_nobody_can_prove_are_refused),
        cmocka_unit_test(test_modes_without_noise),
        cmocka_unit_test(test_modes_under_noise),
        cmocka_unit_test(test_modes_need_times_and_a_plan),
    };

    return cmocka_run_group_tests(tests, times_file_setup, times_file_teardown);
}
