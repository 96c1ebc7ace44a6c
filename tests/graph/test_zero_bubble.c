/* The zero-bubble paper's settings: what its authors published, and never
 * worse with the same memory. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/graph/zero_bubble.h"

/* Published with four digits. */
static const double digit = 5.1e-5;

static void test_1f1b_has_the_published_rates(void **state)
{
    (void) state;
    for (int i = 0; i < zero_bubble_n_settings; i++)
        assert_float_equal(zero_bubble_of_1f1b(&zero_bubble_settings[i]),
                           zero_bubble_settings[i].one_f_one_b, digit);
}

static void check(double memory, int i, double published)
{
    const struct zero_bubble_setting *setting = &zero_bubble_settings[i];
    const struct zero_bubble_best best =
        zero_bubble_best(setting, memory * setting->p);

    if (best.rate > published + digit)
        fail_msg("%s, %d microbatches, memory %gp: %.4f, published %.4f",
                 setting->model, setting->m, memory, best.rate, published);
    assert_true(best.rate >= 0);
    assert_true(best.memory <= memory * setting->p + 1e-6);
}

/* The settings of 32 ranks take minutes: perf/zero_bubble has them. */
static void test_no_rate_is_worse_than_published(void **state)
{
    (void) state;
    for (int i = 0; i < zero_bubble_n_settings; i++)
        if (zero_bubble_settings[i].p <= 16) {
            check(1, i, zero_bubble_settings[i].zb_1p);
            check(2, i, zero_bubble_settings[i].zb_2p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_1f1b_has_the_published_rates),
        cmocka_unit_test(test_no_rate_is_worse_than_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
