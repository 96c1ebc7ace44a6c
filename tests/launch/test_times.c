/* Times of stages on the command line: files, traces and clusters, what is
 * refused, and what a plan says of them. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "codelets/op.h"
#include "launch/options/stage_times_file.h"
#include "launch/plan/dry_run.h"
#include "launch/trace/read/read_times.h"
#include "runtime/base/memory.h"
#include "tests/launch/parse.h"
#include "trace_dir.h"

#define FOUR                                                                   \
    "--model gpt-tiny --num-layers 8 --workers 1 --micro-batch-size 1 "        \
    "--global-batch-size 16 --pipeline-model-parallel-size 4 --dry-run "

/* Stage 2 has 0.8 of the others' speed. */
#define SLOW                                                                   \
    "[stage 0-1]\nforward_ms = 1000\nbackward_ms = 1200\nweight_ms = 900\n"    \
    "[stage 2]\nforward_ms = 1250\nbackward_ms = 1500\nweight_ms = 1125\n"     \
    "[stage 3]\nforward_ms = 1000\nbackward_ms = 1200\nweight_ms = 900\n"

static char name[] = "/tmp/mtlm-test.XXXXXX";

static void write_file(const char *text)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* ---- files ---- */

static void test_a_file_says_the_times(void **state)
{
    struct mtlm_stage_times times;

    (void) state;
    write_file(SLOW "[hop]\nlatency_us = 50\n");
    assert_int_equal(mtlm_stage_times_file_read(&times, name, &error), 0);
    assert_int_equal(times.stages, 4);
    assert_float_equal(times.forward[2], 1.25, 1e-12);
    assert_float_equal(times.backward[1], 1.2, 1e-12);
    assert_float_equal(times.weight[3], 0.9, 1e-12);
    assert_float_equal(times.hop, 50e-6, 1e-15);
    mtlm_stage_times_free(&times);
    write_file(SLOW);
    assert_int_equal(mtlm_stage_times_file_read(&times, name, &error), 0);
    assert_true(times.hop == 0);
    mtlm_stage_times_free(&times);
}

static void refuses_file(const char *text, const char *sentence)
{
    struct mtlm_stage_times times;
    char *all = mtlm_sprintf("%s:%s", name, sentence);

    write_file(text);
    assert_int_equal(mtlm_stage_times_file_read(&times, name, &error), -1);
    assert_string_equal(error.text, all);
    assert_int_equal(error.code, MTLM_EXIT_USAGE);
    free(all);
}

static void test_wrong_files_are_refused(void **state)
{
    static const char *const wrong[] = {"0",   "-1",   "nan", "inf",  "1e7",
                                        "1 2", "0x0p", "",    "1e-9", "one"};

    (void) state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char *text =
            mtlm_sprintf("[stage 3]\nforward_ms = 1\nweight_ms=%s\n", wrong[i]);
        char *why = mtlm_sprintf("3: stage 3: weight_ms is '%s', it must be a "
                                 "number from 0.001 to 1e+06",
                                 wrong[i]);

        refuses_file(text, why);
        free(why);
        free(text);
    }
    refuses_file(SLOW "[hop]\nlatency_us = -1\n",
                 "14: hop: latency_us is '-1', it must be a number from 0 to "
                 "1e+09");
    refuses_file("", " names no stage; it needs a section [stage K] for each "
                     "virtual stage");
    refuses_file("[hop]\nlatency_us = 1\n",
                 " names no stage; it needs a section [stage K] for each "
                 "virtual stage");
    refuses_file("[stage 0]\nforward_ms = 1\nbackward_ms = 1\n",
                 " stage 0 lacks weight_ms; the last stage is 0");
    refuses_file("[stage 1]\nforward_ms = 1\nbackward_ms = 1\nweight_ms = 1\n",
                 " stage 0 lacks forward_ms; the last stage is 1");
    refuses_file(SLOW "[stage 2]\nforward_ms = 1\n",
                 "14: stage 2: forward_ms is given already in line 6");
    refuses_file(SLOW "[hop]\nlatency_us = 1\nlatency_us = 1\n",
                 "15: latency_us is given already in line 14");
    refuses_file("[stage 0]\nforwards_ms = 1\n",
                 "2: unknown key forwards_ms in section [stage 0]; did you "
                 "mean forward_ms?");
    refuses_file("[hop]\nlatency_ms = 1\n",
                 "2: unknown key latency_ms in section [hop]; did you mean "
                 "latency_us?");
    refuses_file("forward_ms = 1\n",
                 "1: forward_ms of section []; there are the sections [stage "
                 "K], [stage A-B] and [hop]");
    refuses_file("[stage 3-1]\nforward_ms = 1\n",
                 "2: forward_ms of section [stage 3-1]; there are the sections "
                 "[stage K], [stage A-B] and [hop]");
    refuses_file("[stage 99999]\nforward_ms = 1\n",
                 "2: forward_ms of section [stage 99999]; there are the "
                 "sections [stage K], [stage A-B] and [hop]");
}

/* ---- traces ---- */

/* Every pass takes a unit of 1 ms, in four operations; the messages have no
 * numbers. */
static void test_a_trace_says_the_times(void **state)
{
    struct mtlm_stage_times times;
    char *path = trace_dir_path("schedule.csv");

    (void) state;
    trace_dir_write_pipeline(4, 8, 3, true);
    assert_int_equal(mtlm_trace_read_times(path, &times, &error), 0);
    assert_int_equal(times.stages, 4);
    for (int i = 0; i < 12; i++)
        assert_float_equal(times.forward[i], 1e-3, 1e-9);
    assert_true(times.hop == 0);
    mtlm_stage_times_free(&times);
    assert_int_equal(mtlm_trace_read_times(trace_dir, &times, &error), 0);
    assert_int_equal(times.stages, 4);
    mtlm_stage_times_free(&times);
    free(path);
}

/* A node of a stage's pass, in ns. */
static struct mtlm_record pass_node(int rank, int phase, int microbatch,
                                    int64_t start, int64_t length)
{
    struct mtlm_record r = trace_node(MTLM_OP_LINEAR_FWD, 0, 0);

    r.rank = rank;
    r.phase = phase;
    r.microbatch = microbatch;
    r.start_ns = r.ready_ns = start;
    r.end_ns = start + length;
    return r;
}

/* Three microbatches on two replicas of one stage: the median of each, of the
 * slower replica; a collective counts from when both have met. */
static void test_medians_and_the_slowest_replica_count(void **state)
{
    static const struct mtlm_trace_info two = {
        .ranks = 2, .stages = 1, .virtual_stages = 1, .microbatches = 3};
    struct mtlm_record record[32];
    struct mtlm_stage_times times;
    size_t n = 0;

    (void) state;
    for (int rank = 0; rank < 2; rank++)
        for (int i = 0; i < 3; i++) {
            const int64_t at = 1000000 * i;
            struct mtlm_record meet;

            /* 10, 90, 30 us of F, in two operations; the replica takes 2 us
             * more. */
            record[n++] = pass_node(rank, MTLM_PHASE_FORWARD, i, at,
                                    5000 + (i == 1) * 80000 + (i == 2) * 20000);
            record[n++] = pass_node(rank, MTLM_PHASE_FORWARD, i, at + 100000,
                                    5000 + 2000 * rank);
            record[n++] =
                pass_node(rank, MTLM_PHASE_BACKWARD, i, at + 200000, 40000);
            record[n++] =
                pass_node(rank, MTLM_PHASE_WEIGHT, i, at + 300000, 20000);
            meet = pass_node(rank, MTLM_PHASE_BACKWARD, i,
                             at + 400000 + 50000 * rank, 0);
            meet.op = MTLM_OP_ALL_REDUCE;
            meet.lane = MTLM_LANE_TP;
            meet.worker = -1;
            meet.end_ns = at + 453000;
            meet.group = MTLM_GROUP_TP;
            meet.group_root = 0;
            meet.match = i;
            record[n++] = meet;
        }
    for (size_t i = 0; i < n; i++)
        record[i].job = i;
    trace_dir_write(record, n, &two);
    assert_int_equal(mtlm_trace_read_times(trace_dir, &times, &error), 0);
    assert_int_equal(times.stages, 1);
    assert_float_equal(times.forward[0], 32e-6, 1e-12);
    assert_float_equal(times.backward[0], 43e-6, 1e-12);
    assert_float_equal(times.weight[0], 20e-6, 1e-12);
    mtlm_stage_times_free(&times);
}

/* Stage 0 sends at 2 us; the receive of stage 1 waits from 1 us on and ends at
 * 7 us. */
static void test_a_hop_counts_from_when_both_have_met(void **state)
{
    static const struct mtlm_trace_info two = {
        .ranks = 2, .stages = 2, .virtual_stages = 1, .microbatches = 1};
    struct mtlm_record record[8];
    struct mtlm_stage_times times;
    size_t n = 0;

    (void) state;
    for (int k = 0; k < 2; k++) {
        struct mtlm_record message =
            pass_node(k, MTLM_PHASE_FORWARD, 0, k ? 1000 : 2000, 0);

        for (int phase = MTLM_PHASE_FORWARD; phase <= MTLM_PHASE_WEIGHT;
             phase++) {
            record[n] = pass_node(k, phase, 0, 1000 * (10 + phase), 1000);
            record[n++].stage = k;
        }
        message.op = k ? MTLM_OP_RECV : MTLM_OP_SEND;
        message.lane = MTLM_LANE_PP;
        message.worker = -1;
        message.stage = k;
        message.peer = 1 - k;
        message.match = 0;
        message.end_ns = 7000;
        record[n++] = message;
    }
    for (size_t i = 0; i < n; i++)
        record[i].job = i;
    trace_dir_write(record, n, &two);
    assert_int_equal(mtlm_trace_read_times(trace_dir, &times, &error), 0);
    assert_float_equal(times.hop, 5e-6, 1e-12);
    assert_float_equal(times.forward[1], 1e-6, 1e-12);
    mtlm_stage_times_free(&times);
}

static void test_a_trace_without_a_pass_is_refused(void **state)
{
    struct mtlm_record record[] = {
        pass_node(0, MTLM_PHASE_FORWARD, 0, 0, 1000),
        pass_node(0, MTLM_PHASE_WEIGHT, 0, 2000, 1000)};
    char *why = mtlm_sprintf("%s: B of stage 0 takes 0 s in all recorded "
                             "iterations; the last stage is 0",
                             trace_dir);
    struct mtlm_stage_times times;

    (void) state;
    record[1].job = 1;
    trace_dir_write(record, 2, &trace_one_rank);
    assert_int_equal(mtlm_trace_read_times(trace_dir, &times, &error), -1);
    assert_string_equal(error.text, why);
    free(why);
}

/* ---- the command line ---- */

static void test_two_sources_of_times_are_refused(void **state)
{
    char *line =
        mtlm_sprintf(FOUR "--stage-times %s --durations nowhere", name);

    (void) state;
    write_file(SLOW);
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
                             name);

    (void) state;
    write_file(SLOW);
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
        char *line = mtlm_sprintf(FOUR "--stage-times %s %s", name, more[i]);

        refuses_plan(line, why);
        free(line);
    }
    free(why);
}

/* The number behind a phrase. */
static double number_after(const char *text, const char *phrase)
{
    const char *at = strstr(text, phrase);

    if (!at)
        fail_msg("no \"%s\" in\n%s", phrase, text);
    return atof(at + strlen(phrase));
}

/* ZB-H1 with a slow rank: 65.2 s; 64.1 s is the work of that rank behind the F
 * of two stages.  Windows from times come to 64.1 s in ZB-H1's memory. */
static void test_a_plan_counts_in_seconds(void **state)
{
    char *line = mtlm_sprintf(FOUR "--schedule zb-h1 --stage-times %s", name);
    char *text;

    (void) state;
    write_file(SLOW "[hop]\nlatency_us = 50000\n");
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
    line = mtlm_sprintf(FOUR "--schedule auto --stage-times %s", name);
    text = plan_of(line);
    assert_float_equal(number_after(text, "\nschedule         auto: "), 64.1,
                       0.03);
    free(text);
    free(line);
}

/* ZB-H1 of equal stages: 51 s, and a message for each of three ranks.  Without
 * waits, a W of half a second starts just before a B arrives. */
static void test_a_plan_says_what_waits_gain(void **state)
{
    static const int latency_us[] = {1000, 0};
    char *line = mtlm_sprintf(FOUR "--schedule zb-h1 --stage-times %s", name);

    (void) state;
    for (int i = 0; i < 2; i++) {
        char *times =
            mtlm_sprintf("[stage 0-3]\nforward_ms = 1000\nbackward_ms = 1000\n"
                         "weight_ms = 1000\n[hop]\nlatency_us = %d\n",
                         latency_us[i]);
        char *text;

        write_file(times);
        text = plan_of(line);
        if (latency_us[i] > 0) {
            assert_true(number_after(text, "\nschedule         zb-h1: ") > 52);
            assert_float_equal(number_after(text, " above\n"), 51.003, .25);
            assert_non_null(strstr(text, "wait for messages: STARPU_SCHED="));
        } else {
            assert_null(strstr(text, "STARPU_SCHED"));
        }
        free(text);
        free(times);
    }
    free(line);
}

/* Two ranks, one microbatch: F 1, hop, F 2, B 3, hop, B 4, W 6 of rank 0. */
static void test_the_plan_of_an_order_counts_in_seconds(void **state)
{
    char csv[] = "/tmp/mtlm-test.XXXXXX";
    FILE *file = fdopen(mkstemp(csv), "w");
    char *line = mtlm_sprintf(
        "--model gpt-tiny --num-layers 2 --workers 1 --micro-batch-size 1 "
        "--global-batch-size 1 --dry-run --schedule-file %s --stage-times %s",
        csv, name);
    char *text, *phrase;

    (void) state;
    assert_non_null(file);
    fputs("0F0,0I0,0W0\n1F0,1I0,1W0\n", file);
    fclose(file);
    write_file("[stage 0]\nforward_ms = 1000\nbackward_ms = 4000\n"
               "weight_ms = 6000\n"
               "[stage 1]\nforward_ms = 2000\nbackward_ms = 3000\n"
               "weight_ms = 5000\n[hop]\nlatency_us = 500000\n");
    text = plan_of(line);
    phrase = mtlm_sprintf("\nschedule         %s: ", csv);
    assert_float_equal(number_after(text, phrase), 17, 1e-6);
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
    write_file("[stage]\nforward_ms = 50\nbackward_ms = 60\nweight_ms = 40\n"
               "[host]\nlatency_us = 1000\n");
    for (int given = 0; given < 2; given++) {
        char *line =
            mtlm_sprintf(FOUR "--synthetic %s --stretch 2 --slow-rank 1:0.5 %s",
                         name, given ? "--jitter 0.3" : "");

        text = plan_of(line);
        assert_non_null(strstr(text, "; a message takes 2 ms;\n"
                                     "                 F 100 200 100 100 ms\n"
                                     "                 B 120 240 120 120 ms\n"
                                     "                 W 80 160 80 80 ms\n"));
        assert_int_equal(strstr(text, "--jitter 0.3: without effect on the "
                                      "plan, which counts by mean times\n")
                             != NULL,
                         given);
        /* 16 x 600 ms behind an F and a message. */
        assert_float_equal(number_after(text, "no schedule takes less than "),
                           9.702, 1e-9);
        free(text);
        free(line);
    }
    text = mtlm_sprintf(FOUR "--synthetic %s --slow-rank 4:0.5", name);
    refuses_plan(text, "--slow-rank 4:0.5: this job has the ranks 0 to 3");
    free(text);
}

/* A plan counts by the file, whatever the tasks of a synthetic run take. */
static void test_a_file_comes_before_the_cluster(void **state)
{
    char cluster[] = "/tmp/mtlm-test.XXXXXX";
    FILE *file = fdopen(mkstemp(cluster), "w");
    char *line = mtlm_sprintf(FOUR "--synthetic %s --slow-rank 1:0.5 "
                                   "--stage-times %s",
                              cluster, name);
    char *why = mtlm_sprintf("--synthetic %s: without effect on the plan, "
                             "which counts by --stage-times\n",
                             cluster);
    char *text;

    (void) state;
    assert_non_null(file);
    fputs("[stage]\nforward_ms = 50\nbackward_ms = 60\nweight_ms = 40\n", file);
    fclose(file);
    write_file(SLOW);
    text = plan_of(line);
    assert_non_null(
        strstr(text, "                 F 1000 1000 1250 1000 ms\n"));
    assert_non_null(strstr(text, why));
    free(text);
    free(line);
    line = mtlm_sprintf(FOUR "--synthetic %s --slow-rank 4:0.5 "
                             "--stage-times %s",
                        cluster, name);
    refuses_plan(line, "--slow-rank 4:0.5: this job has the ranks 0 to 3");
    free(line);
    free(why);
    unlink(cluster);
}

static int setup(void **state)
{
    const int file = mkstemp(name);

    close(file);
    return file < 0 ? -1 : parse_setup(state);
}

static int teardown(void **state)
{
    unlink(name);
    return parse_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_says_the_times),
        cmocka_unit_test(test_wrong_files_are_refused),
        DIR_TEST(test_a_trace_says_the_times),
        DIR_TEST(test_medians_and_the_slowest_replica_count),
        DIR_TEST(test_a_hop_counts_from_when_both_have_met),
        DIR_TEST(test_a_trace_without_a_pass_is_refused),
        cmocka_unit_test(test_two_sources_of_times_are_refused),
        cmocka_unit_test(test_times_of_other_stages_are_refused),
        cmocka_unit_test(test_a_plan_counts_in_seconds),
        cmocka_unit_test(test_a_plan_says_what_waits_gain),
        cmocka_unit_test(test_the_plan_of_an_order_counts_in_seconds),
        cmocka_unit_test(test_a_plan_counts_by_the_cluster),
        cmocka_unit_test(test_a_file_comes_before_the_cluster),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
