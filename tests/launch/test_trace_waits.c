/* What the workers of a rank waited for, in schedules whose numbers are known.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codelets/op_list.h"
#include "launch/trace/summarize.h"
#include "pipeline.h"
#include "trace_node.h"

#define CLOSE 1e-9

static void test_waits_and_work_add_up_to_the_window(void **state)
{
    struct mtlm_trace_summary *s = pipeline_summary(4, 8, 3, true);

    (void) state;
    for (int rank = 0; rank < 4; rank++) {
        const struct mtlm_trace_rank *r = &s->rank[rank];
        int64_t ns = r->busy_ns;
        double share = 0;

        for (size_t i = 0; i < s->n_waits; i++)
            if (s->wait[i].rank == rank) {
                ns += s->wait[i].ns;
                share += s->wait[i].share;
            }
        assert_int_equal(ns, r->workers * r->window_ns);
        assert_float_equal(share, r->bubble, CLOSE);
    }
    mtlm_trace_summary_destroy(s);
}

static const struct mtlm_trace_wait *find_wait(
    const struct mtlm_trace_summary *s, int rank, enum mtlm_trace_cause cause,
    int phase)
{
    for (size_t i = 0; i < s->n_waits; i++)
        if (s->wait[i].rank == rank && s->wait[i].cause == cause
            && s->wait[i].phase == phase)
            return &s->wait[i];
    return NULL;
}

static void test_first_and_last_stage_wait_for_each_other(void **state)
{
    struct mtlm_trace_summary *s = pipeline_summary(2, 8, 1, true);
    const struct mtlm_trace_wait *wait;

    (void) state;
    /* Of 27 units: the last stage waits one for its first activations and
     * two at the end, when its neighbour is not yet done. */
    wait = find_wait(s, 1, MTLM_CAUSE_RECEIVE, MTLM_PHASE_FORWARD);
    assert_non_null(wait);
    assert_int_equal(wait->peer, 0);
    assert_int_equal(wait->ns, 1 * PIPELINE_UNIT_NS);
    assert_string_equal(wait->text,
                        "rank 1 waited 3.7 % for activations from rank 0");
    wait = find_wait(s, 1, MTLM_CAUSE_END, -1);
    assert_int_equal(wait->ns, 2 * PIPELINE_UNIT_NS);
    assert_string_equal(wait->text, "rank 1 had nothing left to do for 7.4 %");
    wait = find_wait(s, 0, MTLM_CAUSE_RECEIVE, MTLM_PHASE_BACKWARD);
    assert_int_equal(wait->ns, 3 * PIPELINE_UNIT_NS);
    assert_string_equal(wait->text,
                        "rank 0 waited 11.1 % for gradients from rank 1");
    mtlm_trace_summary_destroy(s);
}

static void test_the_optimizer_waits_for_its_all_reduce(void **state)
{
    struct mtlm_trace_summary *s = pipeline_summary(2, 8, 2, true);
    const struct mtlm_trace_wait *wait =
        find_wait(s, 0, MTLM_CAUSE_ALL_REDUCE, MTLM_PHASE_OPTIMIZER);

    (void) state;
    assert_non_null(wait);
    assert_int_equal(wait->ns, PIPELINE_UNIT_NS);
    assert_string_equal(
        wait->text,
        "rank 0 waited 3.4 % for an all-reduce before the optimizer step");
    mtlm_trace_summary_destroy(s);
}

static void test_a_ready_node_waits_for_the_runtime(void **state)
{
    const struct mtlm_record record[] = {
        timed_node(0, MTLM_OP_LINEAR_FWD, 0, 0, 100),
        timed_node(0, MTLM_OP_LINEAR_FWD, 20, 130, 200),
        /* Ready late, after nothing but the node before: a send's end is
         * none's beginning. */
        timed_node(-1, MTLM_OP_SEND, 200, 200, 203),
        timed_node(0, MTLM_OP_LINEAR_FWD, 205, 210, 300),
    };
    struct mtlm_trace_summary *s =
        mtlm_trace_summarize(record, 4, &timed_one_rank);

    (void) state;
    assert_int_equal(s->n_waits, 1);
    assert_int_equal(s->wait[0].cause, MTLM_CAUSE_RUNTIME);
    assert_int_equal(s->wait[0].ns, 40);
    mtlm_trace_summary_destroy(s);
}

static void test_a_node_waits_for_another_worker(void **state)
{
    const struct mtlm_record record[] = {
        timed_node(0, MTLM_OP_LINEAR_FWD, 0, 0, 100),
        timed_node(1, MTLM_OP_LINEAR_FWD, 0, 0, 50),
        timed_node(1, MTLM_OP_LINEAR_FWD, 100, 100, 120),
    };
    struct mtlm_trace_summary *s =
        mtlm_trace_summarize(record, 3, &timed_one_rank);

    (void) state;
    assert_int_equal(s->rank[0].workers, 2);
    assert_float_equal(s->bubble, 1 - 170 / 240., CLOSE);
    assert_int_equal(s->n_waits, 2);
    assert_int_equal(s->wait[0].cause, MTLM_CAUSE_DATA);
    assert_int_equal(s->wait[0].ns, 50);
    assert_int_equal(s->wait[1].cause, MTLM_CAUSE_END);
    assert_int_equal(s->wait[1].ns, 20);
    mtlm_trace_summary_destroy(s);
}

/* A record of the disk. */
static struct mtlm_record disk_node(int op, int phase, int ready, int start,
                                    int end)
{
    struct mtlm_record r = timed_node(-1, op, ready, start, end);

    r.lane = MTLM_LANE_DISK;
    r.phase = phase;
    return r;
}

/* A load waits until the store before has left its slot. */
static void test_loads_and_stores_are_told_apart(void **state)
{
    struct mtlm_record record[] = {
        timed_node(0, MTLM_OP_LINEAR_FWD, 0, 0, 100),
        disk_node(MTLM_OP_STORE, MTLM_PHASE_OPTIMIZER, 20, 20, 130),
        disk_node(MTLM_OP_LOAD, MTLM_PHASE_FORWARD, 130, 130, 200),
        timed_node(0, MTLM_OP_LINEAR_FWD, 205, 210, 300),
        disk_node(MTLM_OP_STORE, MTLM_PHASE_BACKWARD, 300, 300, 340),
        timed_node(0, MTLM_OP_LINEAR_FWD, 350, 350, 400),
    };
    static const struct mtlm_trace_edge edge[] = {
        {0, 0, 2, 1}, {0, 0, 3, 2}, {0, 0, 5, 4}};
    struct mtlm_trace_info info = timed_one_rank;
    struct mtlm_trace_summary *s;

    (void) state;
    for (int i = 0; i < 6; i++)
        record[i].job = i;
    info.edge = edge;
    info.n_edges = 3;
    s = mtlm_trace_summarize(record, 6, &info);
    assert_int_equal(s->n_waits, 4);
    assert_int_equal(s->wait[0].cause, MTLM_CAUSE_LOAD);
    assert_int_equal(s->wait[0].ns, 75);
    assert_string_equal(s->wait[0].text,
                        "rank 0 waited 18.8 % for a load from the disk in F");
    assert_int_equal(s->wait[1].cause, MTLM_CAUSE_STORE);
    assert_int_equal(s->wait[1].ns, 50);
    assert_string_equal(s->wait[1].text,
                        "rank 0 waited 12.5 % for a store to the disk in B");
    assert_int_equal(s->wait[2].cause, MTLM_CAUSE_STORE);
    assert_int_equal(s->wait[2].ns, 30);
    assert_string_equal(
        s->wait[2].text,
        "rank 0 waited 7.5 % for a store to the disk in the optimizer");
    assert_int_equal(s->account->comm_ns, 155);
    assert_int_equal(s->account->runtime_ns, 5);
    mtlm_trace_summary_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_and_work_add_up_to_the_window),
        cmocka_unit_test(test_first_and_last_stage_wait_for_each_other),
        cmocka_unit_test(test_the_optimizer_waits_for_its_all_reduce),
        cmocka_unit_test(test_a_ready_node_waits_for_the_runtime),
        cmocka_unit_test(test_a_node_waits_for_another_worker),
        cmocka_unit_test(test_loads_and_stores_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
