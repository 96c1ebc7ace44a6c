/* List scheduling of tasks and edges, against schedules worked out by hand. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/predict/simulator.h"

static void assert_times(const struct mtlm_simulator *sim, int task,
                         int64_t start, int64_t end)
{
    assert_int_equal(mtlm_simulator_start(sim, task), start);
    assert_int_equal(mtlm_simulator_end(sim, task), end);
}

static void test_the_highest_priority_goes_first_then_the_oldest(void **state)
{
    struct mtlm_simulator *sim = mtlm_simulator_create();
    const int lane = mtlm_simulator_lane(sim, 1);
    const int a = mtlm_simulator_task(sim, lane, 2, 5);
    const int b = mtlm_simulator_task(sim, lane, 3, 7);
    const int c = mtlm_simulator_task(sim, lane, 4, 7);

    (void) state;
    assert_true(mtlm_simulator_run(sim));
    assert_times(sim, b, 0, 3);
    assert_times(sim, c, 3, 7);
    assert_times(sim, a, 7, 9);
    assert_int_equal(mtlm_simulator_started(sim, 0), b);
    assert_int_equal(mtlm_simulator_started(sim, 1), c);
    assert_int_equal(mtlm_simulator_started(sim, 2), a);
    assert_int_equal(mtlm_simulator_makespan(sim), 9);
    mtlm_simulator_destroy(sim);
}

/* Of equal priority, the task that waited longest goes first if asked to. */
static void test_of_equals_the_first_one_ready_goes_first(void **state)
{
    (void) state;
    for (int first_come = 0; first_come < 2; first_come++) {
        struct mtlm_simulator *sim = mtlm_simulator_create();
        const int x = mtlm_simulator_lane(sim, 1);
        const int y = mtlm_simulator_lane(sim, 1);
        const int busy = mtlm_simulator_task(sim, y, 2, 9);
        const int before = mtlm_simulator_task(sim, x, 1, 0);
        const int late = mtlm_simulator_task(sim, y, 3, 5);
        const int early = mtlm_simulator_task(sim, y, 4, 5);

        mtlm_simulator_edge(sim, before, late, 0);
        if (first_come)
            mtlm_simulator_first_come(sim);
        assert_true(mtlm_simulator_run(sim));
        assert_times(sim, busy, 0, 2);
        assert_times(sim, early, first_come ? 2 : 5, first_come ? 6 : 9);
        assert_times(sim, late, first_come ? 6 : 2, first_come ? 9 : 5);
        mtlm_simulator_destroy(sim);
    }
}

/* What is ready runs although something better becomes ready soon. */
static void test_no_worker_waits_while_there_is_work(void **state)
{
    struct mtlm_simulator *sim = mtlm_simulator_create();
    const int x = mtlm_simulator_lane(sim, 1), y = mtlm_simulator_lane(sim, 1);
    const int before = mtlm_simulator_task(sim, x, 1, 0);
    const int best = mtlm_simulator_task(sim, y, 1, 9);
    const int other = mtlm_simulator_task(sim, y, 10, 1);

    (void) state;
    mtlm_simulator_edge(sim, before, best, 0);
    assert_true(mtlm_simulator_run(sim));
    assert_times(sim, other, 0, 10);
    assert_times(sim, best, 10, 11);
    mtlm_simulator_destroy(sim);
}

static void test_a_lane_runs_as_many_tasks_as_it_has_workers(void **state)
{
    struct mtlm_simulator *sim = mtlm_simulator_create();
    const int lane = mtlm_simulator_lane(sim, 3);
    int task[7];

    (void) state;
    for (int i = 0; i < 7; i++)
        task[i] = mtlm_simulator_task(sim, lane, 10, 0);
    assert_true(mtlm_simulator_run(sim));
    for (int i = 0; i < 7; i++)
        assert_times(sim, task[i], 10 * (i / 3), 10 * (i / 3) + 10);
    mtlm_simulator_destroy(sim);
}

/* A message takes no lane: it starts at once and any number are under way;
 * the delay of an edge adds to it. */
static void test_delays_and_messages_take_no_worker(void **state)
{
    struct mtlm_simulator *sim = mtlm_simulator_create();
    const int lane = mtlm_simulator_lane(sim, 1);
    const int a = mtlm_simulator_task(sim, lane, 5, 1);
    const int b = mtlm_simulator_task(sim, lane, 5, 0);
    const int sent = mtlm_simulator_task(sim, -1, 20, 0);
    const int also = mtlm_simulator_task(sim, -1, 20, 0);
    const int after = mtlm_simulator_task(sim, lane, 1, 0);

    (void) state;
    mtlm_simulator_edge(sim, a, sent, 0);
    mtlm_simulator_edge(sim, a, also, 0);
    mtlm_simulator_edge(sim, sent, after, 3);
    mtlm_simulator_edge(sim, b, after, 4);
    mtlm_simulator_edge(sim, also, after, 0);
    assert_true(mtlm_simulator_run(sim));
    assert_times(sim, b, 5, 10);
    assert_times(sim, sent, 5, 25);
    assert_times(sim, also, 5, 25);
    assert_times(sim, after, 28, 29);
    mtlm_simulator_destroy(sim);
}

/* Collectives of two ranks each, which have one stream each. */
static void test_a_task_of_two_lanes_waits_for_both(void **state)
{
    struct mtlm_simulator *sim = mtlm_simulator_create();
    const int x = mtlm_simulator_lane(sim, 1), y = mtlm_simulator_lane(sim, 1);
    const int z = mtlm_simulator_lane(sim, 1);
    const int yz = mtlm_simulator_task(sim, y, 4, 9);
    const int xy = mtlm_simulator_task(sim, x, 4, 5);
    const int alone = mtlm_simulator_task(sim, x, 1, 1);

    (void) state;
    mtlm_simulator_also(sim, yz, z);
    mtlm_simulator_also(sim, xy, y);
    assert_true(mtlm_simulator_run(sim));
    /* Lanes choose in the order of their making: x takes both first. */
    assert_times(sim, xy, 0, 4);
    assert_times(sim, yz, 4, 8);
    assert_times(sim, alone, 4, 5);
    mtlm_simulator_destroy(sim);
}

static void test_tasks_that_wait_for_each_other_are_found(void **state)
{
    struct mtlm_simulator *sim = mtlm_simulator_create();
    const int lane = mtlm_simulator_lane(sim, 1);
    const int a = mtlm_simulator_task(sim, lane, 1, 0);
    const int b = mtlm_simulator_task(sim, lane, 1, 0);
    const int c = mtlm_simulator_task(sim, lane, 1, 0);

    (void) state;
    mtlm_simulator_edge(sim, a, b, 0);
    mtlm_simulator_edge(sim, b, c, 0);
    mtlm_simulator_edge(sim, c, b, 0);
    assert_false(mtlm_simulator_run(sim));
    mtlm_simulator_destroy(sim);
}

/* Durations are cut, and a thousand of the longest do not overflow. */
static void test_time_stands_still_before_it_overflows(void **state)
{
    struct mtlm_simulator *sim = mtlm_simulator_create();
    const int lane = mtlm_simulator_lane(sim, 1);

    (void) state;
    assert_int_equal(mtlm_simulator_ns(2.5e-9 + 2e-10), 3);
    assert_int_equal(mtlm_simulator_ns(1e300), MTLM_SIMULATOR_LONGEST);
    for (int i = 0; i < 1000; i++)
        mtlm_simulator_task(sim, lane, MTLM_SIMULATOR_LONGEST, 0);
    assert_true(mtlm_simulator_run(sim));
    assert_int_equal(mtlm_simulator_makespan(sim), MTLM_SIMULATOR_LONGEST);
    mtlm_simulator_destroy(sim);
}

/* Thousands of tasks of random priority come out in its order. */
static void test_many_tasks_come_in_order(void **state)
{
    enum { N = 5000 };
    struct mtlm_simulator *sim = mtlm_simulator_create();
    const int lane = mtlm_simulator_lane(sim, 1);
    int64_t priority[N];
    uint32_t random = 1;

    (void) state;
    for (int i = 0; i < N; i++) {
        random = 1664525 * random + 1013904223;
        priority[i] = random >> 20;
        mtlm_simulator_task(sim, lane, 1, priority[i]);
    }
    assert_true(mtlm_simulator_run(sim));
    for (int i = 1; i < N; i++) {
        const int a = mtlm_simulator_started(sim, i - 1);
        const int b = mtlm_simulator_started(sim, i);

        assert_true(priority[a] > priority[b]
                    || (priority[a] == priority[b] && a < b));
    }
    assert_int_equal(mtlm_simulator_makespan(sim), N);
    mtlm_simulator_destroy(sim);
}

/* Two workers: one runs a chain of three tasks of higher priority.  The other
 * one waits for no link of the chain, behind which no message is. */
static void test_no_worker_waits_for_the_other_one(void **state)
{
    struct mtlm_simulator *sim = mtlm_simulator_create();
    const int lane = mtlm_simulator_lane(sim, 2);
    int link[3], ready;

    (void) state;
    for (int i = 0; i < 3; i++)
        link[i] = mtlm_simulator_task(sim, lane, 10, 2);
    ready = mtlm_simulator_task(sim, lane, 40, 1);
    mtlm_simulator_edge(sim, link[0], link[1], 0);
    mtlm_simulator_edge(sim, link[1], link[2], 0);
    mtlm_simulator_hold(sim, lane, .5);
    assert_true(mtlm_simulator_run(sim));
    assert_int_equal(mtlm_simulator_start(sim, ready), 0);
    assert_int_equal(mtlm_simulator_start(sim, link[2]), 20);
    mtlm_simulator_destroy(sim);
}

/* Two workers; behind each message an awaited task, and one that is not.  Both
 * workers wait where there are two messages. */
static void test_a_message_holds_one_worker(void **state)
{
    for (int messages = 1; messages <= 2; messages++) {
        struct mtlm_simulator *sim = mtlm_simulator_create();
        const int far = mtlm_simulator_lane(sim, 2);
        const int lane = mtlm_simulator_lane(sim, 2);
        int ready;

        (void) state;
        for (int i = 0; i < messages; i++) {
            const int message = mtlm_simulator_task(sim, far, 10, 0);

            for (int k = 0; k < 2; k++) {
                const int next = mtlm_simulator_task(sim, lane, 10, 3 - k);

                mtlm_simulator_edge(sim, message, next, 0);
                if (k == 0)
                    mtlm_simulator_await(sim, next);
            }
        }
        ready = mtlm_simulator_task(sim, lane, 40, 1);
        mtlm_simulator_hold(sim, lane, .5);
        assert_true(mtlm_simulator_run(sim));
        assert_int_equal(mtlm_simulator_start(sim, ready),
                         messages == 1 ? 0 : 30);
        mtlm_simulator_destroy(sim);
    }
}

/* A pass of a model of many layers: each task continues the one before. */
static void test_a_long_pass_is_expected_as_a_whole(void **state)
{
    enum { N = 200000 };
    struct mtlm_simulator *sim = mtlm_simulator_create();
    const int lane = mtlm_simulator_lane(sim, 1);

    (void) state;
    for (int i = 0; i < N; i++) {
        mtlm_simulator_task(sim, lane, 10, 1);
        if (i > 0)
            mtlm_simulator_edge(sim, i - 1, i, 0);
    }
    mtlm_simulator_hold(sim, lane, .5);
    assert_true(mtlm_simulator_run(sim));
    for (int i = 0; i < N; i++)
        assert_times(sim, i, INT64_C(10) * i, INT64_C(10) * (i + 1));
    mtlm_simulator_destroy(sim);
}

/* A pass of one lane has links whose successors fork and join; an awaited task
 * follows on the last one.  Its start is known from the begin on. */
static void test_a_pass_that_forks_is_expected_to_its_end(void **state)
{
    struct mtlm_simulator *sim = mtlm_simulator_create();
    const int far = mtlm_simulator_lane(sim, 2);
    const int lane = mtlm_simulator_lane(sim, 1);
    const int first = mtlm_simulator_task(sim, far, 10, 2);
    const int left = mtlm_simulator_task(sim, far, 20, 2);
    const int right = mtlm_simulator_task(sim, far, 5, 2);
    const int last = mtlm_simulator_task(sim, far, 10, 2);
    const int message = mtlm_simulator_task(sim, -1, 4, 0);
    const int next = mtlm_simulator_task(sim, lane, 10, 3);
    const int other = mtlm_simulator_task(sim, lane, 100, 1);

    (void) state;
    mtlm_simulator_edge(sim, first, left, 0);
    mtlm_simulator_edge(sim, first, right, 0);
    mtlm_simulator_edge(sim, left, last, 0);
    mtlm_simulator_edge(sim, right, last, 0);
    mtlm_simulator_edge(sim, last, message, 1);
    mtlm_simulator_edge(sim, message, next, 0);
    mtlm_simulator_await(sim, next);
    mtlm_simulator_hold(sim, far, .5);
    mtlm_simulator_hold(sim, lane, .5);
    assert_true(mtlm_simulator_run(sim));
    assert_times(sim, last, 30, 40);
    assert_times(sim, next, 45, 55);
    assert_times(sim, other, 55, 155);
    mtlm_simulator_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_highest_priority_goes_first_then_the_oldest),
        cmocka_unit_test(test_of_equals_the_first_one_ready_goes_first),
        cmocka_unit_test(test_no_worker_waits_while_there_is_work),
        cmocka_unit_test(test_a_lane_runs_as_many_tasks_as_it_has_workers),
        cmocka_unit_test(test_delays_and_messages_take_no_worker),
        cmocka_unit_test(test_a_task_of_two_lanes_waits_for_both),
        cmocka_unit_test(test_tasks_that_wait_for_each_other_are_found),
        cmocka_unit_test(test_many_tasks_come_in_order),
        cmocka_unit_test(test_time_stands_still_before_it_overflows),
        cmocka_unit_test(test_no_worker_waits_for_the_other_one),
        cmocka_unit_test(test_a_message_holds_one_worker),
        cmocka_unit_test(test_a_long_pass_is_expected_as_a_whole),
        cmocka_unit_test(test_a_pass_that_forks_is_expected_to_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
