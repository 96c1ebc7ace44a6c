/* Splits: Megatron's bounds for the same text, and what is no split. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "models/text/split.h"

/* Bounds worked out with Megatron's rule in Python, except where a negative
 * one was raised. */
static void test_bounds_are_megatrons(void **state)
{
    static const struct {
        const char *text;
        int64_t documents, bound[4];
    } cases[] = {
        {"969, 30, 1", 1000, {0, 969, 999, 1000}},
        {"969, 30, 1", 10, {0, 10, 10, 10}},
        {"969,30,1", 123457, {0, 119630, 123334, 123457}},
        {"969/30/1", 1, {0, 1, 1, 1}},
        {"98,2,0", 49, {0, 48, 49, 49}},
        {"100", 7, {0, 7, 7, 7}},
        {"0, 1", 7, {0, 0, 7, 7}},
        {"1, 1, 1", 2, {0, 0, 1, 2}},           /* 1 + 1 + 1, one too many */
        {"1, 1, 1", 1, {0, 1, 1, 1}},           /* 0 + 0 + 0, one too few */
        {"0, 1, 1", 3, {0, 0, 1, 3}},           /* 0, -1, 1, 3 in Megatron */
        {"0.5, 0.25, 0.25", 10, {0, 6, 8, 10}}, /* 2.5 rounds to 2 */
        {"1e-3,1", 5000, {0, 5, 5000, 5000}},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t bound[4];

        assert_int_equal(
            mtlm_split_parse(cases[i].text, cases[i].documents, bound, NULL),
            0);
        for (int j = 0; j < 4; j++)
            assert_int_equal(bound[j], cases[i].bound[j]);
    }
}

static void test_what_is_no_split_is_refused(void **state)
{
    static const char *const cases[] = {
        "",
        " ",
        "a",
        "1,",
        "1,,1",
        "1;2",
        "-1,2",
        "1,nan",
        "inf,1",
        "0,0,0",
        "1,2,3,4",
        "1 2",
        "1,2x",
        "1e308,1e308,1e308",
        "969, 30, 1,",
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mtlm_error err = {0};
        int64_t bound[4];

        assert_int_equal(mtlm_split_parse(cases[i], 100, bound, &err), -1);
        assert_int_equal(err.code, MTLM_EXIT_USAGE);
        assert_non_null(strstr(err.text, cases[i]));
    }
}

static void test_bounds_are_in_order_for_any_count(void **state)
{
    static const char *const text[] = {"969,30,1", "1,1,1", "0,1,1",
                                       "1,0,1",    "0,0,1", "0.3,0.3,0.4"};

    (void) state;
    for (int i = 0; i < 6; i++)
        for (int64_t n = 0; n < 200; n++) {
            int64_t bound[4];

            assert_int_equal(mtlm_split_parse(text[i], n, bound, NULL), 0);
            assert_int_equal(bound[0], 0);
            assert_int_equal(bound[3], n);
            for (int j = 0; j < 3; j++)
                assert_true(bound[j] <= bound[j + 1]);
        }
}

/* A share that rounding leaves without documents is one all the same. */
static void test_shares_are_those_given(void **state)
{
    static const struct {
        const char *text;
        bool share[MTLM_SPLITS];
    } cases[] = {
        {"969, 30, 1", {true, true, true}},
        {"0,1,0", {false, true, false}},
        {"1", {true, false, false}},
        {"0/1e-9/1", {false, true, true}},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int s = 0; s < MTLM_SPLITS; s++)
            assert_int_equal(mtlm_split_shares(cases[i].text, s),
                             cases[i].share[s]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds_are_megatrons),
        cmocka_unit_test(test_what_is_no_split_is_refused),
        cmocka_unit_test(test_bounds_are_in_order_for_any_count),
        cmocka_unit_test(test_shares_are_those_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
