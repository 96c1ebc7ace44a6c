/* How long messages took, from made-up records. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codelets/op_list.h"
#include "launch/report/message_times.h"

enum { US = 1000, MANY = 32 };

static struct mtlm_record records[MANY];
static int n;

static void add(int op, int phase, int lane, int rank, int peer, int stage,
                int64_t ready_us, int64_t start_us, int64_t end_us)
{
    assert_true(n < MANY);
    records[n] = (struct mtlm_record){.rank = rank,
                                      .worker = -1,
                                      .lane = lane,
                                      .phase = phase,
                                      .op = op,
                                      .stage = stage,
                                      .layer = -1,
                                      .peer = peer,
                                      .job = n,
                                      .ready_ns = ready_us * US,
                                      .start_ns = start_us * US,
                                      .end_ns = end_us * US};
    n++;
}

static void forward(int op, int rank, int peer, int stage, int64_t ready_us,
                    int64_t end_us)
{
    add(op, MTLM_PHASE_FORWARD, MTLM_LANE_PP, rank, peer, stage, ready_us,
        ready_us, end_us);
}

static void backward(int op, int rank, int peer, int stage, int64_t ready_us,
                     int64_t end_us)
{
    add(op, MTLM_PHASE_BACKWARD, MTLM_LANE_PP, rank, peer, stage, ready_us,
        ready_us, end_us);
}

static struct mtlm_message_times measure(int tp, int pp, int virtual_stages,
                                         bool serial)
{
    const struct mtlm_layout layout = {
        .tp = tp, .pp = pp, .dp = 1, .virtual_stages = virtual_stages};

    return mtlm_message_times_create(records, n, &layout, serial);
}

/* Two ranks with two stages each: 0 and 2, 1 and 3. */
static void test_hops_count_from_when_both_ends_are_there(void **state)
{
    struct mtlm_message_times times;
    double shares = 0, least = 1;

    (void) state;
    n = 0;
    /* Stage 0 to 1 in two parts, the receiver waiting. */
    forward(MTLM_OP_SEND, 0, 1, 0, 100, 105);
    forward(MTLM_OP_SEND, 0, 1, 0, 200, 205);
    forward(MTLM_OP_RECV, 1, 0, 1, 10, 120);
    forward(MTLM_OP_RECV, 1, 0, 1, 20, 210);
    /* Stage 2 to 3, whose place was free late only. */
    forward(MTLM_OP_SEND, 0, 1, 2, 300, 460);
    forward(MTLM_OP_RECV, 1, 0, 3, 400, 430);
    /* Gradients of stage 1 to 0. */
    backward(MTLM_OP_SEND, 1, 0, 1, 500, 505);
    backward(MTLM_OP_RECV, 0, 1, 0, 100, 580);
    /* Not recorded to its end. */
    backward(MTLM_OP_SEND, 1, 0, 3, 600, 605);
    times = measure(1, 2, 2, false);
    assert_float_equal(times.hop_s[0 * 2 + 1], 20e-6, 1e-12);
    assert_float_equal(times.hop_s[1 * 2 + 0], 80e-6, 1e-12);
    assert_true(times.hop_s[0] == -1 && times.hop_s[3] == -1);
    assert_float_equal(times.mean_hop_s, 35e-6, 1e-12);
    assert_true(times.tp_s == -1);
    /* 20, 10 and 30 us of 20; 80 of 80. */
    assert_int_equal(times.shares, 4);
    for (int i = 0; i < 4; i++) {
        shares += times.share[i];
        least = times.share[i] < least ? times.share[i] : least;
    }
    assert_float_equal(shares, 4, 1e-9);
    assert_float_equal(least, .5, 1e-9);
    mtlm_message_times_destroy(&times);
}

static void reduce(int rank, int stage, int64_t ready_us, int64_t start_us,
                   int64_t end_us)
{
    add(MTLM_OP_ALL_REDUCE, MTLM_PHASE_FORWARD, MTLM_LANE_TP, rank, -1, stage,
        ready_us, start_us, end_us);
}

/* Two groups of two ranks: 0 and 1, 2 and 3. */
static void test_collectives_count_from_the_last_rank_to_come(void **state)
{
    struct mtlm_message_times times;

    (void) state;
    n = 0;
    reduce(0, 0, 100, 110, 160);
    reduce(0, 0, 200, 210, 260);
    reduce(1, 0, 150, 155, 170);
    reduce(1, 0, 120, 205, 250);
    reduce(2, 1, 300, 310, 400);
    reduce(3, 1, 100, 310, 400);
    times = measure(2, 2, 1, false);
    assert_float_equal(times.tp_s, (20e-6 + 60e-6 + 100e-6) / 3, 1e-12);
    mtlm_message_times_destroy(&times);
    times = measure(2, 2, 1, true);
    assert_float_equal(times.tp_s, (15e-6 + 50e-6 + 90e-6) / 3, 1e-12);
    assert_true(times.mean_hop_s == -1);
    mtlm_message_times_destroy(&times);
}

/* A rank's collectives take turns: the second one waits for the first. */
static void test_collectives_count_from_the_end_of_the_one_before(void **state)
{
    struct mtlm_message_times times;

    (void) state;
    n = 0;
    reduce(0, 0, 100, 110, 200);
    reduce(0, 0, 120, 130, 300);
    reduce(1, 0, 100, 110, 200);
    reduce(1, 0, 120, 130, 290);
    times = measure(2, 1, 1, false);
    assert_float_equal(times.tp_s, 100e-6, 1e-12);
    mtlm_message_times_destroy(&times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hops_count_from_when_both_ends_are_there),
        cmocka_unit_test(test_collectives_count_from_the_last_rank_to_come),
        cmocka_unit_test(test_collectives_count_from_the_end_of_the_one_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
