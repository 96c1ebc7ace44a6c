/* Shapes. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/shape.h"

static void test_rows_times_columns_are_the_elements(void **state)
{
    const struct mtlm_shape shape = MTLM_SHAPE(5, 3, 7), scalar = {0};

    (void) state;
    assert_int_equal(mtlm_shape_elems(&shape), 105);
    assert_int_equal(mtlm_shape_rows(&shape), 15);
    assert_int_equal(mtlm_shape_cols(&shape), 7);
    assert_int_equal(mtlm_shape_elems(&scalar), 1);
    assert_int_equal(mtlm_shape_rows(&scalar), 1);
    assert_int_equal(mtlm_shape_cols(&scalar), 1);
}

static void test_elements_are_counted_in_64_bits(void **state)
{
    const struct mtlm_shape shape = MTLM_SHAPE(1 << 20, 1 << 20);

    (void) state;
    assert_true(mtlm_shape_elems(&shape) == (int64_t) 1 << 40);
}

static void test_equal_shapes_have_equal_extents_and_rank(void **state)
{
    const struct mtlm_shape a = MTLM_SHAPE(2, 3), b = MTLM_SHAPE(2, 3);
    const struct mtlm_shape turned = MTLM_SHAPE(3, 2);
    const struct mtlm_shape longer = MTLM_SHAPE(2, 3, 1);

    (void) state;
    assert_true(mtlm_shape_equal(&a, &b));
    assert_false(mtlm_shape_equal(&a, &turned));
    assert_false(mtlm_shape_equal(&a, &longer));
}

static void test_the_longest_shape_fits_its_text(void **state)
{
    const struct mtlm_shape shape = MTLM_SHAPE(2, 3);
    const struct mtlm_shape longest =
        MTLM_SHAPE(INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN);
    char text[96];

    (void) state;
    assert_string_equal(mtlm_shape_str(&shape, text), "[2, 3]");
    mtlm_shape_str(&longest, text);
    assert_int_equal(text[strlen(text) - 1], ']');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_times_columns_are_the_elements),
        cmocka_unit_test(test_elements_are_counted_in_64_bits),
        cmocka_unit_test(test_equal_shapes_have_equal_extents_and_rank),
        cmocka_unit_test(test_the_longest_shape_fits_its_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
