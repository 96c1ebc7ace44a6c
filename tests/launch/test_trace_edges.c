/* Edges between ranks: which nodes of a message belong together. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codelets/op_list.h"
#include "launch/trace/edges.h"
#include "runtime/base/memory.h"
#include "runtime/comm/group.h"

static struct mtlm_record message(int rank, int job, int op, int peer,
                                  int group, int root, int match)
{
    return (struct mtlm_record){.rank = rank,
                                .job = job,
                                .op = op,
                                .peer = peer,
                                .group = group,
                                .group_root = root,
                                .match = match};
}

/* The edges that come of own ones and records are those at want, in order. */
static void assert_edges(const struct mtlm_record *record, size_t n,
                         const struct mtlm_trace_edge *own, size_t n_own,
                         const struct mtlm_trace_edge *want, size_t n_want)
{
    struct mtlm_trace_edge *edge = mtlm_calloc(n_own, sizeof(*edge));

    for (size_t i = 0; i < n_own; i++)
        edge[i] = own[i];
    edge = mtlm_trace_edges_between(record, n, edge, &n_own);
    assert_int_equal(n_own, n_want);
    for (size_t i = 0; i < n_want; i++) {
        assert_int_equal(edge[i].rank, want[i].rank);
        assert_int_equal(edge[i].job, want[i].job);
        assert_int_equal(edge[i].on_rank, want[i].on_rank);
        assert_int_equal(edge[i].on_job, want[i].on_job);
    }
    free(edge);
}

/* Two boundaries with the same numbers, and an end that was not recorded. */
static void test_a_receive_waits_for_its_send(void **state)
{
    const struct mtlm_record record[] = {
        message(1, 30, MTLM_OP_RECV, 0, -1, -1, 7),
        message(0, 11, MTLM_OP_SEND, 1, -1, -1, 7),
        message(1, 31, MTLM_OP_SEND, 2, -1, -1, 7),
        message(2, 50, MTLM_OP_RECV, 1, -1, -1, 7),
        message(0, 12, MTLM_OP_SEND, 1, -1, -1, 8),
        message(0, 13, MTLM_OP_RECV, 1, -1, -1, 9),
    };
    const struct mtlm_trace_edge own[] = {{1, 1, 31, 30}, {0, 0, 12, 11}};
    const struct mtlm_trace_edge want[] = {
        {0, 0, 12, 11}, {1, 0, 30, 11}, {1, 1, 31, 30}, {2, 1, 50, 31}};

    (void) state;
    assert_edges(record, 6, own, 2, want, 4);
}

/* Groups 0, 2 and 1, 3 of the same kind, which count alike; a second
 * collective of the first group has nothing before it. */
static void test_a_collective_waits_for_what_its_others_wait_for(void **state)
{
    struct mtlm_record record[] = {
        message(0, 5, MTLM_OP_ALL_REDUCE, -1, MTLM_GROUP_DP, 0, 40),
        message(2, 6, MTLM_OP_ALL_REDUCE, -1, MTLM_GROUP_DP, 0, 40),
        message(1, 5, MTLM_OP_ALL_REDUCE, -1, MTLM_GROUP_DP, 1, 40),
        message(3, 6, MTLM_OP_ALL_REDUCE, -1, MTLM_GROUP_DP, 1, 40),
        message(0, 8, MTLM_OP_ALL_REDUCE, -1, MTLM_GROUP_DP, 0, 41),
        message(2, 8, MTLM_OP_ALL_REDUCE, -1, MTLM_GROUP_DP, 0, 41),
        message(0, 9, MTLM_OP_LINEAR_FWD, -1, -1, -1, -1),
    };
    const struct mtlm_trace_edge own[] = {
        {0, 0, 5, 1}, {0, 0, 5, 2}, {2, 2, 6, 3}, {3, 3, 6, 4}};
    const struct mtlm_trace_edge want[] = {
        {0, 0, 5, 1}, {0, 0, 5, 2}, {0, 2, 5, 3}, {1, 3, 5, 4}, {2, 0, 6, 5},
        {2, 2, 6, 3}, {2, 0, 8, 8}, {3, 1, 6, 5}, {3, 3, 6, 4}};

    (void) state;
    assert_edges(record, 7, own, 4, want, 9);
}

/* A group of so many ranks, so many collectives one after the other, each node
 * after so many others of its rank: edges between ranks. */
static size_t edges_between(int ranks, int collectives, int before)
{
    const size_t n = (size_t) ranks * collectives;
    struct mtlm_record *record = mtlm_calloc(n, sizeof(*record));
    struct mtlm_trace_edge *edge = mtlm_calloc(n * before, sizeof(*edge));
    size_t n_edges = 0, nodes = 0, between = 0;

    for (int rank = 0; rank < ranks; rank++)
        for (int c = 0, job = 0; c < collectives; c++) {
            for (int i = 0; i < before; i++)
                edge[n_edges++] =
                    (struct mtlm_trace_edge){rank, rank, job + before, job + i};
            job += before;
            record[nodes++] = message(rank, job++, MTLM_OP_ALL_REDUCE, -1,
                                      MTLM_GROUP_TP, 0, c);
        }
    edge = mtlm_trace_edges_between(record, n, edge, &n_edges);
    for (size_t i = 0; i < n_edges; i++)
        between += edge[i].rank != edge[i].on_rank;
    free(edge);
    free(record);
    return between;
}

static void test_edges_grow_with_the_ranks_not_with_their_pairs(void **state)
{
    (void) state;
    /* One for what it waits for itself, one for each node before it. */
    assert_int_equal(edges_between(2, 10, 3), 10 * (1 + 3));
    assert_int_equal(edges_between(16, 10, 3), 15 * 10 * (1 + 3));
    assert_int_equal(edges_between(64, 10, 3), 63 * 10 * (1 + 3));
}

static void test_nothing_recorded_is_nothing_to_wait_for(void **state)
{
    (void) state;
    assert_edges(NULL, 0, NULL, 0, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_receive_waits_for_its_send),
        cmocka_unit_test(test_a_collective_waits_for_what_its_others_wait_for),
        cmocka_unit_test(test_edges_grow_with_the_ranks_not_with_their_pairs),
        cmocka_unit_test(test_nothing_recorded_is_nothing_to_wait_for),
    };

    return cmocka_run_group_tests_name("trace edges", tests, NULL, NULL);
}
