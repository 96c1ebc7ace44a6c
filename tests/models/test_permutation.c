/* Permutations: one-to-one, and each about as often as any other. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "models/text/permutation.h"

static void check_one_to_one(uint64_t seed, int64_t n)
{
    unsigned char *seen = calloc(n, 1);

    for (int64_t i = 0; i < n; i++) {
        const int64_t to = mtlm_permutation_apply(seed, 7, n, i);

        assert_in_range(to, 0, n - 1);
        assert_int_equal(seen[to]++, 0);
    }
    free(seen);
}

static void test_each_place_is_taken_once(void **state)
{
    (void) state;
    for (int64_t n = 1; n <= 300; n++)
        check_one_to_one(n, n);
    check_one_to_one(1, 100003);
}

static void test_all_orders_of_four_are_equally_likely(void **state)
{
    enum { TRIES = 24000, ORDERS = 256 };
    int count[ORDERS] = {0}, orders = 0;
    double chi2 = 0;

    (void) state;
    for (int seed = 0; seed < TRIES; seed++) {
        int order = 0;

        for (int i = 0; i < 4; i++)
            order = 4 * order + (int) mtlm_permutation_apply(seed, 0, 4, i);
        count[order]++;
    }
    for (int i = 0; i < ORDERS; i++)
        if (count[i]) {
            orders++;
            chi2 += (count[i] - TRIES / 24.) * (count[i] - TRIES / 24.)
                    / (TRIES / 24.);
        }
    assert_int_equal(orders, 24);
    assert_true(chi2 < 65); /* 23 degrees of freedom: once in 10^5 */
}

static void test_any_place_is_equally_likely(void **state)
{
    enum { N = 1000, TRIES = 20000, BINS = 10 };
    int count[BINS] = {0};
    double chi2 = 0;

    (void) state;
    for (int stream = 0; stream < TRIES; stream++)
        count[mtlm_permutation_apply(5, stream, N, 1) * BINS / N]++;
    for (int i = 0; i < BINS; i++)
        chi2 += (count[i] - TRIES / BINS) * (double) (count[i] - TRIES / BINS)
                / (TRIES / BINS);
    assert_true(chi2 < 40); /* 9 degrees of freedom: once in 10^5 */
}

/* How many of 1000 numbers go where they go under another key. */
static int same(uint64_t seed, uint64_t stream)
{
    int n = 0;

    for (int i = 0; i < 1000; i++)
        n += mtlm_permutation_apply(1, 1, 1000, i)
             == mtlm_permutation_apply(seed, stream, 1000, i);
    return n;
}

static void test_seed_and_stream_choose_the_order(void **state)
{
    (void) state;
    assert_int_equal(same(1, 1), 1000);
    assert_true(same(2, 1) < 10);
    assert_true(same(1, 2) < 10);
}

static void test_huge_ranges_stay_inside(void **state)
{
    const int64_t n = INT64_C(1) << 60;

    (void) state;
    for (int i = 0; i < 100; i++) {
        assert_in_range(mtlm_permutation_apply(3, 0, n, n - 1 - i), 0, n - 1);
        assert_in_range(mtlm_permutation_apply(3, 0, n - 12345, i), 0,
                        n - 12346);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_place_is_taken_once),
        cmocka_unit_test(test_all_orders_of_four_are_equally_likely),
        cmocka_unit_test(test_any_place_is_equally_likely),
        cmocka_unit_test(test_seed_and_stream_choose_the_order),
        cmocka_unit_test(test_huge_ranges_stay_inside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
