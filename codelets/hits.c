/* Samples whose labels all have the greatest logit, over a vocabulary that is
 * split among the ranks of a tensor-parallel group:
 *
 *   label_misses  misses[0] += rows in which a column of this shard comes
 *                 before the label, misses[1] += rows; of each sample, rows of
 *                 weight 0 left out
 *                 (misses all-reduced by sum)
 *   label_hits    loss[slot] += share * samples with misses[1] > 0 and
 *                 misses[0] = 0
 *
 * A column comes before the label if its logit is greater, or equal with a
 * smaller index: of equal logits the first is the answer.  A logit that is not
 * a number comes before every label.
 *
 * logits [s, b, Vl]; labels, weights w [s, b]; sums [2, s, b] of xent_stats,
 * all-reduced: sums[1] is the label's logit; misses [2, b]; loss
 * [MTLM_LOSS_COUNT], double.  Columns and vocabulary: codelets/xent.c. */

#include "config.h"

#include "codelets/control_slots.h"
#include "codelets/hits.h"
#include "codelets/infer.h"
#include "codelets/xent.h"

static int label_misses_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape *logits = &call->shape[LM_LOGITS];
    struct mtlm_shape rows;

    if (mtlm_infer_expect_rank(call, LM_LOGITS, "logits", 3, err))
        return -1;
    rows = mtlm_infer_shape_of_rows(*logits);
    return mtlm_infer_expect_shape(call, LM_LABELS, "labels", rows, err)
                   || mtlm_infer_expect_shape(
                       call, LM_SUMS, "sums",
                       MTLM_SHAPE(2, logits->dim[0], logits->dim[1]), err)
                   || mtlm_infer_expect_shape(call, LM_WEIGHTS, "weights", rows,
                                              err)
                   || mtlm_infer_expect_shape(call, LM_MISSES, "misses",
                                              MTLM_SHAPE(2, logits->dim[1]),
                                              err)
               ? -1
               : 0;
}

/* Whether a column comes before the label, which is column `label` here.  The
 * negations let a NaN come first. */
static bool any_before(const mtlm_real *logits, int64_t n, int64_t label,
                       mtlm_real target)
{
    for (int64_t i = 0; i < n; i++)
        if (i < label ? !(logits[i] < target) : !(logits[i] <= target))
            return true;
    return false;
}

static void label_misses_cpu(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[LM_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[LM_LOGITS]);
    const int64_t n = mtlm_xent_columns(call, cols);
    const int64_t b = call->shape[LM_MISSES].dim[1];
    const mtlm_real *logits = ptr[LM_LOGITS], *weight = ptr[LM_WEIGHTS];
    const mtlm_real *sums = ptr[LM_SUMS], *target = sums + rows;
    const int32_t *labels = ptr[LM_LABELS];
    mtlm_real *misses = ptr[LM_MISSES];

    (void) context;
    for (int64_t r = 0; r < rows; r++, logits += cols) {
        if (weight[r] == 0)
            continue;
        misses[r % b] += any_before(
            logits, n, labels[r] - call->attr.vocabulary.first, target[r]);
        misses[b + r % b]++;
    }
}

const struct mtlm_op mtlm_op_label_misses = {
    .name = "label_misses",
    .n_operands = 5,
    .access = {[LM_LOGITS] = MTLM_R,
               [LM_LABELS] = MTLM_R,
               [LM_SUMS] = MTLM_R,
               [LM_WEIGHTS] = MTLM_R,
               [LM_MISSES] = MTLM_RW},
    .dtype = {[LM_LOGITS] = MTLM_VALUE, [LM_LABELS] = MTLM_I32},
    .infer = label_misses_infer,
    .cpu = label_misses_cpu,
    .cuda = MTLM_CUDA_KERNEL(label_misses),
};

static int label_hits_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    return mtlm_infer_expect_rank(call, LH_MISSES, "misses", 2, err)
                   || mtlm_infer_expect_shape(call, LH_LOSS, "loss",
                                              MTLM_SHAPE(MTLM_LOSS_COUNT), err)
               ? -1
               : 0;
}

static void label_hits_cpu(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context)
{
    const int64_t b = call->shape[LH_MISSES].dim[1];
    const mtlm_real *misses = ptr[LH_MISSES];
    double *loss = ptr[LH_LOSS];
    int64_t hits = 0;

    for (int64_t j = 0; j < b; j++)
        hits += misses[j] == 0 && misses[b + j] > 0;
    loss[call->attr.vocabulary.slot] += context->share * (double) hits;
}

const struct mtlm_op mtlm_op_label_hits = {
    .name = "label_hits",
    .n_operands = 2,
    .access = {[LH_MISSES] = MTLM_R, [LH_LOSS] = MTLM_RW},
    .dtype = {[LH_LOSS] = MTLM_F64},
    .infer = label_hits_infer,
    .cpu = label_hits_cpu,
    .cuda = MTLM_CUDA_KERNEL(label_hits),
};
