/* Every number of both 16-bit types, there and back; and what lies between two
 * of them. */

#include "config.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/base/value16.h"

enum { NUMBERS = 65536, SIGN = 0x8000 };

/* exponent and mantissa bits of a type */
struct format {
    enum mtlm_dtype type;
    int exponent, mantissa;
};

static const struct format formats[] = {{MTLM_BF16, 8, 7}, {MTLM_F16, 5, 10}};

/* By the definition of IEEE 754. */
static double value_of(const struct format *f, int x)
{
    const int mantissa = x & ((1 << f->mantissa) - 1);
    const int exponent = (x & ~SIGN) >> f->mantissa;
    const int bias = (1 << (f->exponent - 1)) - 1;
    double value;

    if (exponent == (1 << f->exponent) - 1)
        value = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(mantissa, 1 - bias - f->mantissa);
    else
        value =
            ldexp((1 << f->mantissa) + mantissa, exponent - bias - f->mantissa);
    return x & SIGN ? -value : value;
}

static int infinity_of(const struct format *f)
{
    return ((1 << f->exponent) - 1) << f->mantissa;
}

static void widen_all(const struct format *f, float *wide)
{
    uint16_t *all = malloc(NUMBERS * sizeof(*all));

    for (int i = 0; i < NUMBERS; i++)
        all[i] = i;
    mtlm_value16_widen(f->type, all, NUMBERS, wide);
    free(all);
}

static uint16_t rounded(const struct format *f, float x)
{
    uint16_t to;

    mtlm_value16_round(f->type, &x, 1, &to);
    return to;
}

static void check_all(const struct format *f)
{
    float *wide = malloc(NUMBERS * sizeof(*wide));
    uint16_t *back = malloc(NUMBERS * sizeof(*back));

    widen_all(f, wide);
    mtlm_value16_round(f->type, wide, NUMBERS, back);
    for (int i = 0; i < NUMBERS; i++) {
        const double want = value_of(f, i);

        if (isnan(want)) {
            assert_true(isnan(wide[i]));
            assert_true(isnan(value_of(f, back[i])));
            assert_int_equal(back[i] & SIGN, i & SIGN);
        } else {
            assert_true(wide[i] == want && !signbit(wide[i]) == !(i & SIGN));
            assert_int_equal(back[i], i);
        }
    }
    free(wide), free(back);
}

static void test_every_number_goes_there_and_back(void **state)
{
    (void) state;
    for (int i = 0; i < 2; i++)
        check_all(&formats[i]);
}

/* Between a number and the next: the middle goes to the even one, what is next
 * to the middle to the nearer one.  The last of them is infinity, in the place
 * of the next power of two. */
static void check_between(const struct format *f, int below)
{
    const double next = below + 1 == infinity_of(f)
                            ? 2 * value_of(f, below) - value_of(f, below - 1)
                            : value_of(f, below + 1);
    const float middle = (float) ((value_of(f, below) + next) / 2);
    const int even = below % 2 ? below + 1 : below;

    assert_true(middle > value_of(f, below) && middle < next);
    assert_int_equal(rounded(f, middle), even);
    assert_int_equal(rounded(f, -middle), even | SIGN);
    assert_int_equal(rounded(f, nextafterf(middle, 0)), below);
    assert_int_equal(rounded(f, nextafterf(middle, INFINITY)), below + 1);
    assert_int_equal(rounded(f, -nextafterf(middle, INFINITY)),
                     (below + 1) | SIGN);
}

static void test_the_nearest_number_is_taken(void **state)
{
    (void) state;
    for (int i = 0; i < 2; i++)
        for (int below = 0; below < infinity_of(&formats[i]); below++)
            check_between(&formats[i], below);
}

static void test_what_is_too_great_becomes_infinite(void **state)
{
    (void) state;
    for (int i = 0; i < 2; i++) {
        const struct format *f = &formats[i];

        assert_int_equal(rounded(f, FLT_MAX), infinity_of(f));
        assert_int_equal(rounded(f, -FLT_MAX), infinity_of(f) | SIGN);
        assert_int_equal(rounded(f, INFINITY), infinity_of(f));
    }
    assert_int_equal(rounded(&formats[1], 65519.996f), 0x7bff);
    assert_int_equal(rounded(&formats[1], 65520), 0x7c00);
    assert_int_equal(rounded(&formats[1], 1e6f), 0x7c00);
}

/* All floats that are not: 2^24 of them, in steps. */
static void test_a_nan_stays_a_nan(void **state)
{
    (void) state;
    for (uint32_t bits = 0x7f800001; bits < 0x80000000; bits += 997)
        for (int i = 0; i < 2; i++)
            for (int sign = 0; sign < 2; sign++) {
                const union {
                    uint32_t u;
                    float f;
                } x = {bits | (uint32_t) sign << 31};
                const int got = rounded(&formats[i], x.f);

                assert_true(isnan(value_of(&formats[i], got)));
                assert_int_equal(!(got & SIGN), !sign);
            }
}

static void test_sums_are_rounded_once(void **state)
{
    enum { N = 4096 };
    uint16_t x[N], y[N], sum[N];

    (void) state;
    for (int k = 0; k < 2; k++) {
        const struct format *f = &formats[k];

        for (int i = 0; i < N; i++) {
            x[i] =
                (uint16_t) (i * 40503u % infinity_of(f)) | (i % 2 ? SIGN : 0);
            sum[i] = y[i] = (uint16_t) (i * 9973u % infinity_of(f));
        }
        mtlm_value16_add(f->type, x, N, sum);
        for (int i = 0; i < N; i++)
            assert_int_equal(sum[i], rounded(f, (float) (value_of(f, x[i])
                                                         + value_of(f, y[i]))));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_number_goes_there_and_back),
        cmocka_unit_test(test_the_nearest_number_is_taken),
        cmocka_unit_test(test_what_is_too_great_becomes_infinite),
        cmocka_unit_test(test_a_nan_stays_a_nan),
        cmocka_unit_test(test_sums_are_rounded_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
