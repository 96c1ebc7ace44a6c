/* The share of rows whose greatest logit is the label's, of a vocabulary that
 * is not split: loss[slot] += share sum_rows w [greatest logit = label].  A row
 * with a NaN has no greatest logit.
 *
 * logits [s, b, V]; labels, weights w [s, b]; loss [MTLM_LOSS_COUNT], double;
 * share: struct mtlm_context.  From vocabulary.size on a column is padding,
 * which counts nowhere. */

#include "config.h"

#include "codelets/greatest.h"
#include "codelets/infer.h"
#include "codelets/value.h"
#include "codelets/xent.h"

static int accuracy_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape rows =
        mtlm_infer_shape_of_rows(call->shape[XA_LOGITS]);

    return mtlm_infer_expect_rank(call, XA_LOGITS, "logits", 3, err)
                   || mtlm_infer_expect_shape(call, XA_LABELS, "labels", rows,
                                              err)
                   || mtlm_infer_expect_shape(call, XA_WEIGHTS, "weights", rows,
                                              err)
                   || mtlm_xent_expect_loss(call, XA_LOSS, err)
               ? -1
               : 0;
}

/* Returns memory for n logits of 16 bit as mtlm_real. */
static mtlm_real *scratch_for(const struct mtlm_call *call, int64_t n,
                              const struct mtlm_context *context)
{
    return call->value == MTLM_REAL
               ? NULL
               : mtlm_scratch_get(context->scratch, n * sizeof(mtlm_real));
}

static void accuracy_cpu(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XA_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[XA_LOGITS]);
    const int64_t n = mtlm_xent_columns(call, cols);
    const mtlm_real *weight = ptr[XA_WEIGHTS];
    mtlm_real *wide = scratch_for(call, n, context);
    const int32_t *labels = ptr[XA_LABELS];
    double *loss = ptr[XA_LOSS], total = 0;

    for (int64_t r = 0; r < rows; r++)
        if (mtlm_greatest(
                mtlm_value_get(call->value, ptr[XA_LOGITS], r * cols, n, wide),
                n)
            == labels[r])
            total += (double) weight[r];
    loss[call->attr.vocabulary.slot] += context->share * total;
}

const struct mtlm_op mtlm_op_accuracy = {
    .name = "accuracy",
    .n_operands = 4,
    .access = {[XA_LOGITS] = MTLM_R,
               [XA_LABELS] = MTLM_R,
               [XA_WEIGHTS] = MTLM_R,
               [XA_LOSS] = MTLM_RW},
    .dtype = {[XA_LOGITS] = MTLM_VALUE,
              [XA_LABELS] = MTLM_I32,
              [XA_LOSS] = MTLM_F64},
    .infer = accuracy_infer,
    .cpu = accuracy_cpu,
    .cuda = MTLM_CUDA_KERNEL(accuracy),
    .cpu_typed = true,
};
