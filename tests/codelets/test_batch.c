/* What reaches the graph of the samples: fields, and weights of the labels. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/codelets/support.h"

enum { S = 9, B = 3, SAMPLE = 7 };

/* Every value tells what was asked for; the mask counts all but the labels
 * at position 4 of the microbatch's first two samples and all of later
 * ones. */
static void read_numbers(struct mtlm_samples *source, int64_t sample,
                         enum mtlm_field field, int64_t first, int64_t n,
                         int32_t *values)
{
    (void) source;
    for (int64_t i = 0; i < n; i++)
        values[i] = field == MTLM_FIELD_LOSS_MASK
                        ? sample < SAMPLE + 2 && first + i != 4
                        : 10000 * field + 1000 * sample + first + i;
}

static struct mtlm_samples source = {.read = read_numbers};

static void test_a_batch_has_a_sample_in_each_column(void **state)
{
    (void) state;
    for (int field = 0; field < MTLM_FIELD_COUNT; field++) {
        const int s = mtlm_field_size(field, S);
        const struct mtlm_call call = {
            .kind = MTLM_OP_BATCH,
            .attr.batch = {.source = &source, .field = field, .first = 2},
            .shape = {MTLM_SHAPE(s, B)}};
        int32_t values[S * B];

        if (field == MTLM_FIELD_LOSS_MASK)
            continue;
        run_op(call, (void *[]){values}, SAMPLE);
        for (int i = 0; i < s; i++)
            for (int j = 0; j < B; j++)
                assert_int_equal(values[i * B + j],
                                 10000 * field + 1000 * (SAMPLE + j) + 2 + i);
    }
}

/* Questions with choices: a value of each question's first sample. */
static void test_a_batch_may_have_every_fourth_sample_alone(void **state)
{
    const struct mtlm_call call = {
        .kind = MTLM_OP_BATCH,
        .attr.batch = {.source = &source, .field = MTLM_FIELD_CLASS, .step = 4},
        .shape = {MTLM_SHAPE(1, B)}};
    int32_t values[B];

    (void) state;
    run_op(call, (void *[]){values}, SAMPLE);
    for (int j = 0; j < B; j++)
        assert_int_equal(values[j],
                         10000 * MTLM_FIELD_CLASS + 1000 * (SAMPLE + 4 * j));
}

static struct mtlm_call weights(int64_t first, int64_t rows)
{
    return (struct mtlm_call){
        .kind = MTLM_OP_LOSS_WEIGHTS,
        .attr.batch = {.source = &source, .first = first, .seq_length = S},
        .shape = {MTLM_SHAPE(rows, B)}};
}

static void test_labels_that_count_share_the_weight_of_a_microbatch(
    void **state)
{
    mtlm_real w[S * B];

    (void) state;
    run_op(weights(0, S), (void *[]){w}, SAMPLE);
    for (int i = 0; i < S; i++)
        for (int j = 0; j < B; j++)
            assert_true(
                w[i * B + j]
                == (i != 4 && j < 2 ? (mtlm_real) (1. / (2 * (S - 1))) : 0));
}

/* For sums over labels instead of means. */
static void test_whole_weights_are_the_mask(void **state)
{
    struct mtlm_call call = weights(0, S);
    mtlm_real w[S * B];

    (void) state;
    call.attr.batch.whole = true;
    run_op(call, (void *[]){w}, SAMPLE);
    for (int i = 0; i < S; i++)
        for (int j = 0; j < B; j++)
            assert_true(w[i * B + j] == (i != 4 && j < 2));
}

/* The sum is the whole microbatch's, wherever a sample is cut. */
static void test_parts_of_a_sample_weigh_as_in_the_whole(void **state)
{
    mtlm_real whole[S * B], part[S * B];

    (void) state;
    run_op(weights(0, S), (void *[]){whole}, SAMPLE);
    for (int first = 0; first < S; first += 3) {
        run_op(weights(first, 3), (void *[]){part}, SAMPLE);
        assert_memory_equal(part, whole + first * B, 3 * B * sizeof(*part));
    }
}

static void test_no_label_that_counts_gives_zeros(void **state)
{
    mtlm_real w[S * B];

    (void) state;
    run_op(weights(0, S), (void *[]){w}, SAMPLE + 2);
    for (int i = 0; i < S * B; i++)
        assert_true(w[i] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_batch_has_a_sample_in_each_column),
        cmocka_unit_test(test_a_batch_may_have_every_fourth_sample_alone),
        cmocka_unit_test(
            test_labels_that_count_share_the_weight_of_a_microbatch),
        cmocka_unit_test(test_whole_weights_are_the_mask),
        cmocka_unit_test(test_parts_of_a_sample_weigh_as_in_the_whole),
        cmocka_unit_test(test_no_label_that_counts_gives_zeros),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
