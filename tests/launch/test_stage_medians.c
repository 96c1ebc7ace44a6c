/* --replan-after: which iterations of a running job are recorded, and medians
 * of the records. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/op_list.h"
#include "launch/job/job_replan.h"
#include "launch/trace/stage_medians.h"
#include "tests/launch/parse.h"

/* Runs that begin behind iteration 10: the first one warms up, and of many the
 * last eight are recorded. */
static void test_few_iterations_are_recorded(void **state)
{
    static const struct {
        int64_t after, first, n;
    } rows[] = {{0, 10, 0}, {1, 10, 1}, {2, 11, 1},  {3, 11, 2},
                {8, 11, 7}, {9, 11, 8}, {10, 12, 8}, {1000, 1002, 8}};

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mtlm_job job = {.replan_after = rows[i].after};
        int64_t n = 0;

        job.begin.iteration = 10;
        for (int64_t k = 0; k < 2000; k++)
            n += mtlm_job_replan_measures(&job, k);
        assert_int_equal(mtlm_job_replan_first(&job), rows[i].first);
        assert_int_equal(n, rows[i].n);
    }
}

static struct mtlm_record node(int rank, int stage, int phase, int microbatch,
                               int64_t start, int64_t ns)
{
    return (struct mtlm_record){.rank = rank,
                                .lane = MTLM_LANE_COMPUTE,
                                .phase = phase,
                                .op = MTLM_OP_LINEAR_FWD,
                                .microbatch = microbatch,
                                .stage = stage,
                                .layer = -1,
                                .peer = -1,
                                .group = -1,
                                .group_root = -1,
                                .match = -1,
                                .start_ns = start,
                                .end_ns = start + ns};
}

/* Adds a send of stage 0 at `sent`, and a receive of stage 1 at `posted`, that
 * end at `end`. */
static void add_message(struct mtlm_record *record, size_t *n, int microbatch,
                        int64_t sent, int64_t posted, int64_t end)
{
    for (int k = 0; k < 2; k++) {
        struct mtlm_record r =
            node(k, k, MTLM_PHASE_FORWARD, microbatch, k ? posted : sent, 0);

        r.op = k ? MTLM_OP_RECV : MTLM_OP_SEND;
        r.lane = MTLM_LANE_PP;
        r.worker = -1;
        r.peer = 1 - k;
        r.match = microbatch;
        r.end_ns = end;
        record[(*n)++] = r;
    }
}

/* Two stages, two iterations of three microbatches.  F of stage 0 takes 3, 4, 5
 * and 13, 14, 15 us, in two nodes: the fourth of six is the median.  B and W
 * take the double and the triple.  Stage 1 takes 1 us more, outside of layers.
 */
static void test_medians_of_records(void **state)
{
    static const struct mtlm_trace_info two = {.ranks = 2};
    struct mtlm_record record[128];
    struct mtlm_trace_records *records;
    struct mtlm_stage_times times;
    size_t n = 0;

    (void) state;
    for (int k = 0; k < 2; k++)
        for (int e = 0; e < 2; e++)
            for (int i = 0; i < 3; i++)
                for (int phase = 0; phase < 3; phase++) {
                    const int64_t f = 1000 * (3 + i + 10 * e);

                    record[n] = node(k, k, MTLM_PHASE_FORWARD + phase, i, 0,
                                     f * (phase + 1));
                    record[n].layer = k;
                    record[n++].iteration = e;
                    record[n] = node(k, k, MTLM_PHASE_FORWARD + phase, i, 20000,
                                     1000 * k);
                    record[n++].iteration = e;
                }
    /* Both ends are there after 3, 5 and 7 us. */
    add_message(record, &n, 0, 2000, 1000, 5000);
    add_message(record, &n, 1, 2000, 3000, 8000);
    add_message(record, &n, 2, 1000, 500, 8000);
    for (size_t i = 0; i < n; i++)
        record[i].job = i;
    records = mtlm_trace_records_create(record, n, &two);
    times = mtlm_trace_stage_medians(records, 2);
    assert_int_equal(mtlm_trace_stage_medians_check(&times, &error), 0);
    for (int k = 0; k < 2; k++) {
        assert_float_equal(times.forward[k], (13 + k) * 1e-6, 1e-15);
        assert_float_equal(times.backward[k], (26 + k) * 1e-6, 1e-15);
        assert_float_equal(times.weight[k], (39 + k) * 1e-6, 1e-15);
    }
    assert_float_equal(times.hop, 5e-6, 1e-15);
    mtlm_stage_times_free(&times);
    times = mtlm_trace_layer_medians(records, 2);
    for (int k = 0; k < 2; k++) {
        assert_float_equal(times.forward[k], 13e-6, 1e-15);
        assert_float_equal(times.weight[k], 39e-6, 1e-15);
    }
    assert_float_equal(times.hop, 0, 0);
    mtlm_stage_times_free(&times);
    times = mtlm_trace_stage_medians(records, 3);
    assert_int_equal(mtlm_trace_stage_medians_check(&times, &error), -1);
    assert_string_equal(error.text, "F of stage 2 takes 0 s in all recorded "
                                    "iterations; the last stage is 2");
    mtlm_stage_times_free(&times);
    mtlm_trace_records_destroy(records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_iterations_are_recorded),
        cmocka_unit_test(test_medians_of_records),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
