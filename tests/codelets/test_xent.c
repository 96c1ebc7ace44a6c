/* Cross-entropy over a split vocabulary with padding. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/control_slots.h"
#include "tests/codelets/support.h"

/* 29 tokens in rows padded to 36: three shards of 12, the last one with 5
 * tokens and 7 rows of padding. */
enum { S = 7, B = 3, ROWS = S * B, V = 29, PADDED = 36, SHARDS = 3 };

/* Of the loss: its gradient is that much greater. */
#define SCALE 1024

/* A shard of the vocabulary, or with SHARDS = 1 all of it. */
struct shard {
    int64_t first, cols;
    mtlm_real *logits, *local, *max, *sums;
};

/* Of each row, one of them 0: its label must not matter. */
static double weight_of(int row)
{
    return row == 4 ? 0 : 0.01 * (1 + row);
}

static struct mtlm_call call_on(enum mtlm_op_kind kind,
                                const struct shard *shard)
{
    return (struct mtlm_call){.kind = kind,
                              .attr.vocabulary = {.first = shard->first,
                                                  .size = V,
                                                  .slot = MTLM_LOSS_SOP}};
}

static struct shard new_shard(const mtlm_real *logits, int64_t first,
                              int64_t cols)
{
    struct shard shard = {first,
                          cols,
                          new_undefined(ROWS * cols),
                          new_undefined(ROWS),
                          new_undefined(ROWS),
                          new_undefined(2 * ROWS)};

    for (int r = 0; r < ROWS; r++)
        memcpy(shard.logits + r * cols, logits + r * PADDED + first,
               cols * sizeof(*logits));
    return shard;
}

static void free_shard(struct shard *shard)
{
    free(shard->logits), free(shard->local);
    free(shard->max), free(shard->sums);
}

static void run_stats(struct shard *shard, int32_t *labels)
{
    struct mtlm_call call = call_on(MTLM_OP_XENT_STATS, shard);

    call.shape[0] = MTLM_SHAPE(S, B, shard->cols);
    call.shape[1] = MTLM_SHAPE(S, B);
    run_op(call,
           (void *[]){shard->logits, labels, shard->local, shard->max,
                      shard->sums},
           0);
}

/* The maximum is now that of all shards. */
static void run_rescale(struct shard *shard)
{
    struct mtlm_call call = call_on(MTLM_OP_XENT_RESCALE, shard);

    call.shape[0] = call.shape[1] = MTLM_SHAPE(S, B);
    call.shape[2] = MTLM_SHAPE(2, S, B);
    run_op(call, (void *[]){shard->local, shard->max, shard->sums}, 0);
}

/* Returns the loss added to 1; leaves the gradient in the logits. */
static double run_loss(struct shard *shard, int32_t *labels)
{
    struct mtlm_call call = call_on(MTLM_OP_XENT_LOSS, shard);
    double loss[MTLM_LOSS_COUNT] = {5, 1, 7};
    double control[MTLM_CONTROL_COUNT] = {[MTLM_CONTROL_LOSS_SCALE] = SCALE};
    mtlm_real weights[ROWS];

    for (int r = 0; r < ROWS; r++)
        weights[r] = weight_of(r);
    call.shape[0] = MTLM_SHAPE(S, B, shard->cols);
    call.shape[1] = call.shape[2] = call.shape[4] = MTLM_SHAPE(S, B);
    call.shape[3] = MTLM_SHAPE(2, S, B);
    call.shape[5] = MTLM_SHAPE(MTLM_CONTROL_COUNT);
    call.shape[6] = MTLM_SHAPE(MTLM_LOSS_COUNT);
    run_op(call,
           (void *[]){shard->logits, labels, shard->max, shard->sums, weights,
                      control, loss},
           0);
    assert_true(loss[MTLM_LOSS_LM] == 5 && loss[MTLM_LOSS_SOP_HITS] == 7);
    call = call_on(MTLM_OP_XENT_BWD, shard);
    call.shape[0] = call.shape[1] = call.shape[3] = MTLM_SHAPE(S, B);
    call.shape[2] = MTLM_SHAPE(2, S, B);
    call.shape[4] = MTLM_SHAPE(MTLM_CONTROL_COUNT);
    call.shape[5] = MTLM_SHAPE(S, B, shard->cols);
    run_op(call,
           (void *[]){labels, shard->max, shard->sums, weights, control,
                      shard->logits},
           0);
    return loss[MTLM_LOSS_SOP];
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
        const double scale = RUN_SHARE * weight_of(r);
        double sum = 0;

        for (int c = 0; c < V; c++)
            sum += exp(logits[r * PADDED + c]);
        loss += scale * (log(sum) - logits[r * PADDED + labels[r]]);
        for (int c = 0; c < PADDED; c++)
            dlogits[r * PADDED + c] =
                c < V ? SCALE * scale
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
    run_stats(&shard, labels);
    assert_memory_equal(shard.local, shard.max, ROWS * sizeof(mtlm_real));
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
        run_stats(&shard[i], labels);
    }
    for (int r = 0; r < ROWS; r++) {
        mtlm_real max = shard[0].max[r];

        for (int i = 1; i < SHARDS; i++)
            max = shard[i].max[r] > max ? shard[i].max[r] : max;
        for (int i = 0; i < SHARDS; i++)
            shard[i].max[r] = max;
    }
    for (int i = 0; i < SHARDS; i++)
        run_rescale(&shard[i]);
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
    run_stats(&shard, labels);
    for (int r = 0; r < ROWS; r++) {
        assert_true(isfinite(shard.max[r]) && shard.max[r] < -1e38);
        shard.max[r] = 3;
    }
    run_rescale(&shard);
    for (int r = 0; r < 2 * ROWS; r++)
        assert_true(shard.sums[r] == 0);
    for (int r = 0; r < 2 * ROWS; r++)
        shard.sums[r] = 2;
    run_loss(&shard, labels);
    for (int i = 0; i < ROWS * 6; i++)
        assert_true(shard.logits[i] == 0);
    free(logits), free(labels), free_shard(&shard);
}

/* A row of weight 0 may hold anything. */
static void test_rows_without_weight_stay_out(void **state)
{
    mtlm_real *logits = new_logits();
    int32_t *labels = new_tokens(ROWS, V, 2);
    struct shard shard;
    double loss;

    (void) state;
    for (int c = 0; c < PADDED; c++)
        logits[4 * PADDED + c] = c % 2 ? INFINITY : NAN;
    labels[4] = -1;
    shard = new_shard(logits, 0, PADDED);
    run_stats(&shard, labels);
    loss = run_loss(&shard, labels);
    assert_true(loss > 1 && loss < INFINITY);
    for (int i = 0; i < ROWS * PADDED; i++)
        assert_true(i / PADDED == 4 ? shard.logits[i] == 0
                                    : isfinite(shard.logits[i]));
    free(logits), free(labels), free_shard(&shard);
}

static void test_accuracy_counts_weighted_hits(void **state)
{
    const struct mtlm_call call = {
        .kind = MTLM_OP_ACCURACY,
        .attr.vocabulary = {.size = 2, .slot = MTLM_LOSS_SOP_HITS},
        .shape = {MTLM_SHAPE(1, 4, 3), MTLM_SHAPE(1, 4), MTLM_SHAPE(1, 4),
                  MTLM_SHAPE(MTLM_LOSS_COUNT)}};
    /* The third column is padding. */
    mtlm_real logits[] = {1, 2, 9, 2, 1, 9, -1, -2, 9, 3, 3, 9};
    mtlm_real weights[] = {0.5, 1, 2, 4};
    int32_t labels[] = {1, 1, 0, 0};
    double loss[MTLM_LOSS_COUNT] = {5, 6, 7};

    (void) state;
    run_op(call, (void *[]){logits, labels, weights, loss}, 0);
    assert_true(loss[MTLM_LOSS_LM] == 5 && loss[MTLM_LOSS_SOP] == 6);
    assert_true(loss[MTLM_LOSS_SOP_HITS] == 7 + RUN_SHARE * (0.5 + 2 + 4));
}

static void test_a_row_with_a_nan_is_no_hit(void **state)
{
    const struct mtlm_call call = {
        .kind = MTLM_OP_ACCURACY,
        .attr.vocabulary = {.size = 2, .slot = MTLM_LOSS_SOP_HITS},
        .shape = {MTLM_SHAPE(1, 4, 3), MTLM_SHAPE(1, 4), MTLM_SHAPE(1, 4),
                  MTLM_SHAPE(MTLM_LOSS_COUNT)}};
    /* The third column is padding. */
    mtlm_real logits[] = {NAN, NAN, 9, NAN, 1, 9, 2, NAN, 9, 2, 1, NAN};
    mtlm_real weights[] = {0.5, 1, 2, 4};
    int32_t labels[] = {0, 0, 0, 0};
    double loss[MTLM_LOSS_COUNT] = {5, 6, 7};

    (void) state;
    run_op(call, (void *[]){logits, labels, weights, loss}, 0);
    assert_true(loss[MTLM_LOSS_SOP_HITS] == 7 + RUN_SHARE * 4);
}

static void test_shapes_that_do_not_fit_are_refused(void **state)
{
    const struct mtlm_shape rows = MTLM_SHAPE(S, B), loss = MTLM_SHAPE(3);
    const struct mtlm_shape control = MTLM_SHAPE(MTLM_CONTROL_COUNT);
    const struct mtlm_shape logits = MTLM_SHAPE(S, B, V);
    struct mtlm_call call = {.kind = MTLM_OP_XENT_LOSS,
                             .shape = {logits, rows, rows, MTLM_SHAPE(2, S, B),
                                       MTLM_SHAPE(S), control, loss}};

    (void) state;
    assert_refused((struct mtlm_call){.kind = MTLM_OP_XENT_STATS,
                                      .shape = {logits, MTLM_SHAPE(B, S)}},
                   "xent_stats: labels is [3, 7], needs [7, 3]");
    assert_refused((struct mtlm_call){.kind = MTLM_OP_XENT_RESCALE,
                                      .shape = {rows, rows, rows}},
                   "xent_rescale: sums is [7, 3], needs [2, 7, 3]");
    assert_refused(call, "xent_loss: weights is [7], needs [7, 3]");
    call.shape[4] = rows;
    call.shape[6] = MTLM_SHAPE(1);
    assert_refused(call, "xent_loss: loss is [1], needs [3]");
    call.shape[6] = loss;
    call.attr.vocabulary.slot = MTLM_LOSS_COUNT;
    assert_refused(call, "xent_loss: loss slot 3 does not exist");
    assert_refused((struct mtlm_call){.kind = MTLM_OP_XENT_BWD,
                                      .shape = {rows, rows, MTLM_SHAPE(2, S, B),
                                                loss, control, logits}},
                   "xent_bwd: weights is [3], needs [7, 3]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_ACCURACY,
                           .shape = {logits, rows, MTLM_SHAPE(B), loss}},
        "accuracy: weights is [3], needs [7, 3]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_vocabulary),
        cmocka_unit_test(test_shards_together_are_the_whole),
        cmocka_unit_test(test_a_shard_of_padding_alone_adds_nothing),
        cmocka_unit_test(test_rows_without_weight_stay_out),
        cmocka_unit_test(test_accuracy_counts_weighted_hits),
        cmocka_unit_test(test_a_row_with_a_nan_is_no_hit),
        cmocka_unit_test(test_shapes_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
