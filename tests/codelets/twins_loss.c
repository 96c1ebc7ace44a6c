/* The CUDA kernels of cross-entropy and accuracy against their CPU twins. */

#include "config.h"

#include "tests/codelets/twin.h"

#if HAVE_CUDA

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/control_slots.h"
#include "codelets/hits.h"
#include "codelets/xent.h"
#include "tests/codelets/support.h"
#include "tests/codelets/twins.h"

/* A shard of a vocabulary, and the rows that meet it. */
struct shard {
    int64_t s, b, cols;
    int64_t first, size; /* of the vocabulary: padding follows size */
};

static const struct shard shards[] = {
    {1, 1, 1, 0, 1},          {7, 3, 2, 0, 2}, {3, 2, 301, 0, 301},
    {2, 2, 1040, 0, 1033},    /* the last 16 bytes hold both */
    {2, 1, 6283, 0, 6283},    /* odd: no row but the first is aligned */
    {3, 1, 4224, 4224, 8100}, /* a later rank's; all of 8 blocks' turns */
    {2, 1, 512, 1024, 1024},  /* nothing but padding */
    {1, 1, 12800, 0, 12565},  /* several turns of a block */
};

static struct mtlm_call call_of(enum mtlm_op_kind kind, const struct shard *x)
{
    return (struct mtlm_call){.kind = kind,
                              .attr.vocabulary = {.first = x->first,
                                                  .size = x->size,
                                                  .slot = MTLM_LOSS_SOP},
                              .shape = {MTLM_SHAPE(x->s, x->b, x->cols)}};
}

/* Of the shard and of other ranks. */
static void fill_labels(const struct mtlm_call *call, int logits, void *labels)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[logits]);
    const int64_t size = call->attr.vocabulary.size;
    int32_t *token = new_tokens(rows, (int32_t) size, 3);

    token[0] = (int32_t) size - 1;
    memcpy(labels, token, rows * sizeof(*token));
    free(token);
}

/* As wide as logits are; padding may hold anything. */
static void fill_logits(const struct mtlm_call *call, int operand,
                        mtlm_real *logits)
{
    const int64_t cols = mtlm_shape_cols(&call->shape[operand]);
    const int64_t n = mtlm_xent_columns(call, cols);
    const int64_t rows = mtlm_shape_rows(&call->shape[operand]);

    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) {
            mtlm_real *x = &logits[r * cols + c];

            *x = c < n ? 4 * *x + (mtlm_real) (r * c % 17) : 1e4f;
        }
}

/* Every third row counts nothing, no two others the same. */
static void fill_weights(mtlm_real *weight, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++)
        weight[r] = r % 3 == 2 ? 0 : 1 / (mtlm_real) (2 + r);
}

static void fill_stats(const struct mtlm_call *call, void *const ptr[])
{
    fill_labels(call, XS_LOGITS, ptr[XS_LABELS]);
    fill_logits(call, XS_LOGITS, ptr[XS_LOGITS]);
}

static void fill_bwd(const struct mtlm_call *call, void *const ptr[])
{
    const struct mtlm_shape *logits = &call->shape[XB_LOGITS];
    const int64_t rows = mtlm_shape_rows(logits);
    struct mtlm_call stats = {.kind = MTLM_OP_XENT_STATS,
                              .attr = call->attr,
                              .shape = {*logits, call->shape[XB_LABELS]}};
    mtlm_real *local = new_zeros(rows);
    double *control = ptr[XB_CONTROL];

    fill_labels(call, XB_LOGITS, ptr[XB_LABELS]);
    fill_logits(call, XB_LOGITS, ptr[XB_LOGITS]);
    fill_weights(ptr[XB_WEIGHTS], rows);
    control[MTLM_CONTROL_LOSS_SCALE] = 64;
    run_op(stats,
           (void *[]){ptr[XB_LOGITS], ptr[XB_LABELS], local, ptr[XB_MAX],
                      ptr[XB_SUMS]},
           0);
    free(local);
}

void test_cross_entropy(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(shards) / sizeof(*shards); i++) {
        const struct shard *x = &shards[i];
        const struct mtlm_shape rows = MTLM_SHAPE(x->s, x->b);
        const struct mtlm_shape control = MTLM_SHAPE(MTLM_CONTROL_COUNT);
        struct twin stats = {.call = call_of(MTLM_OP_XENT_STATS, x),
                             .fill = fill_stats};
        struct twin bwd = {.call = call_of(MTLM_OP_XENT_BWD, x),
                           .fill = fill_bwd};

        stats.call.shape[XS_LABELS] = rows;
        bwd.call.shape[XB_LOGITS] = bwd.call.shape[0];
        bwd.call.shape[XB_LABELS] = bwd.call.shape[XB_MAX] =
            bwd.call.shape[XB_WEIGHTS] = rows;
        bwd.call.shape[XB_SUMS] = MTLM_SHAPE(2, x->s, x->b);
        bwd.call.shape[XB_CONTROL] = control;
        twin_compare(&stats);
        twin_compare(&bwd);
    }
}

static void fill_rescale(const struct mtlm_call *call, void *const ptr[])
{
    const int64_t rows = mtlm_shape_elems(&call->shape[XR_LOCAL]);
    mtlm_real *local = ptr[XR_LOCAL], *max = ptr[XR_MAX];

    for (int64_t r = 0; r < rows; r++)
        max[r] = local[r] + (mtlm_real) (r % 40);
}

static void fill_loss(const struct mtlm_call *call, void *const ptr[])
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XL_LOGITS]);
    mtlm_real *sum = ptr[XL_SUMS];

    for (int64_t r = 0; r < rows; r++)
        sum[r] = 1 + sum[r] * sum[r];
    fill_weights(ptr[XL_WEIGHTS], rows);
    sum[rows > 2 ? 2 : 0] = rows > 2 ? 0 : 1; /* log(0) must not count */
}

void test_loss(void **state)
{
    static const int64_t s[] = {1, 2, 37, 2049};

    (void) state;
    for (size_t i = 0; i < sizeof(s) / sizeof(*s); i++) {
        const struct shard x = {s[i], 3 - i % 2, 2, 0, 2};
        const struct mtlm_shape rows = MTLM_SHAPE(x.s, x.b);
        const struct mtlm_shape sums = MTLM_SHAPE(2, x.s, x.b);
        struct twin loss = {.call = call_of(MTLM_OP_XENT_LOSS, &x),
                            .fill = fill_loss};

        loss.call.shape[XL_LABELS] = loss.call.shape[XL_MAX] =
            loss.call.shape[XL_WEIGHTS] = rows;
        loss.call.shape[XL_SUMS] = sums;
        loss.call.shape[XL_CONTROL] = MTLM_SHAPE(MTLM_CONTROL_COUNT);
        loss.call.shape[XL_LOSS] = MTLM_SHAPE(MTLM_LOSS_COUNT);
        twin_compare(&loss);
        twin_compare(&(struct twin){
            .call = {.kind = MTLM_OP_XENT_RESCALE, .shape = {rows, rows, sums}},
            .fill = fill_rescale,
            .real_only = true});
    }
}

/* Few values, so that there are equal ones; rows with what is no number. */
static void fill_accuracy(const struct mtlm_call *call, void *const ptr[])
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XA_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[XA_LOGITS]);
    mtlm_real *logits = ptr[XA_LOGITS];
    int32_t *labels = ptr[XA_LABELS];

    fill_labels(call, XA_LOGITS, labels);
    fill_weights(ptr[XA_WEIGHTS], rows);
    for (int64_t i = 0; i < rows * cols; i++)
        logits[i] = (mtlm_real) (int) (2 * logits[i]);
    for (int64_t r = 0; r < rows; r += 4) { /* of equal ones, the first wins */
        labels[r] = 0;
        if (r % 8 == 0)
            logits[r * cols + (r % 16 && cols > 1)] = (mtlm_real) NAN;
    }
    for (int64_t c = 0; c < cols; c++)
        logits[(rows - 1) * cols + c] = (mtlm_real) -INFINITY;
}

void test_accuracy(void **state)
{
    static const struct shard x[] = {
        {1, 1, 1, 0, 1}, {1, 21, 2, 0, 2}, {3, 13, 70, 0, 67}};

    (void) state;
    for (size_t i = 0; i < sizeof(x) / sizeof(*x); i++) {
        struct twin hits = {.call = call_of(MTLM_OP_ACCURACY, &x[i]),
                            .fill = fill_accuracy};

        hits.call.shape[XA_LABELS] = hits.call.shape[XA_WEIGHTS] =
            MTLM_SHAPE(x[i].s, x[i].b);
        hits.call.shape[XA_LOSS] = MTLM_SHAPE(MTLM_LOSS_COUNT);
        twin_compare(&hits);
    }
}

/* Small whole numbers: 16 bits hold them, and there are equal ones.  The
 * greatest one is the label's in most rows that count. */
static void fill_misses(const struct mtlm_call *call, void *const ptr[])
{
    const int64_t rows = mtlm_shape_rows(&call->shape[LM_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[LM_LOGITS]);
    const int64_t n = mtlm_xent_columns(call, cols);
    mtlm_real *logits = ptr[LM_LOGITS], *sums = ptr[LM_SUMS];
    const int32_t *labels = ptr[LM_LABELS];

    fill_labels(call, LM_LOGITS, ptr[LM_LABELS]);
    fill_weights(ptr[LM_WEIGHTS], rows);
    for (int64_t i = 0; i < rows * cols; i++)
        logits[i] = (mtlm_real) (int) logits[i];
    for (int64_t r = 0; r < rows; r++) {
        const int64_t label = labels[r] - call->attr.vocabulary.first;

        sums[rows + r] = r % 4 == 3 ? 0 : 4;
        if (label >= 0 && label < n)
            logits[r * cols + label] = sums[rows + r];
    }
    logits[(rows - 1) * cols] = (mtlm_real) NAN;
}

/* Of samples with misses, without, and without a row that counts. */
static void fill_hits(const struct mtlm_call *call, void *const ptr[])
{
    const int64_t b = call->shape[LH_MISSES].dim[1];
    mtlm_real *misses = ptr[LH_MISSES];

    for (int64_t j = 0; j < b; j++) {
        misses[j] = (mtlm_real) (j % 2);
        misses[b + j] = (mtlm_real) (j % 3);
    }
}

void test_hits(void **state)
{
    static const struct shard x[] = {
        {1, 1, 1, 0, 1}, {13, 3, 70, 0, 67}, {5, 2, 301, 301, 900}};

    (void) state;
    for (size_t i = 0; i < sizeof(x) / sizeof(*x); i++) {
        struct twin misses = {.call = call_of(MTLM_OP_LABEL_MISSES, &x[i]),
                              .fill = fill_misses};
        struct twin hits = {.call = call_of(MTLM_OP_LABEL_HITS, &x[i]),
                            .fill = fill_hits};

        misses.call.shape[LM_LABELS] = misses.call.shape[LM_WEIGHTS] =
            MTLM_SHAPE(x[i].s, x[i].b);
        misses.call.shape[LM_SUMS] = MTLM_SHAPE(2, x[i].s, x[i].b);
        misses.call.shape[LM_MISSES] = MTLM_SHAPE(2, x[i].b);
        twin_compare(&misses);
        hits.call.shape[LH_MISSES] = MTLM_SHAPE(2, x[i].b);
        hits.call.shape[LH_LOSS] = MTLM_SHAPE(MTLM_LOSS_COUNT);
        twin_compare(&hits);
    }
}

#endif
