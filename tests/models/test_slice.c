/* Slices of a tensor: what two of them have in common, against element by
 * element. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "models/weights/slice.h"

enum { MOST = 12 };

static int64_t draw(int64_t n)
{
    return rand() % n;
}

static struct mtlm_slice draw_slice(const int64_t full[2])
{
    struct mtlm_slice s = {.full = {full[0], full[1]}};

    for (int d = 0; d < 2; d++) {
        s.first[d] = draw(full[d]);
        s.dim[d] = 1 + draw(full[d] - s.first[d]);
    }
    s.begin = draw(s.dim[0] * s.dim[1]);
    s.count = draw(s.dim[0] * s.dim[1] - s.begin + 1);
    return s;
}

/* Number in the whole tensor of a slice's element. */
static int64_t number(const struct mtlm_slice *s, int64_t i)
{
    const int64_t at = s->begin + i;

    return (s->first[0] + at / s->dim[1]) * s->full[1] + s->first[1]
           + at % s->dim[1];
}

static void test_copies_are_those_of_single_elements(void **state)
{
    (void) state;
    srand(1);
    for (int k = 0; k < 20000; k++) {
        const int64_t full[2] = {1 + draw(MOST), 1 + draw(MOST)};
        const struct mtlm_slice a = draw_slice(full), b = draw_slice(full);
        const int64_t rows = draw(full[0] + 2);
        float from[MOST * MOST + 1], to[MOST * MOST + 1], want;
        int64_t n = 0, in_a = 0;

        assert_int_equal(mtlm_slice_check(&a), 0);
        for (int64_t i = 0; i < a.count; i++) {
            from[i] = (float) number(&a, i);
            in_a += number(&a, i) / full[1] < rows;
        }
        assert_int_equal(mtlm_slice_count(&a, rows), in_a);
        for (int64_t i = 0; i <= b.count; i++)
            to[i] = -1;
        for (int64_t j = 0; j < a.count; j++)
            for (int64_t i = 0; i < b.count; i++)
                n += number(&a, j) == number(&b, i)
                     && number(&b, i) / full[1] < rows;
        assert_int_equal(mtlm_slice_copy(&a, from, &b, rows, to), n);
        for (int64_t i = 0; i < b.count; i++) {
            want = -1;
            for (int64_t j = 0; j < a.count; j++)
                if (number(&a, j) == number(&b, i)
                    && number(&b, i) / full[1] < rows)
                    want = from[j];
            assert_true(to[i] == want);
        }
        assert_true(to[b.count] == -1);
    }
}

/* Of different paddings: the wholes have different numbers of rows. */
static void test_padding_differs(void **state)
{
    const struct mtlm_slice a = {{5, 2}, {0, 0}, {5, 2}, 0, 10};
    const struct mtlm_slice b = {{8, 2}, {4, 0}, {4, 2}, 0, 8};
    const float from[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    float to[8] = {0};

    (void) state;
    assert_int_equal(mtlm_slice_copy(&a, from, &b, 8, to), 2);
    assert_true(to[0] == 8 && to[1] == 9 && to[2] == 0);
    assert_int_equal(mtlm_slice_count(&b, 5), 2);
}

static void test_what_is_no_slice_is_refused(void **state)
{
    static const struct mtlm_slice bad[] = {
        {{0, 1}, {0, 0}, {0, 1}, 0, 0},
        {{4, 4}, {-1, 0}, {1, 1}, 0, 1},
        {{4, 4}, {3, 0}, {2, 4}, 0, 1},
        {{4, 4}, {0, 0}, {2, 4}, 5, 4},
        {{4, 4}, {0, 0}, {2, 4}, -1, 4},
        {{4, 4}, {0, 0}, {2, 4}, 0, -1},
        {{4, 4}, {0, 0}, {4, INT64_MAX}, 0, 1},
        {{INT64_MAX, 2}, {0, 0}, {1, 1}, 0, 1},
        {{INT64_MAX / 2, 1}, {0, 0}, {1, 1}, 0, 1},
        {{4, 4}, {INT64_MAX, 0}, {1, 1}, 0, 1},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(mtlm_slice_check(&bad[i]), -1);
}

static void test_slices_overlap_that_have_common_elements(void **state)
{
    (void) state;
    srand(2);
    for (int k = 0; k < 20000; k++) {
        const int64_t full[2] = {1 + draw(MOST), 1 + draw(MOST)};
        const struct mtlm_slice a = draw_slice(full), b = draw_slice(full);
        const int64_t n = mtlm_slice_copy(&a, NULL, &b, INT64_MAX, NULL);

        assert_int_equal(mtlm_slice_overlap(&a, &b), n > 0);
        if (a.count > 0)
            assert_int_equal(mtlm_slice_row(&a, a.count - 1),
                             number(&a, a.count - 1) / full[1]);
        if (a.count > 0)
            assert_int_equal(mtlm_slice_column(&a, a.count - 1),
                             number(&a, a.count - 1) % full[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_are_those_of_single_elements),
        cmocka_unit_test(test_slices_overlap_that_have_common_elements),
        cmocka_unit_test(test_padding_differs),
        cmocka_unit_test(test_what_is_no_slice_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
