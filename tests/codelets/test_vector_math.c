/* Functions of one number, in floats, against the C library's in double. */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/vector_math.h"
#include "tests/worse.h"

/* Down to where floats become subnormal. */
static void test_power_of_two_is_within_a_unit_in_the_last_place(void **state)
{
    double worst = 0;

    (void) state;
    for (double x = -126; x < 127; x += 1.37e-4) {
        const double want = exp2((double) (float) x);

        worst = worse(worst, fabs(mtlm_exp2((float) x) - want) / want);
    }
    assert_true(worst < 0x1p-23);
    for (int n = -126; n < 127; n++)
        assert_true(mtlm_exp2(n) == ldexp(1, n));
    assert_true(mtlm_exp2(-200) == 0);
    assert_true(mtlm_exp2(-INFINITY) == 0);
    for (int i = 0; i < 4; i++) {
        static const uint32_t nans[] = {0x7fc00000, 0x7fc00001, 0xffc00000,
                                        0xffffffff};
        float nan;

        memcpy(&nan, &nans[i], sizeof(nan));
        assert_true(isnan(mtlm_exp2(nan)));
    }
}

/* From -6 to 6, on both sides of 0; further down nothing is left in float. */
static void test_normal_distribution_is_within_two_units_of_one(void **state)
{
    double worst = 0, relative = 0;

    (void) state;
    for (double at = -6; at < 6; at += 1.3e-5) {
        const float x = at, e = mtlm_exp2(x * x * -0.5f * MTLM_LOG2_E);
        const double want = 0.5 * erfc(-(double) x / sqrt(2));
        const double error = fabs(mtlm_normal_cdf(x, e) - want);

        worst = worse(worst, error);
        relative = worse(relative, error / want);
    }
    assert_true(worst < 2 * 0x1p-23);
    assert_true(relative < 6e-6);
    assert_true(mtlm_normal_cdf(40, 0) == 1);
    assert_true(mtlm_normal_cdf(-40, 0) == 0);
    assert_true(mtlm_normal_cdf(0, 1) == 0.5f);
    assert_true(isnan(mtlm_normal_cdf(NAN, NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_of_two_is_within_a_unit_in_the_last_place),
        cmocka_unit_test(test_normal_distribution_is_within_two_units_of_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
