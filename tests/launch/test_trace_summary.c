/* The summary of schedules whose numbers are known. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codelets/op_list.h"
#include "launch/trace/summarize.h"
#include "pipeline.h"
#include "trace_node.h"

#define CLOSE 1e-9
static void assert_1f1b(int p, int m, int64_t makespan)
{
    struct mtlm_trace_summary *s = pipeline_summary(p, m, 1, true);
    const double bubble = (p - 1.) / (m + p - 1);

    assert_int_equal(s->makespan_ns, makespan * PIPELINE_UNIT_NS);
    assert_float_equal(s->bubble, bubble, CLOSE);
    assert_float_equal(s->ideal_1f1b, bubble, CLOSE);
    assert_float_equal(s->bubble_of_ideal, (p - 1.) / m, CLOSE);
    /* Stage 0 works from the first moment to the last. */
    assert_int_equal(s->span_ns, makespan * PIPELINE_UNIT_NS);
    assert_float_equal(s->span_bubble, bubble, CLOSE);
    assert_int_equal(s->iteration[0].span_rank, 0);
    mtlm_trace_summary_destroy(s);
}

static void test_bubble_of_1f1b_is_that_of_the_formula(void **state)
{
    (void) state;
    assert_1f1b(2, 8, 27);
    assert_1f1b(4, 8, 33);
    assert_1f1b(4, 16, 57);
    assert_1f1b(8, 16, 69);
    assert_1f1b(1, 4, 12);
}

static void test_bubble_of_zb_h1_is_that_of_the_formula(void **state)
{
    struct mtlm_trace_summary *s = pipeline_summary(4, 8, 1, false);

    (void) state;
    assert_int_equal(s->makespan_ns, 27 * PIPELINE_UNIT_NS);
    assert_float_equal(s->bubble, 3 / 27., CLOSE);
    assert_float_equal(s->ideal_1f1b, 3 / 11., CLOSE);
    mtlm_trace_summary_destroy(s);
}

/* Published makespans of equal stages, two on each rank: 28.5, 52.5 and 58.5
 * times of a stage's forward pass (arXiv 2104.04473, interleaved). */
static void test_interleaved_stages_are_compared_with_their_bubble(void **state)
{
    static const struct {
        int p, m;
        double makespan;
    } cases[] = {{4, 8, 28.5}, {4, 16, 52.5}, {8, 16, 58.5}};

    (void) state;
    for (int i = 0; i < 3; i++) {
        const struct mtlm_trace_info info = {.ranks = cases[i].p,
                                             .stages = cases[i].p,
                                             .virtual_stages = 2,
                                             .microbatches = cases[i].m};
        const struct mtlm_record none = {.phase = MTLM_PHASE_INIT};
        struct mtlm_trace_summary *s = mtlm_trace_summarize(&none, 1, &info);

        assert_float_equal(s->ideal_1f1b,
                           1 - 3 * cases[i].m / cases[i].makespan, CLOSE);
        mtlm_trace_summary_destroy(s);
    }
}

static void test_windows_lie_between_optimizer_steps(void **state)
{
    struct mtlm_trace_summary *s = pipeline_summary(4, 8, 3, true);

    (void) state;
    assert_int_equal(s->first_iteration, 0);
    assert_int_equal(s->last_iteration, 2);
    assert_int_equal(s->windows, 2);
    /* All-reduce and step last a PIPELINE_UNIT_NS each; the step is work. */
    assert_int_equal(s->makespan_ns, 35 * PIPELINE_UNIT_NS);
    assert_float_equal(s->bubble, 1 - 25 / 35., CLOSE);
    assert_int_equal(s->n_iterations, 3);
    assert_false(s->iteration[0].counts);
    assert_true(s->iteration[1].counts);
    assert_int_equal(s->iteration[1].begin_ns, 35 * PIPELINE_UNIT_NS);
    assert_int_equal(s->iteration[1].end_ns, 70 * PIPELINE_UNIT_NS);
    assert_float_equal(s->iteration[1].bubble, 1 - 25 / 35., CLOSE);
    /* The stage span knows nothing of the optimizer. */
    assert_int_equal(s->span_ns, 33 * PIPELINE_UNIT_NS);
    mtlm_trace_summary_destroy(s);
}

static void test_overlap_is_a_share_of_communication(void **state)
{
    const struct mtlm_record record[] = {
        timed_node(0, MTLM_OP_LINEAR_FWD, 0, 0, 100),
        timed_node(-1, MTLM_OP_ALL_REDUCE, 0, 60, 120),
        timed_node(-1, MTLM_OP_SEND, 0, 80, 160),
        timed_node(0, MTLM_OP_LINEAR_FWD, 160, 180, 200),
    };
    struct mtlm_trace_summary *s =
        mtlm_trace_summarize(record, 4, &timed_one_rank);

    (void) state;
    assert_int_equal(s->comm_ns, 100); /* 60 .. 160 */
    assert_int_equal(s->overlap_ns, 40);
    assert_float_equal(s->overlap, 0.4, CLOSE);
    mtlm_trace_summary_destroy(s);
    s = mtlm_trace_summarize(record, 1, &timed_one_rank);
    assert_true(s->overlap < 0);
    mtlm_trace_summary_destroy(s);
}

static void test_a_receive_counts_from_its_send(void **state)
{
    struct mtlm_record record[] = {
        timed_node(0, MTLM_OP_LINEAR_FWD, 0, 0, 100),
        timed_node(-1, MTLM_OP_SEND, 100, 100, 130),
        timed_node(0, MTLM_OP_LINEAR_FWD, 0, 0, 110),
        timed_node(-1, MTLM_OP_RECV, 0, 0, 130),
    };
    const struct mtlm_trace_info info = {
        .ranks = 2, .stages = 2, .microbatches = 1};
    struct mtlm_trace_summary *s;

    (void) state;
    record[1].peer = 1;
    record[2].rank = record[3].rank = 1;
    record[3].peer = 0;
    s = mtlm_trace_summarize(record, 4, &info);
    assert_int_equal(s->rank[1].comm_ns, 30);
    assert_int_equal(s->rank[1].overlap_ns, 10);
    mtlm_trace_summary_destroy(s);
}

static void test_only_workers_for_compute_nodes_count(void **state)
{
    const struct mtlm_record record[] = {
        timed_node(0, MTLM_OP_LINEAR_FWD, 0, 0, 100),
        timed_node(1, MTLM_OP_BATCH, 0, 0, 50),
    };
    const struct mtlm_trace_worker worker[] = {
        {0, 0, "CUDA 0", true}, {0, 1, "CPU 0", false}, {0, 2, "CUDA 1", true}};
    struct mtlm_trace_info info = timed_one_rank;
    struct mtlm_trace_summary *s;

    (void) state;
    s = mtlm_trace_summarize(record, 2, &info);
    assert_int_equal(s->rank[0].workers, 1);
    assert_float_equal(s->bubble, 0, CLOSE);
    mtlm_trace_summary_destroy(s);
    /* One that could have worked, and did not. */
    info.worker = worker;
    info.n_workers = 3;
    s = mtlm_trace_summarize(record, 2, &info);
    assert_int_equal(s->rank[0].workers, 2);
    assert_float_equal(s->bubble, 0.5, CLOSE);
    assert_int_equal(s->wait[0].cause, MTLM_CAUSE_END);
    assert_int_equal(s->wait[0].ns, 100);
    mtlm_trace_summary_destroy(s);
}

static void test_inputs_made_early_are_no_bubble(void **state)
{
    const struct mtlm_record record[] = {
        timed_node(0, MTLM_OP_BATCH, 0, 0, 10),
        timed_node(0, MTLM_OP_FILL, 0, 10, 20),
        timed_node(0, MTLM_OP_LINEAR_FWD, 0, 60, 100),
    };
    struct mtlm_trace_summary *s =
        mtlm_trace_summarize(record, 3, &timed_one_rank);

    (void) state;
    assert_int_equal(s->origin_ns, 60);
    assert_int_equal(s->makespan_ns, 40);
    assert_float_equal(s->bubble, 0, CLOSE);
    assert_int_equal(s->span_ns, 40);
    mtlm_trace_summary_destroy(s);
}

static void test_a_window_with_validation_does_not_count(void **state)
{
    struct mtlm_record record[7];
    struct mtlm_trace_summary *s;

    (void) state;
    for (int e = 0; e < 3; e++) {
        const int t = 100 * e;

        record[2 * e] = timed_node(0, MTLM_OP_LINEAR_FWD, t, t, t + 50);
        record[2 * e + 1] = timed_node(0, MTLM_OP_ADAM, t, t + 50, t + 60);
        record[2 * e + 1].phase = MTLM_PHASE_OPTIMIZER;
        record[2 * e].iteration = record[2 * e + 1].iteration = e;
    }
    record[6] = timed_node(0, MTLM_OP_LINEAR_FWD, 60, 60, 100);
    record[6].phase = MTLM_PHASE_EVAL;
    s = mtlm_trace_summarize(record, 7, &timed_one_rank);
    assert_int_equal(s->windows, 1);
    assert_int_equal(s->makespan_ns, 100);
    assert_float_equal(s->bubble, 0.4, CLOSE);
    assert_false(s->iteration[1].counts);
    assert_true(s->iteration[2].counts);
    mtlm_trace_summary_destroy(s);
}

static void test_where_no_window_counts_the_last_iteration_does(void **state)
{
    struct mtlm_record record[5];
    struct mtlm_trace_summary *s;

    (void) state;
    for (int e = 0; e < 2; e++) {
        const int t = 100 * e;

        record[2 * e] = timed_node(0, MTLM_OP_LINEAR_FWD, t, t, t + 30);
        record[2 * e + 1] = timed_node(0, MTLM_OP_ADAM, t, t + 45, t + 60);
        record[2 * e + 1].phase = MTLM_PHASE_OPTIMIZER;
        record[2 * e].iteration = record[2 * e + 1].iteration = e;
    }
    record[4] = timed_node(0, MTLM_OP_LINEAR_FWD, 60, 60, 100);
    record[4].phase = MTLM_PHASE_EVAL;
    s = mtlm_trace_summarize(record, 5, &timed_one_rank);
    assert_int_equal(s->windows, 0);
    assert_int_equal(s->makespan_ns, 60);
    assert_float_equal(s->bubble, 0.25, CLOSE);
    mtlm_trace_summary_destroy(s);
}

/* An F of the next iteration starts before each step; behind the last one there
 * is none, so its window has an end that the next iteration would fill. */
static void test_of_overlapping_iterations_the_last_one_does_not_count(
    void **state)
{
    struct mtlm_trace_info info = timed_one_rank;
    struct mtlm_record record[6];

    for (int e = 0; e < 3; e++) {
        const int t = 100 * e;

        record[2 * e] = timed_node(0, MTLM_OP_LINEAR_FWD, t, t - 50, t + 50);
        record[2 * e + 1] = timed_node(0, MTLM_OP_ADAM, t, t + 90, t + 100);
        record[2 * e + 1].phase = MTLM_PHASE_OPTIMIZER;
        record[2 * e].iteration = record[2 * e + 1].iteration = e;
    }
    (void) state;
    for (int overlapping = 0; overlapping < 2; overlapping++) {
        struct mtlm_trace_summary *s;

        info.overlapping = overlapping;
        s = mtlm_trace_summarize(record, 6, &info);
        assert_int_equal(s->windows, 2 - overlapping);
        assert_true(s->iteration[1].counts);
        assert_int_equal(s->iteration[2].counts, !overlapping);
        /* A span holds passes of several iterations then. */
        assert_int_equal(s->span_ns, overlapping ? 0 : 100);
        mtlm_trace_summary_destroy(s);
    }
}

enum { LENGTH = 100, ITERATIONS = 10, MOMENTS = LENGTH * ITERATIONS };

/* Returns a node of an iteration of LENGTH ns: on a worker or in a lane, of
 * 1 to 250 ns, so that some nodes reach into three windows. */
static struct mtlm_record random_node(uint32_t *random)
{
    int worker, start, length;
    struct mtlm_record node;

    *random = 1664525 * *random + 1013904223;
    worker = (int) (*random >> 28) % 3 - 1;
    start = (*random >> 16) % MOMENTS;
    *random = 1664525 * *random + 1013904223;
    length = 1 + (*random >> 16) % (*random >> 31 ? 250 : 10);
    node = timed_node(worker, worker < 0 ? MTLM_OP_SEND : MTLM_OP_LINEAR_FWD,
                      start, start, start + length);
    node.iteration = start / LENGTH;
    return node;
}

/* Compares with a flag for each moment of iteration e, on two workers. */
static void assert_usage(const struct mtlm_trace_iteration *e,
                         const struct mtlm_record *record, size_t n)
{
    const int begin = LENGTH * e->iteration;
    int busy = 0, comm = 0, overlap = 0;

    for (int t = begin; t < begin + LENGTH; t++) {
        int under_way[2] = {0, 0}; /* messages, nodes on workers */

        for (size_t i = 0; i < n; i++)
            under_way[record[i].worker >= 0] +=
                record[i].start_ns <= t && t < record[i].end_ns;
        busy += under_way[1];
        comm += under_way[0] > 0;
        overlap += under_way[0] > 0 && under_way[1] > 0;
    }
    assert_true(e->counts);
    assert_float_equal(e->bubble, 1 - busy / (2. * LENGTH), CLOSE);
    assert_float_equal(e->overlap, comm ? (double) overlap / comm : -1, CLOSE);
}

static void test_each_iteration_has_the_usage_of_its_window(void **state)
{
    enum { NODES = 60 };
    struct mtlm_record record[ITERATIONS + NODES];
    uint32_t random = 1;

    (void) state;
    for (int e = 0; e < ITERATIONS; e++) {
        const int t = LENGTH * e;

        record[e] = timed_node(e % 2, MTLM_OP_ADAM, t, t + 90, t + LENGTH);
        record[e].phase = MTLM_PHASE_OPTIMIZER;
        record[e].iteration = e;
    }
    for (int round = 0; round < 20; round++) {
        struct mtlm_trace_summary *s;

        for (int i = 0; i < NODES; i++)
            record[ITERATIONS + i] = random_node(&random);
        s = mtlm_trace_summarize(record, ITERATIONS + NODES, &timed_one_rank);
        assert_int_equal(s->n_iterations, ITERATIONS);
        assert_int_equal(s->windows, ITERATIONS - 1);
        for (int e = 1; e < ITERATIONS; e++)
            assert_usage(&s->iteration[e], record, ITERATIONS + NODES);
        mtlm_trace_summary_destroy(s);
    }
}

static void test_classes_have_the_time_inside_the_windows(void **state)
{
    struct mtlm_trace_summary *s = pipeline_summary(4, 8, 3, true);

    (void) state;
    for (int class = MTLM_TRACE_F; class <= MTLM_TRACE_W; class ++) {
        assert_int_equal(s->class[class].ns, 2 * 4 * 8 * PIPELINE_UNIT_NS);
        assert_int_equal(s->class[class].count, 2 * 4 * 8 * 4);
        assert_float_equal(s->class[class].flops, 2 * 4 * 8 * 4 * 1e6, 1);
    }
    assert_int_equal(s->class[MTLM_TRACE_OPT].ns, 2 * 4 * PIPELINE_UNIT_NS);
    assert_int_equal(s->class[MTLM_TRACE_DP].ns, 2 * 4 * PIPELINE_UNIT_NS);
    assert_int_equal(s->class[MTLM_TRACE_INIT].count, 0);
    mtlm_trace_summary_destroy(s);
}

static void test_operations_have_count_mean_median_and_speed(void **state)
{
    struct mtlm_record record[] = {
        timed_node(0, MTLM_OP_LINEAR_FWD, 0, 0, 100),
        timed_node(0, MTLM_OP_LINEAR_FWD, 0, 100, 110),
        timed_node(0, MTLM_OP_LINEAR_FWD, 0, 110, 130),
        timed_node(0, MTLM_OP_ADAM, 0, 130, 135),
    };
    struct mtlm_trace_summary *s;

    (void) state;
    for (int i = 0; i < 3; i++)
        record[i].flops = 1300;
    s = mtlm_trace_summarize(record, 4, &timed_one_rank);
    assert_int_equal(s->n_ops, 2);
    assert_int_equal(s->op[0].op, MTLM_OP_LINEAR_FWD);
    assert_int_equal(s->op[0].count, 3);
    assert_int_equal(s->op[0].total_ns, 130);
    assert_float_equal(s->op[0].mean_ns, 130 / 3., CLOSE);
    assert_int_equal(s->op[0].p50_ns, 20);
    assert_float_equal(s->op[0].gflops, 30, CLOSE);
    assert_int_equal(s->op[1].op, MTLM_OP_ADAM);
    assert_int_equal(s->op[1].p50_ns, 5);
    mtlm_trace_summary_destroy(s);
}

static void test_the_order_of_records_does_not_matter(void **state)
{
    const struct pipeline pipeline = {.stages = 3,
                                      .microbatches = 6,
                                      .iterations = 3,
                                      .fused = false,
                                      .pieces = 2,
                                      .unit_ns = PIPELINE_UNIT_NS};
    const struct mtlm_trace_info info = {
        .ranks = 3, .stages = 3, .microbatches = 6};
    struct mtlm_trace_summary *s[2];
    size_t n;
    struct mtlm_record *record = pipeline_records(&pipeline, &n);

    (void) state;
    s[0] = mtlm_trace_summarize(record, n, &info);
    for (size_t i = 0; i < n / 2; i++) {
        const struct mtlm_record r = record[i];

        record[i] = record[n - 1 - i];
        record[n - 1 - i] = r;
    }
    s[1] = mtlm_trace_summarize(record, n, &info);
    assert_int_equal(s[0]->makespan_ns, s[1]->makespan_ns);
    assert_memory_equal(s[0]->rank, s[1]->rank, 3 * sizeof(*s[0]->rank));
    assert_int_equal(s[0]->n_waits, s[1]->n_waits);
    for (int i = 0; i < 2; i++)
        mtlm_trace_summary_destroy(s[i]);
    free(record);
}

static void test_nothing_recorded_is_no_crash(void **state)
{
    struct mtlm_trace_summary *s =
        mtlm_trace_summarize(NULL, 0, &timed_one_rank);
    const struct mtlm_record fill = {.op = MTLM_OP_FILL,
                                     .phase = MTLM_PHASE_INIT};

    (void) state;
    assert_int_equal(s->last_iteration, -1);
    assert_int_equal(s->makespan_ns, 0);
    mtlm_trace_summary_destroy(s);
    s = mtlm_trace_summarize(&fill, 1, &timed_one_rank);
    assert_int_equal(s->last_iteration, -1);
    mtlm_trace_summary_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bubble_of_1f1b_is_that_of_the_formula),
        cmocka_unit_test(test_bubble_of_zb_h1_is_that_of_the_formula),
        cmocka_unit_test(
            test_interleaved_stages_are_compared_with_their_bubble),
        cmocka_unit_test(test_windows_lie_between_optimizer_steps),
        cmocka_unit_test(test_overlap_is_a_share_of_communication),
        cmocka_unit_test(test_a_receive_counts_from_its_send),
        cmocka_unit_test(test_only_workers_for_compute_nodes_count),
        cmocka_unit_test(test_inputs_made_early_are_no_bubble),
        cmocka_unit_test(test_a_window_with_validation_does_not_count),
        cmocka_unit_test(test_where_no_window_counts_the_last_iteration_does),
        cmocka_unit_test(
            test_of_overlapping_iterations_the_last_one_does_not_count),
        cmocka_unit_test(test_each_iteration_has_the_usage_of_its_window),
        cmocka_unit_test(test_classes_have_the_time_inside_the_windows),
        cmocka_unit_test(test_operations_have_count_mean_median_and_speed),
        cmocka_unit_test(test_the_order_of_records_does_not_matter),
        cmocka_unit_test(test_nothing_recorded_is_no_crash),
    };

    return cmocka_run_group_tests_name("trace_summary", tests, NULL, NULL);
}
