/* Batch ramp-up: the batch of each iteration, and how many iterations a number
 * of samples makes. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph/build/ramp.h"

/* 2, 4, 6 and 8 samples, 10 samples' worth of each, then 8. */
static const struct mtlm_ramp small = {2, 2, 30, 8};
/* GPT-3's, as in Megatron-LM's examples. */
static const struct mtlm_ramp gpt3 = {16, 16, 5859375, 1536};

static void test_the_batch_grows_by_consumed_samples(void **state)
{
    /* By hand: 2 until 10 are consumed, 4 until 20 (10, 14, 18), 6 until 30
     * (22, 28), then 8. */
    static const int64_t want[] = {2, 2, 2, 2, 2, 4, 4, 4, 6, 6, 8, 8};
    struct mtlm_ramp_place place = mtlm_ramp_begin(&small);
    int64_t samples = 0;

    (void) state;
    for (int i = 0; i < 12; i++) {
        assert_int_equal(place.iteration, i);
        assert_int_equal(place.samples, samples);
        assert_int_equal(place.batch, want[i]);
        samples += place.batch;
        mtlm_ramp_next(&small, &place);
    }
}

static void test_the_steps_are_the_ramp_over_their_number(void **state)
{
    (void) state;
    assert_int_equal(mtlm_ramp_batch(&gpt3, 0), 16);
    /* 5859375 / 95 = 61677.6 */
    assert_int_equal(mtlm_ramp_batch(&gpt3, 61677), 16);
    assert_int_equal(mtlm_ramp_batch(&gpt3, 61678), 32);
    assert_int_equal(mtlm_ramp_batch(&gpt3, 5797697), 1504);
    assert_int_equal(mtlm_ramp_batch(&gpt3, 5797698), 1520);
    assert_int_equal(mtlm_ramp_batch(&gpt3, 5859374), 1520);
    assert_int_equal(mtlm_ramp_batch(&gpt3, 5859375), 1536);
    assert_int_equal(mtlm_ramp_batch(&gpt3, 146484375), 1536);
}

static void test_no_ramp_is_the_full_batch(void **state)
{
    const struct mtlm_ramp none = {.full = 512};
    struct mtlm_ramp_place place = mtlm_ramp_begin(&none);

    (void) state;
    mtlm_ramp_next(&none, &place);
    assert_int_equal(place.samples, 512);
    assert_int_equal(place.batch, 512);
    assert_int_equal(mtlm_ramp_iterations(&none, 5119, 1000), 9);
    assert_int_equal(mtlm_ramp_iterations(&none, 5120, 1000), 10);
    assert_int_equal(mtlm_ramp_iterations(&none, 5120, 7), 7);
}

static void test_samples_make_iterations(void **state)
{
    (void) state;
    /* Every iteration that begins within the ramp-up counts, even when it
     * does not end within the samples. */
    assert_int_equal(mtlm_ramp_iterations(&small, 1, 1000), 1);
    assert_int_equal(mtlm_ramp_iterations(&small, 4, 1000), 3);
    assert_int_equal(mtlm_ramp_iterations(&small, 33, 1000), 10);
    /* The tenth ends at 34: then whole batches only. */
    assert_int_equal(mtlm_ramp_iterations(&small, 41, 1000), 10);
    assert_int_equal(mtlm_ramp_iterations(&small, 42, 1000), 11);
    assert_int_equal(mtlm_ramp_iterations(&small, 34 + 8 * 50, 1000), 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_batch_grows_by_consumed_samples),
        cmocka_unit_test(test_the_steps_are_the_ramp_over_their_number),
        cmocka_unit_test(test_no_ramp_is_the_full_batch),
        cmocka_unit_test(test_samples_make_iterations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
