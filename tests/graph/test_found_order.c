/* The choice among orders that a search found: late messages decide among those
 * of almost equal evaluations. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph/predict/found_order.h"
#include "graph/predict/late.h"

enum kind { WINDOWS, HINT, STRICT };

struct entry {
    enum kind kind;
    double seconds, late_seconds;
};

static void add(struct mtlm_found_orders *orders, const struct entry *e)
{
    static const struct mtlm_layout layout = {
        .tp = 1, .pp = 1, .dp = 1, .virtual_stages = 1, .workers = 1};
    const struct mtlm_boxes boxes = {
        .layout = &layout, .microbatches = 1, .pieces = 1};
    struct mtlm_found_order found = {
        .follow = e->kind == STRICT ? MTLM_FOLLOW_STRICT : MTLM_FOLLOW_HINT,
        .seconds = e->seconds,
        .late_seconds = e->late_seconds};

    if (e->kind != WINDOWS)
        found.order = mtlm_order_create(&boxes);
    mtlm_found_orders_add(orders, &found);
}

/* Adds the entries from number `first` on, round in steps of `step`.  Returns
 * the number of the chosen one. */
static int choose(const struct entry *entry, int n, int first, int step)
{
    struct mtlm_found_orders orders = {0};
    struct mtlm_found_order found;
    int chosen = 0;

    for (int i = 0; i < n; i++)
        add(&orders, &entry[(first + i * step) % n]);
    found = mtlm_found_orders_choose(&orders);
    assert_int_equal(orders.n, 0);
    while (entry[chosen].seconds != found.seconds
           || entry[chosen].late_seconds != found.late_seconds)
        chosen++;
    assert_true((found.order.ranks > 0) == (entry[chosen].kind != WINDOWS));
    mtlm_found_order_free(&found);
    return chosen;
}

/* In any sequence.  n: a prime. */
static void assert_chosen(const struct entry *entry, int n, int wanted)
{
    for (int first = 0; first < n; first++)
        for (int step = 1; step < n; step++)
            assert_int_equal(choose(entry, n, first, step), wanted);
}

static void test_late_messages_decide_among_equals(void **state)
{
    static const struct entry entry[] = {
        {WINDOWS, 25.5, 26.4}, {HINT, 25.5, 26.1}, {STRICT, 25.51, 25.7}};

    (void) state;
    assert_chosen(entry, 3, 2);
}

static void test_a_clearly_shorter_order_wins_late_or_not(void **state)
{
    static const struct entry entry[] = {
        {WINDOWS, 25.5, 26.4}, {STRICT, 25.5, 25.6}, {HINT, 25.47, 27.9}};

    (void) state;
    assert_chosen(entry, 3, 2);
}

/* Each is 0.08 % longer than the one before; only the first step is near the
 * best. */
static void test_small_steps_do_not_lead_away_from_the_best(void **state)
{
    static const struct entry entry[] = {{HINT, 100, 110},
                                         {HINT, 100.08, 108},
                                         {HINT, 100.16, 106},
                                         {HINT, 100.24, 104},
                                         {HINT, 100.32, 102}};

    (void) state;
    assert_chosen(entry, 5, 1);
}

static void test_a_chain_must_gain(void **state)
{
    static const struct entry entry[] = {
        {WINDOWS, 100, 110}, {HINT, 100, 109.99}, {STRICT, 100, 109.9}};
    static const struct entry less[] = {
        {WINDOWS, 100, 110}, {HINT, 100, 109.99}, {STRICT, 100, 109.85}};

    (void) state;
    assert_chosen(entry, 3, 1);
    assert_chosen(less, 3, 2);
}

static void test_what_is_longer_is_not_wanted(void **state)
{
    static const struct entry entry = {HINT, 100, 110};
    struct mtlm_found_orders orders = {0};
    struct mtlm_found_order found;

    (void) state;
    assert_true(mtlm_found_orders_want(&orders, INFINITY));
    add(&orders, &entry);
    assert_true(mtlm_found_orders_want(&orders, 100.09));
    assert_false(mtlm_found_orders_want(&orders, 100.11));
    found = mtlm_found_orders_choose(&orders);
    mtlm_found_order_free(&found);
}

/* ---- late messages ---- */

/* An iteration of 100 s and ten messages in a row. */
static double ten_messages(void *arg, double more)
{
    (void) arg;
    return 100 + 10 * more;
}

/* F takes 2 s: late messages take 10, 20 and 40 ms more on average. */
static void test_messages_are_late_by_shares_of_f(void **state)
{
    (void) state;
    assert_float_equal(mtlm_late_seconds(ten_messages, NULL, 2),
                       100 + 10 * .07 / 3, 1e-9);
}

/* Messages of 64 stages, of both directions, of 64 microbatches. */
static void test_latencies_differ_and_are_half_on_average(void **state)
{
    double sum = 0, squares = 0;
    int n = 0;

    (void) state;
    for (int k = 0; k < 64; k++)
        for (int to = k - 1; to <= k + 1; to += 2)
            for (int i = 0; i < 64; i++, n++) {
                const double share = mtlm_late_share(k, to, i);

                assert_true(share >= 0 && share < 1);
                sum += share;
                squares += share * share;
            }
    /* Of numbers drawn from [0, 1): four standard deviations. */
    assert_float_equal(sum / n, .5, .013);
    assert_float_equal(squares / n, 1. / 3, .014);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_messages_decide_among_equals),
        cmocka_unit_test(test_a_clearly_shorter_order_wins_late_or_not),
        cmocka_unit_test(test_small_steps_do_not_lead_away_from_the_best),
        cmocka_unit_test(test_a_chain_must_gain),
        cmocka_unit_test(test_what_is_longer_is_not_wanted),
        cmocka_unit_test(test_messages_are_late_by_shares_of_f),
        cmocka_unit_test(test_latencies_differ_and_are_half_on_average)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
