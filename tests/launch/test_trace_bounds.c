/* What follows from the edges of a trace: critical path, bound, causes of
 * gaps. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/op_list.h"
#include "launch/trace/edges.h"
#include "launch/trace/summarize.h"
#include "runtime/base/memory.h"
#include "runtime/comm/group.h"
#include "trace_node.h"

/* Two ranks: a microbatch goes there and back, beside a node on rank 0 that
 * nothing waits for.  Jobs are counted from 0 on each rank. */
static const struct {
    int rank, op, ready, start, end;
} chain[] = {
    {0, MTLM_OP_LINEAR_FWD, 0, 0, 100},
    {0, MTLM_OP_SEND, 100, 110, 125},
    {0, MTLM_OP_RECV, 0, 0, 260},
    {0, MTLM_OP_LINEAR_FWD, 100, 100, 210},
    {0, MTLM_OP_LINEAR_FWD, 265, 270, 300},
    {1, MTLM_OP_RECV, 0, 0, 130},
    {1, MTLM_OP_LINEAR_FWD, 130, 150, 230},
    {1, MTLM_OP_SEND, 235, 240, 258},
};
static const struct mtlm_trace_edge chain_edge[] = {
    {0, 0, 1, 0}, {1, 0, 0, 1}, {1, 1, 1, 0}, {1, 1, 2, 1}, {0, 1, 2, 2},
    {0, 0, 3, 0}, {0, 0, 4, 2}, {0, 0, 4, 0}, {1, 1, 9, 1},
};

static struct mtlm_trace_summary *run_chain(bool edges)
{
    enum { N = sizeof(chain) / sizeof(chain[0]) };
    const struct mtlm_trace_info info = {
        .ranks = 2,
        .stages = 2,
        .microbatches = 1,
        .edge = edges ? chain_edge : NULL,
        .n_edges = edges ? sizeof(chain_edge) / sizeof(chain_edge[0]) : 0};
    struct mtlm_record record[N];

    for (int i = 0, job = 0; i < N; i++) {
        const bool message = chain[i].op != MTLM_OP_LINEAR_FWD;

        job = i && chain[i].rank == chain[i - 1].rank ? job + 1 : 0;
        record[i] = timed_node(message ? -1 : 0, chain[i].op, chain[i].ready,
                               chain[i].start, chain[i].end);
        record[i].rank = chain[i].rank;
        record[i].peer = message ? 1 - chain[i].rank : -1;
        record[i].job = job;
    }
    return mtlm_trace_summarize(record, N, &info);
}

static void test_the_critical_path_goes_through_messages(void **state)
{
    struct mtlm_trace_summary *s = run_chain(true);

    (void) state;
    /* 100; from the send's issue at 110 to 130; 80; from 240 to 260; 30. */
    assert_int_equal(s->path_ns, 100 + 20 + 80 + 20 + 30);
    assert_int_equal(s->path_comm_ns, 40);
    assert_int_equal(s->work_ns, 240);
    assert_int_equal(s->iteration[0].work_rank, 0);
    assert_int_equal(s->rank[0].work_ns, 240);
    assert_int_equal(s->rank[1].work_ns, 80);
    assert_int_equal(s->bound_ns, 250);
    mtlm_trace_summary_destroy(s);
    s = run_chain(false);
    assert_int_equal(s->path_ns, -1);
    assert_int_equal(s->bound_ns, -1);
    assert_int_equal(s->work_ns, 240);
    mtlm_trace_summary_destroy(s);
}

/* Sixteen ranks, of which one is late, meet twice: each computes, then all sum
 * up, the second time after less work.  Rank r's jobs are 0 .. 3. */
static void test_the_critical_path_waits_for_the_last_of_a_group(void **state)
{
    enum { RANKS = 16, LATE = 11, N = 4 * RANKS };
    struct mtlm_trace_info info = {
        .ranks = RANKS, .stages = 1, .microbatches = 1, .n_edges = 3 * RANKS};
    struct mtlm_trace_edge *edge = mtlm_calloc(3 * RANKS, sizeof(*edge));
    struct mtlm_record record[N];
    struct mtlm_trace_summary *s;

    (void) state;
    for (int rank = 0; rank < RANKS; rank++) {
        const int first = rank == LATE ? 900 : 100 + rank;
        struct mtlm_record *r = &record[4 * rank];

        r[0] = timed_node(0, MTLM_OP_LINEAR_FWD, 0, 0, first);
        r[1] = timed_node(-1, MTLM_OP_ALL_REDUCE, first, first + 5, 1000);
        r[2] = timed_node(0, MTLM_OP_LINEAR_FWD, 1000, 1000, 1020 + rank);
        r[3] = timed_node(-1, MTLM_OP_ALL_REDUCE, 1020 + rank, 1050, 1100);
        for (int job = 0; job < 4; job++) {
            r[job].rank = rank;
            r[job].job = job;
            if (job % 2 == 1) {
                r[job].lane = MTLM_LANE_TP;
                r[job].group = MTLM_GROUP_TP;
                r[job].group_root = 0;
                r[job].match = job;
            }
            if (job > 0)
                edge[3 * rank + job - 1] =
                    (struct mtlm_trace_edge){rank, rank, job, job - 1};
        }
    }
    edge = mtlm_trace_edges_between(record, N, edge, &info.n_edges);
    info.edge = edge;
    s = mtlm_trace_summarize(record, N, &info);
    /* The late one's 900, the sum from 905 on, the longest second node, the
     * sum from 1050 on: each sum once, however many ranks take part. */
    assert_int_equal(s->path_ns, 900 + 95 + 35 + 50);
    assert_int_equal(s->path_comm_ns, 95 + 50);
    mtlm_trace_summary_destroy(s);
    free(edge);
}

static void test_a_gap_is_charged_to_the_last_predecessor(void **state)
{
    struct mtlm_trace_summary *s = run_chain(true);
    const struct mtlm_trace_account *a = s->account;

    (void) state;
    assert_int_equal(s->n_accounts, 2);
    /* Rank 0: from 210 to 265 for what it receives, then 5 until it runs. */
    assert_int_equal(a[0].compute_ns, 240);
    assert_int_equal(a[0].comm_ns, 55);
    assert_int_equal(a[0].runtime_ns, 5);
    assert_int_equal(a[0].data_ns + a[0].end_ns, 0);
    assert_int_equal(a[0].window_ns, 300);
    /* Rank 1: received at 130, runs from 150 to 230, has nothing until 300. */
    assert_int_equal(a[1].compute_ns, 80);
    assert_int_equal(a[1].comm_ns, 130);
    assert_int_equal(a[1].runtime_ns, 20);
    assert_int_equal(a[1].end_ns, 70);
    assert_int_equal(s->wait[0].cause, MTLM_CAUSE_RECEIVE);
    assert_int_equal(s->wait[0].rank, 1);
    mtlm_trace_summary_destroy(s);
}

/* What ended last on the rank is not what the node waited for. */
static void test_an_edge_tells_more_than_what_ended_last(void **state)
{
    struct mtlm_record record[] = {
        timed_node(0, MTLM_OP_LINEAR_FWD, 0, 0, 100),
        timed_node(-1, MTLM_OP_SEND, 100, 100, 150),
        timed_node(-1, MTLM_OP_RECV, 0, 0, 149),
        timed_node(0, MTLM_OP_LINEAR_FWD, 151, 160, 200),
        timed_node(0, MTLM_OP_LINEAR_FWD, 230, 230, 300),
    };
    static const struct mtlm_trace_edge edge[] = {{0, 0, 3, 1}, {0, 0, 4, 3}};
    struct mtlm_trace_info info = timed_one_rank;
    struct mtlm_trace_summary *s;

    (void) state;
    for (int i = 0; i < 5; i++)
        record[i].job = i;
    record[1].peer = record[2].peer = 1;
    info.edge = edge;
    info.n_edges = 2;
    s = mtlm_trace_summarize(record, 5, &info);
    assert_int_equal(s->n_waits, 2);
    assert_int_equal(s->wait[0].cause, MTLM_CAUSE_SEND);
    assert_int_equal(s->wait[0].ns, 51);
    assert_string_equal(
        s->wait[0].text,
        "rank 0 waited 17.0 % for rank 1 to take its activations");
    /* 9 after it was ready; 30 after all that it waited for had ended. */
    assert_int_equal(s->wait[1].cause, MTLM_CAUSE_RUNTIME);
    assert_int_equal(s->wait[1].ns, 39);
    mtlm_trace_summary_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_critical_path_goes_through_messages),
        cmocka_unit_test(test_the_critical_path_waits_for_the_last_of_a_group),
        cmocka_unit_test(test_a_gap_is_charged_to_the_last_predecessor),
        cmocka_unit_test(test_an_edge_tells_more_than_what_ended_last),
    };

    return cmocka_run_group_tests_name("trace bounds", tests, NULL, NULL);
}
