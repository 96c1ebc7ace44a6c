/* How samples are cut into parts. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph/build/row_parts.h"
#include "graph/build/stage.h"

static void test_the_parts_are_the_whole_in_order(void **state)
{
    (void) state;
    for (int64_t s = 1; s <= 40; s++)
        for (int n = 1; n <= s && n <= MTLM_MAX_ROW_PARTS; n++) {
            int64_t next = 0, first, count;

            for (int i = 0; i < n; i++) {
                mtlm_row_parts_get(s, n, i, &first, &count);
                assert_int_equal(first, next);
                assert_true(count > 0 && count - s / n <= 1 + s / n / 8
                            && s / n - count <= s / n / 8);
                next += count;
            }
            assert_int_equal(next, s);
        }
}

/* Ranks can share a part where they can share a sample, but for lengths that
 * have no divisors to go by. */
static void test_parts_are_multiples_of_what_ranks_share(void **state)
{
    (void) state;
    for (int64_t s = 64; s <= 4096; s += 64)
        for (int n = 1; n <= 4; n++)
            for (int t = 1; t <= 2; t *= 2)
                assert_true(mtlm_row_parts_divide(s, n, t));
    for (int n = 1; n <= 4; n++)
        assert_true(mtlm_row_parts_divide(1024, n, 8));
    assert_true(mtlm_row_parts_divide(12, 3, 4));
    assert_false(mtlm_row_parts_divide(12, 5, 2));
    assert_false(mtlm_row_parts_divide(1024, 3, 3));
    assert_false(mtlm_row_parts_divide(1021, 4, 2));
}

/* Two workers find work in a single sample, without products so small that
 * they are slow. */
static void test_one_long_sample_is_cut(void **state)
{
    (void) state;
    assert_int_equal(mtlm_row_parts_count(2048, 1, 1), 4);
    assert_int_equal(mtlm_row_parts_count(1024, 1, 1), 2);
    assert_int_equal(mtlm_row_parts_count(512, 1, 1), 2);
    assert_int_equal(mtlm_row_parts_count(64, 4, 1), 2);
    assert_int_equal(mtlm_row_parts_count(255, 1, 1), 1);
}

/* Microbatches can be worked on side by side as well. */
static void test_many_microbatches_are_not_cut(void **state)
{
    (void) state;
    assert_int_equal(mtlm_row_parts_count(1024, 1, 2), 2);
    assert_int_equal(mtlm_row_parts_count(1024, 1, 4), 1);
    assert_int_equal(mtlm_row_parts_count(1024, 8, 1000), 1);
}

static void test_there_are_never_more_parts_than_rows(void **state)
{
    (void) state;
    assert_int_equal(mtlm_row_parts_count(1, 65536, 1), 1);
    assert_int_equal(mtlm_row_parts_count(3, 65536, 1), 3);
    assert_int_equal(mtlm_row_parts_count(2, 128, 1), 2);
    assert_true(mtlm_row_parts_count(1 << 20, 65536, 1) <= MTLM_MAX_ROW_PARTS);
}

/* 1000 rows are two parts of 500, which eight ranks cannot share. */
static void test_parts_by_shape_are_for_the_ranks(void **state)
{
    struct mtlm_program_config config = {
        .model.seq_length = 1000, .layout.tp = 8, .micro_batch = 1};

    (void) state;
    for (int m = 1; m <= 4; m++) {
        config.microbatches = m;
        config.sequence_parallel = false;
        assert_int_equal(mtlm_stage_parts(&config), m < 4 ? 2 : 1);
        config.sequence_parallel = true;
        assert_int_equal(mtlm_stage_parts(&config), 1);
        assert_true(mtlm_stage_rows_fit(&config));
    }
    config.row_parts = 2;
    assert_false(mtlm_stage_rows_fit(&config));
    config.row_parts = 0;
    config.microbatches = 1;
    config.model.seq_length = 1024;
    assert_int_equal(mtlm_stage_parts(&config), 2);
    config.model.seq_length = 1001;
    assert_false(mtlm_stage_rows_fit(&config));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_parts_are_the_whole_in_order),
        cmocka_unit_test(test_parts_are_multiples_of_what_ranks_share),
        cmocka_unit_test(test_one_long_sample_is_cut),
        cmocka_unit_test(test_many_microbatches_are_not_cut),
        cmocka_unit_test(test_there_are_never_more_parts_than_rows),
        cmocka_unit_test(test_parts_by_shape_are_for_the_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
