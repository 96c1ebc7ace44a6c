/* The order of collectives: its rules one by one, and its queues. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/comm/sequencer.h"

static struct mtlm_transfer request(int64_t seq, enum mtlm_group group,
                                    int priority)
{
    return (struct mtlm_transfer){
        .seq = seq, .message = {.group = group, .priority = priority}};
}

static void ready(struct mtlm_sequencer *s, struct mtlm_transfer *r)
{
    mtlm_queue_push(&s->ready, r);
}

/* Number of what is issued next, -1: nothing. */
static int64_t next(struct mtlm_sequencer *s)
{
    const struct mtlm_transfer *r = mtlm_sequencer_next(s);

    return r ? r->seq : -1;
}

/* --- the rules ---------------------------------------------------------- */

static void test_leader_issues_the_highest_priority_ready_one(void **state)
{
    struct mtlm_sequencer s;
    struct mtlm_transfer r[] = {
        request(0, MTLM_GROUP_TP, 1), request(1, MTLM_GROUP_TP, 7),
        request(2, MTLM_GROUP_TP, -3), request(3, MTLM_GROUP_TP, 7)};

    (void) state;
    mtlm_sequencer_create(&s, MTLM_ORDER_BY_LEADER, true);
    assert_int_equal(next(&s), -1);
    ready(&s, &r[3]);
    ready(&s, &r[2]);
    ready(&s, &r[0]);
    ready(&s, &r[1]);
    /* Of two with the same priority, the one posted first. */
    assert_int_equal(next(&s), 1);
    assert_int_equal(next(&s), 3);
    assert_int_equal(next(&s), 0);
    assert_int_equal(next(&s), 2);
    assert_int_equal(next(&s), -1);
    assert_int_equal(s.ready.n, 0);
    mtlm_sequencer_destroy(&s);
}

static void test_cross_group_collectives_keep_program_order(void **state)
{
    struct mtlm_sequencer s;
    struct mtlm_transfer embedding = request(0, MTLM_GROUP_EMBEDDING, 1);
    struct mtlm_transfer tp = request(1, MTLM_GROUP_TP, 2);
    struct mtlm_transfer world = request(2, MTLM_GROUP_WORLD, 9);

    (void) state;
    mtlm_sequencer_create(&s, MTLM_ORDER_BY_LEADER, true);
    mtlm_sequencer_post(&s, 0, MTLM_GROUP_EMBEDDING);
    mtlm_sequencer_post(&s, 1, MTLM_GROUP_TP);
    mtlm_sequencer_post(&s, 2, MTLM_GROUP_WORLD);
    /* The second of them waits for the first, though it is ready and more
     * urgent; the group's own collective does not wait. */
    ready(&s, &world);
    assert_int_equal(next(&s), -1);
    ready(&s, &tp);
    assert_int_equal(next(&s), 1);
    assert_int_equal(next(&s), -1);
    ready(&s, &embedding);
    assert_int_equal(next(&s), 0);
    assert_int_equal(next(&s), 2);
    assert_int_equal(mtlm_numbers_first(&s.cross), -1);
    mtlm_sequencer_destroy(&s);
}

/* Another group may need the earlier ones before the common one is ready
 * there: it must not be in their way. */
static void test_cross_group_collectives_wait_for_earlier_ones(void **state)
{
    struct mtlm_sequencer s;
    struct mtlm_transfer r[6];

    (void) state;
    mtlm_sequencer_create(&s, MTLM_ORDER_BY_LEADER, true);
    for (int i = 0; i < 6; i++) {
        const enum mtlm_group group =
            i == 2 || i == 4 ? MTLM_GROUP_WORLD : MTLM_GROUP_TP;

        r[i] = request(i, group, i);
        mtlm_sequencer_post(&s, i, group);
    }
    ready(&s, &r[2]);
    assert_int_equal(next(&s), -1);
    ready(&s, &r[5]); /* a later one may go first */
    assert_int_equal(next(&s), 5);
    ready(&s, &r[1]);
    assert_int_equal(next(&s), 1);
    assert_int_equal(next(&s), -1);
    ready(&s, &r[0]);
    assert_int_equal(next(&s), 0);
    assert_int_equal(next(&s), 2);
    ready(&s, &r[4]);
    assert_int_equal(next(&s), -1);
    ready(&s, &r[3]);
    assert_int_equal(next(&s), 3);
    assert_int_equal(next(&s), 4);
    assert_int_equal(s.after, 0);
    mtlm_sequencer_destroy(&s);
}

static void test_follower_issues_in_ticket_order_only(void **state)
{
    struct mtlm_sequencer s;
    struct mtlm_transfer r[] = {request(0, MTLM_GROUP_TP, 0),
                                request(1, MTLM_GROUP_TP, 9),
                                request(2, MTLM_GROUP_WORLD, 5)};

    (void) state;
    mtlm_sequencer_create(&s, MTLM_ORDER_BY_LEADER, false);
    ready(&s, &r[1]);
    assert_int_equal(next(&s), -1); /* not ordered yet */
    mtlm_numbers_push(&s.tickets, 2);
    mtlm_numbers_push(&s.tickets, 0);
    mtlm_numbers_push(&s.tickets, 1);
    assert_int_equal(next(&s), -1); /* ordered, but 2 is not ready */
    ready(&s, &r[0]);
    assert_int_equal(next(&s), -1);
    ready(&s, &r[2]);
    assert_int_equal(next(&s), 2);
    assert_int_equal(next(&s), 0);
    assert_int_equal(next(&s), 1);
    assert_int_equal(mtlm_numbers_first(&s.tickets), -1);
    mtlm_sequencer_destroy(&s);
}

/* Two plans with something between and behind them of which none speaks. */
static void test_a_plan_covers_what_is_posted_next(void **state)
{
    static const int plan[] = {2, 0, 1};
    static const int64_t want[] = {2, 0, 1, 3, 6, 4, 5, 7};
    enum { N = 8 };
    struct mtlm_sequencer s;
    struct mtlm_transfer r[N];

    (void) state;
    mtlm_sequencer_create(&s, MTLM_ORDER_PLANNED, true);
    for (int i = 0; i < N; i++) {
        if (i == 0 || i == 4)
            mtlm_sequencer_plan(&s, i, plan, 3);
        r[i] = request(i, i % 3 ? MTLM_GROUP_TP : MTLM_GROUP_WORLD, i);
        mtlm_sequencer_post(&s, i, r[i].message.group);
    }
    for (int i = N - 1; i > 2; i--)
        ready(&s, &r[i]);
    assert_int_equal(next(&s), -1);
    for (int i = 0; i <= 2; i++)
        ready(&s, &r[i]);
    for (int i = 0; i < N; i++)
        assert_int_equal(next(&s), want[i]);
    assert_int_equal(next(&s), -1);
    mtlm_sequencer_destroy(&s);
}

/* A plan makes no leader: the next number of the order holds up others. */
static void test_what_is_awaited_has_a_number(void **state)
{
    static const int plan[] = {1, 0};
    struct mtlm_sequencer s;

    (void) state;
    mtlm_sequencer_create(&s, MTLM_ORDER_PLANNED, true);
    assert_int_equal(mtlm_sequencer_awaited(&s), -1);
    mtlm_sequencer_plan(&s, 0, plan, 2);
    assert_int_equal(mtlm_sequencer_awaited(&s), 1);
    mtlm_sequencer_destroy(&s);
    mtlm_sequencer_create(&s, MTLM_ORDER_BY_LEADER, true);
    mtlm_sequencer_post(&s, 0, MTLM_GROUP_TP);
    assert_int_equal(mtlm_sequencer_awaited(&s), -1);
    mtlm_sequencer_post(&s, 1, MTLM_GROUP_WORLD);
    assert_int_equal(mtlm_sequencer_awaited(&s), 1);
    mtlm_sequencer_destroy(&s);
    mtlm_sequencer_create(&s, MTLM_ORDER_BY_LEADER, false);
    assert_int_equal(mtlm_sequencer_awaited(&s), -1);
    mtlm_numbers_push(&s.tickets, 4);
    assert_int_equal(mtlm_sequencer_awaited(&s), 4);
    mtlm_sequencer_destroy(&s);
}

/* --- the queues --------------------------------------------------------- */

static void test_numbers_come_out_in_order_under_wrap_around(void **state)
{
    struct mtlm_numbers queue = {0};
    int64_t in = 0, out = 0;
    unsigned seed = 1;

    (void) state;
    assert_int_equal(mtlm_numbers_first(&queue), -1);
    /* Grows to many, shrinks to none, over and over: the first one is
     * everywhere in the array when the end is reached. */
    for (int round = 0; round < 2000; round++) {
        const int push = rand_r(&seed) % (round % 10 == 0 ? 300 : 40);
        const int pop = rand_r(&seed) % 40;

        for (int i = 0; i < push; i++)
            mtlm_numbers_push(&queue, in++);
        for (int i = 0; i < pop && out < in; i++) {
            assert_int_equal(mtlm_numbers_first(&queue), out++);
            mtlm_numbers_pop(&queue);
        }
        assert_int_equal(queue.n, in - out);
        if (round % 100 == 99)
            for (; out < in; out++) {
                assert_int_equal(mtlm_numbers_first(&queue), out);
                mtlm_numbers_pop(&queue);
            }
    }
    free(queue.number);
}

static void test_numbers_do_not_grow_without_need(void **state)
{
    struct mtlm_numbers queue = {0};

    (void) state;
    for (int i = 0; i < 100000; i++) {
        mtlm_numbers_push(&queue, i);
        mtlm_numbers_push(&queue, i);
        mtlm_numbers_pop(&queue);
        mtlm_numbers_pop(&queue);
    }
    assert_in_range(queue.capacity, 1, 64);
    free(queue.number);
}

static void test_a_queue_goes_on_after_its_last_was_taken(void **state)
{
    struct mtlm_queue queue;
    struct mtlm_transfer r[3] = {{.seq = 0}, {.seq = 1}, {.seq = 2}};

    (void) state;
    mtlm_queue_init(&queue);
    mtlm_queue_push(&queue, &r[0]);
    mtlm_queue_push(&queue, &r[1]);
    assert_ptr_equal(mtlm_queue_take(&queue, &queue.head->next), &r[1]);
    mtlm_queue_push(&queue, &r[2]);
    assert_ptr_equal(queue.head, &r[0]);
    assert_ptr_equal(queue.head->next, &r[2]);
    assert_ptr_equal(mtlm_queue_take(&queue, &queue.head), &r[0]);
    assert_ptr_equal(mtlm_queue_take(&queue, &queue.head), &r[2]);
    assert_int_equal(queue.n, 0);
    mtlm_queue_push(&queue, &r[1]);
    assert_ptr_equal(queue.head, &r[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leader_issues_the_highest_priority_ready_one),
        cmocka_unit_test(test_cross_group_collectives_keep_program_order),
        cmocka_unit_test(test_cross_group_collectives_wait_for_earlier_ones),
        cmocka_unit_test(test_follower_issues_in_ticket_order_only),
        cmocka_unit_test(test_a_plan_covers_what_is_posted_next),
        cmocka_unit_test(test_what_is_awaited_has_a_number),
        cmocka_unit_test(test_numbers_come_out_in_order_under_wrap_around),
        cmocka_unit_test(test_numbers_do_not_grow_without_need),
        cmocka_unit_test(test_a_queue_goes_on_after_its_last_was_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
