/* Cross-entropy over a split vocabulary with padding. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/codelets/support.h"

/* 29 tokens in rows padded to 36: three shards of 12, the last one with 5
 * tokens and 7 rows of padding. */
enum { S = 7, B = 3, ROWS = S * B, V = 29, PADDED = 36, SHARDS = 3 };

static const double scale = 0.25;

/* A shard of the vocabulary, or with SHARDS = 1 all of it. */
struct shard {
    int64_t first, cols;
    mtlm_real *logits, *max, *sums;
};

static struct mtlm_call call_on(enum mtlm_op_kind kind,
                                const struct shard *shard)
{
    return (struct mtlm_call){
        .kind = kind,
        .attr.vocabulary = {.first = shard->first, .size = V, .scale = scale}};
}

static struct shard new_shard(const mtlm_real *logits, int64_t first,
                              int64_t cols)
{
    struct shard shard = {first, cols, new_undefined(ROWS * cols),
                          new_undefined(ROWS), new_undefined(2 * ROWS)};

    for (int r = 0; r < ROWS; r++)
        memcpy(shard.logits + r * cols, logits + r * PADDED + first,
               cols * sizeof(*logits));
    return shard;
}

static void free_shard(struct shard *shard)
{
    free(shard->logits), free(shard->max), free(shard->sums);
}

static void run_max(struct shard *shard)
{
    struct mtlm_call call = call_on(MTLM_OP_XENT_MAX, shard);

    call.shape[0] = MTLM_SHAPE(S, B, shard->cols);
    run_op(call, (void *[]){shard->logits, shard->max}, 0);
}

static void run_sum(struct shard *shard, int32_t *labels)
{
    struct mtlm_call call = call_on(MTLM_OP_XENT_SUM, shard);

    call.shape[0] = MTLM_SHAPE(S, B, shard->cols);
    call.shape[1] = call.shape[2] = MTLM_SHAPE(S, B);
    run_op(call, (void *[]){shard->logits, labels, shard->max, shard->sums}, 0);
}

/* Returns the loss added to 1; leaves the gradient in the logits. */
static double run_loss(struct shard *shard, int32_t *labels)
{
    struct mtlm_call call = call_on(MTLM_OP_XENT_LOSS, shard);
    double loss = 1;

    call.shape[0] = MTLM_SHAPE(S, B, shard->cols);
    call.shape[1] = call.shape[2] = MTLM_SHAPE(S, B);
    call.shape[3] = MTLM_SHAPE(2, S, B);
    call.shape[4] = MTLM_SHAPE(1);
    run_op(call,
           (void *[]){shard->logits, labels, shard->max, shard->sums, &loss},
           0);
    call = call_on(MTLM_OP_XENT_BWD, shard);
    call.shape[0] = call.shape[1] = MTLM_SHAPE(S, B);
    call.shape[2] = MTLM_SHAPE(2, S, B);
    call.shape[3] = MTLM_SHAPE(S, B, shard->cols);
    run_op(call, (void *[]){labels, shard->max, shard->sums, shard->logits}, 0);
    return loss;
}

/* Padding that would win the maximum if it counted. */
static mtlm_real *new_logits(void)
{
    mtlm_real *logits = new_normal(ROWS * PADDED, 1);

    for (int i = 0; i < ROWS * PADDED; i++)
        logits[i] = i % PADDED < V ? 5 * logits[i] : 100;
    return logits;
}

static double reference(const mtlm_real *logits, const int32_t *labels,
                        double *dlogits)
{
    double loss = 0;

    for (int r = 0; r < ROWS; r++) {
        double sum = 0;

        for (int c = 0; c < V; c++)
            sum += exp(logits[r * PADDED + c]);
        loss += scale / ROWS * (log(sum) - logits[r * PADDED + labels[r]]);
        for (int c = 0; c < PADDED; c++)
            dlogits[r * PADDED + c] =
                c < V ? scale / ROWS
                            * (exp(logits[r * PADDED + c]) / sum
                               - (c == labels[r]))
                      : 0;
    }
    return loss;
}

static void test_whole_vocabulary(void **state)
{
    mtlm_real *logits = new_logits();
    int32_t *labels = new_tokens(ROWS, V, 2);
    struct shard shard = new_shard(logits, 0, PADDED);
    double want[ROWS * PADDED], want_loss;

    (void) state;
    want_loss = reference(logits, labels, want);
    run_max(&shard);
    run_sum(&shard, labels);
    assert_true(fabs(run_loss(&shard, labels) - 1 - want_loss)
                < 1e-6 * want_loss);
    assert_true(worst_error(shard.logits, want, ROWS * PADDED) < 1e-5);
    for (int i = 0; i < ROWS * PADDED; i++)
        assert_true(i % PADDED < V || shard.logits[i] == 0);
    free(logits), free(labels), free_shard(&shard);
}

/* The maximum and the sums reduced by hand as the group would do. */
static void test_shards_together_are_the_whole(void **state)
{
    const int cols = PADDED / SHARDS;
    mtlm_real *logits = new_logits();
    int32_t *labels = new_tokens(ROWS, V, 2);
    struct shard shard[SHARDS];
    double want[ROWS * PADDED], want_loss;

    (void) state;
    want_loss = reference(logits, labels, want);
    for (int i = 0; i < SHARDS; i++) {
        shard[i] = new_shard(logits, i * cols, cols);
        run_max(&shard[i]);
    }
    for (int r = 0; r < ROWS; r++) {
        mtlm_real max = shard[0].max[r];

        for (int i = 1; i < SHARDS; i++)
            max = shard[i].max[r] > max ? shard[i].max[r] : max;
        for (int i = 0; i < SHARDS; i++)
            shard[i].max[r] = max;
    }
    for (int i = 0; i < SHARDS; i++)
        run_sum(&shard[i], labels);
    for (int r = 0; r < 2 * ROWS; r++) {
        mtlm_real sum = 0;

        for (int i = 0; i < SHARDS; i++)
            sum += shard[i].sums[r];
        for (int i = 0; i < SHARDS; i++)
            shard[i].sums[r] = sum;
    }
    for (int i = 0; i < SHARDS; i++) {
        mtlm_real *whole = new_zeros(ROWS * PADDED);
        double part[ROWS * PADDED] = {0};

        assert_true(fabs(run_loss(&shard[i], labels) - 1 - want_loss)
                    < 1e-6 * want_loss);
        for (int r = 0; r < ROWS; r++)
            for (int c = i * cols; c < (i + 1) * cols; c++) {
                whole[r * PADDED + c] =
                    shard[i].logits[r * cols + c - i * cols];
                part[r * PADDED + c] = want[r * PADDED + c];
            }
        assert_true(worst_error(whole, part, ROWS * PADDED) < 1e-5);
        free(whole), free_shard(&shard[i]);
    }
    free(logits), free(labels);
}

static void test_a_shard_of_padding_alone_adds_nothing(void **state)
{
    mtlm_real *logits = new_logits();
    int32_t *labels = new_tokens(ROWS, V, 2);
    struct shard shard = new_shard(logits, 30, 6);

    (void) state;
    run_max(&shard);
    for (int r = 0; r < ROWS; r++) {
        assert_true(isfinite(shard.max[r]) && shard.max[r] < -1e38);
        shard.max[r] = 3;
    }
    run_sum(&shard, labels);
    for (int r = 0; r < 2 * ROWS; r++)
        assert_true(shard.sums[r] == 0);
    for (int r = 0; r < 2 * ROWS; r++)
        shard.sums[r] = 2;
    run_loss(&shard, labels);
    for (int i = 0; i < ROWS * 6; i++)
        assert_true(shard.logits[i] == 0);
    free(logits), free(labels), free_shard(&shard);
}

/* 50000 logits: a sum in single precision alone would lose digits. */
static void test_long_rows_keep_their_digits(void **state)
{
    enum { LONG = 50000 };
    struct mtlm_call call = {
        .kind = MTLM_OP_XENT_SUM,
        .attr.vocabulary.size = LONG,
        .shape = {MTLM_SHAPE(1, 1, LONG), MTLM_SHAPE(1, 1), MTLM_SHAPE(1, 1)}};
    mtlm_real *logits = new_normal(LONG, 1), max = 0, sums[2];
    int32_t label = 7;
    double want = 0;

    (void) state;
    for (int i = 0; i < LONG; i++)
        want += exp(logits[i]);
    run_op(call, (void *[]){logits, &label, &max, sums}, 0);
    assert_true(fabs(sums[0] / want - 1) < 2e-7);
    assert_true(sums[1] == logits[7]);
    free(logits);
}

static void test_labels_of_another_shape_are_refused(void **state)
{
    (void) state;
    assert_refused(
        (struct mtlm_call){
            .kind = MTLM_OP_XENT_SUM,
            .shape = {MTLM_SHAPE(S, B, V), MTLM_SHAPE(B, S), MTLM_SHAPE(S, B)}},
        "xent_sum: labels is [3, 7], needs [7, 3]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_vocabulary),
        cmocka_unit_test(test_shards_together_are_the_whole),
        cmocka_unit_test(test_a_shard_of_padding_alone_adds_nothing),
        cmocka_unit_test(test_long_rows_keep_their_digits),
        cmocka_unit_test(test_labels_of_another_shape_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
