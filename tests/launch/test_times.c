/* Times of stages: files and traces, and what is refused. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/op_list.h"
#include "launch/options/stage_times_file.h"
#include "launch/trace/read/read_times.h"
#include "runtime/base/memory.h"
#include "tests/launch/parse.h"
#include "tests/launch/times_file.h"
#include "trace_dir.h"

/* ---- files ---- */

static void test_a_file_says_the_times(void **state)
{
    struct mtlm_stage_times times;

    (void) state;
    times_file_write(TIMES_SLOW "[hop]\nlatency_us = 50\n");
    assert_int_equal(mtlm_stage_times_file_read(&times, times_file, &error), 0);
    assert_int_equal(times.stages, 4);
    assert_float_equal(times.forward[2], 1.25, 1e-12);
    assert_float_equal(times.backward[1], 1.2, 1e-12);
    assert_float_equal(times.weight[3], 0.9, 1e-12);
    assert_float_equal(times.hop, 50e-6, 1e-15);
    mtlm_stage_times_free(&times);
    times_file_write(TIMES_SLOW);
    assert_int_equal(mtlm_stage_times_file_read(&times, times_file, &error), 0);
    assert_true(times.hop == 0);
    mtlm_stage_times_free(&times);
}

static void refuses_file(const char *text, const char *sentence)
{
    struct mtlm_stage_times times;
    char *all = mtlm_sprintf("%s:%s", times_file, sentence);

    times_file_write(text);
    assert_int_equal(mtlm_stage_times_file_read(&times, times_file, &error),
                     -1);
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
    refuses_file(TIMES_SLOW "[hop]\nlatency_us = -1\n",
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
    refuses_file(TIMES_SLOW "[stage 2]\nforward_ms = 1\n",
                 "14: stage 2: forward_ms is given already in line 6");
    refuses_file(TIMES_SLOW "[hop]\nlatency_us = 1\nlatency_us = 1\n",
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_says_the_times),
        cmocka_unit_test(test_wrong_files_are_refused),
        DIR_TEST(test_a_trace_says_the_times),
        DIR_TEST(test_medians_and_the_slowest_replica_count),
        DIR_TEST(test_a_hop_counts_from_when_both_have_met),
        DIR_TEST(test_a_trace_without_a_pass_is_refused),
    };

    return cmocka_run_group_tests(tests, times_file_setup, times_file_teardown);
}
