/* Which operations are one box of the picture. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/op_list.h"
#include "launch/trace/spans.h"
#include "launch/trace/trace.h"
#include "trace_dir.h"

static void test_another_box_divides_one_but_host_nodes_do_not(void **state)
{
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_LINEAR_FWD, 0, 100),
        trace_node(MTLM_OP_BATCH, 100, 110),
        trace_node(MTLM_OP_LINEAR_FWD, 110, 200),
        trace_node(MTLM_OP_LINEAR_DGRAD, 200, 300),
        trace_node(MTLM_OP_LINEAR_FWD, 300, 400),
    };
    char *text;

    (void) state;
    record[3].phase = MTLM_PHASE_BACKWARD;
    trace_dir_write(record, 5, &trace_one_rank);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, ", F microbatch 0,"), 2);
    assert_int_equal(count_words(text, ", 2 operations</title>"), 1);
    assert_int_equal(count_words(text, ", host microbatch 0,"), 1);
    free(text);
}

/* B and W of a microbatch, layer by layer, as 1F1B has them: one box. */
static void test_b_and_w_by_turns_are_one_box(void **state)
{
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_LINEAR_DGRAD, 0, 100000),
        trace_node(MTLM_OP_LINEAR_WGRAD, 100000, 150000),
        trace_node(MTLM_OP_LINEAR_DGRAD, 150000, 250000),
        trace_node(MTLM_OP_LINEAR_WGRAD, 250000, 300000),
        trace_node(MTLM_OP_LINEAR_DGRAD, 300000, 400000),
        trace_node(MTLM_OP_LINEAR_WGRAD, 400000, 500000),
    };
    struct mtlm_trace_info info = trace_one_rank;
    char *text;

    (void) state;
    for (int i = 0; i < 6; i++) {
        record[i].phase = i % 2 ? MTLM_PHASE_WEIGHT : MTLM_PHASE_BACKWARD;
        record[i].microbatch = i / 4;
    }
    trace_dir_write(record, 6, &info);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, ", B and W microbatch 0, iteration 1\n"
                                       "0.000 to 0.300 ms: 0.300 ms, 4 op"),
                     1);
    /* Two are no turns. */
    assert_int_equal(count_words(text, ", B microbatch 1,"), 1);
    assert_int_equal(count_words(text, ", W microbatch 1,"), 1);
    assert_int_equal(count_words(text, "<path class=\"b0\""), 2);
    assert_int_equal(count_words(text, "<path class=\"w0\""), 2);
    free(text);
    info.svg_ops = true;
    trace_dir_write(record, 6, &info);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, "</title>"), 6);
    free(text);
}

/* The squared sums of a layer's gradients follow its W. */
static void test_the_optimizer_divides_no_box(void **state)
{
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_LINEAR_DGRAD, 0, 100000),
        trace_node(MTLM_OP_LINEAR_WGRAD, 100000, 150000),
        trace_node(MTLM_OP_ADAM, 150000, 160000),
        trace_node(MTLM_OP_LINEAR_WGRAD, 160000, 250000),
        trace_node(MTLM_OP_ADAM, 250000, 260000),
        trace_node(MTLM_OP_ADAM, 260000, 270000),
    };
    char *text;

    (void) state;
    record[0].phase = MTLM_PHASE_BACKWARD;
    record[1].phase = record[3].phase = MTLM_PHASE_WEIGHT;
    record[2].phase = record[4].phase = record[5].phase = MTLM_PHASE_OPTIMIZER;
    trace_dir_write(record, 6, &trace_one_rank);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, ", B microbatch 0,"), 1);
    assert_int_equal(count_words(text, ", W microbatch 0, iteration 1\n"
                                       "0.100 to 0.250 ms: 0.150 ms, busy "
                                       "0.140 ms, 2 operations"),
                     1);
    assert_int_equal(count_words(text, ", OPT, iteration 1\n"), 2);
    free(text);
}

static void test_waiting_inside_a_box_shows(void **state)
{
    const struct mtlm_record record[] = {
        trace_node(MTLM_OP_LINEAR_FWD, 0, 400),
        trace_node(MTLM_OP_LINEAR_FWD, 500, 1000),
    };
    char *text;

    (void) state;
    trace_dir_write(record, 2, &trace_one_rank);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, ", F microbatch 0,"), 1);
    assert_non_null(strstr(text, ": 0.001 ms, busy 0.001 ms, 2 operations"));
    assert_int_equal(count_words(text, "fill-opacity=\".3\""), 1);
    free(text);
}

static void test_a_long_wait_divides_a_box(void **state)
{
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_LINEAR_FWD, 0, 1000),
        trace_node(MTLM_OP_LINEAR_FWD, 3000, 1000000),
    };
    char *text;

    (void) state;
    trace_dir_write(record, 2, &trace_one_rank);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, ", F microbatch 0,"), 1);
    free(text);
    record[1].start_ns = 500000;
    trace_dir_write(record, 2, &trace_one_rank);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, ", F microbatch 0,"), 2);
    free(text);
}

static void test_single_operations_when_asked(void **state)
{
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_LINEAR_FWD, 0, 400000),
        trace_node(MTLM_OP_BIAS_GELU_FWD, 400000, 1000000),
    };
    struct mtlm_trace_info info = trace_one_rank;
    char *text;

    (void) state;
    record[0].layer = 7;
    record[1].layer = -1;
    trace_dir_write(record, 2, &info);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, ", 2 operations</title>"), 1);
    assert_null(strstr(text, "linear_fwd"));
    free(text);
    info.svg_ops = true;
    trace_dir_write(record, 2, &info);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, ", 1 operation</title>"), 2);
    assert_int_equal(count_words(text, ", linear_fwd, layer 7, iteration 1"),
                     1);
    assert_int_equal(count_words(text, ", bias_gelu_fwd, iteration 1"), 1);
    free(text);
}

/* Against a flag for each moment. */
static void test_spans_come_in_any_order(void **state)
{
    enum { MOMENTS = 60 };
    uint32_t random = 1;

    (void) state;
    for (int round = 0; round < 200; round++) {
        struct mtlm_trace_spans spans = {0};
        bool in[MOMENTS] = {false};
        int64_t length = 0;

        for (int k = 0; k < 12; k++) {
            int begin, end;

            random = 1664525 * random + 1013904223;
            begin = (random >> 16) % (MOMENTS - 8);
            end = begin + 1 + (random >> 8) % 7;
            mtlm_trace_spans_insert(&spans, begin, end);
            for (int t = begin; t < end; t++)
                in[t] = true;
        }
        for (int t = 0; t < MOMENTS; t++) {
            int64_t inside = 0;

            length += in[t];
            for (int end = t; end < MOMENTS; end++) {
                assert_int_equal(mtlm_trace_spans_inside(&spans, t, end),
                                 inside);
                inside += in[end];
            }
        }
        assert_int_equal(mtlm_trace_spans_length(&spans), length);
        for (size_t i = 1; i < spans.n; i++)
            assert_true(spans.span[i - 1].end_ns < spans.span[i].begin_ns);
        free(spans.span);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIR_TEST(test_another_box_divides_one_but_host_nodes_do_not),
        DIR_TEST(test_b_and_w_by_turns_are_one_box),
        DIR_TEST(test_the_optimizer_divides_no_box),
        DIR_TEST(test_waiting_inside_a_box_shows),
        DIR_TEST(test_a_long_wait_divides_a_box),
        DIR_TEST(test_single_operations_when_asked),
        cmocka_unit_test(test_spans_come_in_any_order),
    };

    return cmocka_run_group_tests_name("trace boxes", tests, NULL, NULL);
}
