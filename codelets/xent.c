/* Cross-entropy over a vocabulary that is split among the ranks of a
 * tensor-parallel group (Megatron-LM, arXiv 1909.08053, section 3), of which
 * each reads its logits once forward:
 *
 *   xent_stats    local = max = maximum over this rank's columns
 *                 sums = sum e^(logit - local), logit[label] or 0
 *                 (max all-reduced by maximum)
 *   xent_rescale  sums[0] *= e^(local - max)
 *                 (sums all-reduced by sum)
 *   xent_loss     loss[slot] += share sum_rows w (log(sums[0]) + max - sums[1])
 *   xent_bwd      dlogit = share scale w (e^(logit - max) / sums[0]
 *                                         - [column = label])
 *
 * One rank alone leaves out xent_rescale.  The first two are in xent_stats.c.
 *
 * logits [s, b, Vl]; labels, local, max, weights w [s, b]; sums [2, s, b];
 * loss [MTLM_LOSS_COUNT], control [MTLM_CONTROL_COUNT], double; share: struct
 * mtlm_context; scale: control's MTLM_CONTROL_LOSS_SCALE.  Column c of
 * the shard is row vocabulary.first + c of the vocabulary; from
 * vocabulary.size on it is padding, which counts nowhere. */

#include "config.h"

#include <math.h>
#include <string.h>

#include "codelets/control_slots.h"
#include "codelets/infer.h"
#include "codelets/value.h"
#include "codelets/xent_block.h"
#include "runtime/base/least.h"

struct mtlm_shape mtlm_xent_shape_of_sums(const struct mtlm_shape *logits)
{
    return MTLM_SHAPE(2, logits->dim[0], logits->dim[1]);
}

int mtlm_xent_expect_loss(const struct mtlm_call *call, int loss,
                          struct mtlm_error *err)
{
    const int slot = call->attr.vocabulary.slot;

    if (slot < 0 || slot >= MTLM_LOSS_COUNT)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "loss slot %d does not exist", slot);
    return mtlm_infer_expect_shape(call, loss, "loss",
                                   MTLM_SHAPE(MTLM_LOSS_COUNT), err);
}

static int xent_loss_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;
    const struct mtlm_shape rows = mtlm_infer_shape_of_rows(shape[XL_LOGITS]);

    return mtlm_infer_expect_rank(call, XL_LOGITS, "logits", 3, err)
                   || mtlm_infer_expect_shape(call, XL_LABELS, "labels", rows,
                                              err)
                   || mtlm_infer_expect_shape(call, XL_MAX, "max", rows, err)
                   || mtlm_infer_expect_shape(
                       call, XL_SUMS, "sums",
                       mtlm_xent_shape_of_sums(&shape[XL_LOGITS]), err)
                   || mtlm_infer_expect_shape(call, XL_WEIGHTS, "weights", rows,
                                              err)
                   || mtlm_infer_expect_shape(call, XL_CONTROL, "control",
                                              MTLM_SHAPE(MTLM_CONTROL_COUNT),
                                              err)
                   || mtlm_xent_expect_loss(call, XL_LOSS, err)
               ? -1
               : 0;
}

/* A row of weight 0 has no valid label; it must not make the loss a NaN.
 */
static void xent_loss_cpu(void *const ptr[], const struct mtlm_call *call,
                          const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XL_LOGITS]);
    const mtlm_real *max = ptr[XL_MAX], *weight = ptr[XL_WEIGHTS];
    const mtlm_real *sum = ptr[XL_SUMS], *target = sum + rows;
    double *loss = ptr[XL_LOSS], total = 0;

    for (int64_t r = 0; r < rows; r++)
        if (weight[r] != 0)
            total += (double) weight[r]
                     * (log((double) sum[r])
                        + ((double) max[r] - (double) target[r]));
    loss[call->attr.vocabulary.slot] += context->share * total;
}

const struct mtlm_op mtlm_op_xent_loss = {
    .name = "xent_loss",
    .n_operands = 7,
    .access = {[XL_LOGITS] = MTLM_R,
               [XL_LABELS] = MTLM_R,
               [XL_MAX] = MTLM_R,
               [XL_SUMS] = MTLM_R,
               [XL_WEIGHTS] = MTLM_R,
               [XL_CONTROL] = MTLM_R,
               [XL_LOSS] = MTLM_RW},
    .dtype = {[XL_LOGITS] = MTLM_VALUE,
              [XL_LABELS] = MTLM_I32,
              [XL_CONTROL] = MTLM_F64,
              [XL_LOSS] = MTLM_F64},
    .infer = xent_loss_infer,
    .grad = {.root = true,
             .call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_XENT_BWD,
                       .arg = {{MTLM_GRAD_VALUE, XL_LABELS},
                               {MTLM_GRAD_VALUE, XL_MAX},
                               {MTLM_GRAD_VALUE, XL_SUMS},
                               {MTLM_GRAD_VALUE, XL_WEIGHTS},
                               {MTLM_GRAD_VALUE, XL_CONTROL},
                               {MTLM_GRAD_OVER, XL_LOGITS}}}}},
    .cpu = xent_loss_cpu,
    .cuda = MTLM_CUDA_KERNEL(xent_loss),
    .cpu_typed = true,
};

static int xent_bwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;
    const struct mtlm_shape rows = mtlm_infer_shape_of_rows(shape[XB_LOGITS]);

    return mtlm_infer_expect_rank(call, XB_LOGITS, "logits", 3, err)
                   || mtlm_infer_expect_shape(call, XB_LABELS, "labels", rows,
                                              err)
                   || mtlm_infer_expect_shape(call, XB_MAX, "max", rows, err)
                   || mtlm_infer_expect_shape(
                       call, XB_SUMS, "sums",
                       mtlm_xent_shape_of_sums(&shape[XB_LOGITS]), err)
                   || mtlm_infer_expect_shape(call, XB_WEIGHTS, "weights", rows,
                                              err)
                   || mtlm_infer_expect_shape(call, XB_CONTROL, "control",
                                              MTLM_SHAPE(MTLM_CONTROL_COUNT),
                                              err)
               ? -1
               : 0;
}

static double xent_bwd_flops(const struct mtlm_call *call)
{
    return 9.0 * mtlm_shape_elems(&call->shape[XB_LOGITS]);
}

/* Replaces a block of n logits by their gradients; those of padding, columns
 * from `valid` on, are 0.  label: its column in the block, which may lie
 * outside.  scale: of the row's loss. */
static void backward_block(mtlm_real *logits, int64_t n, int64_t valid,
                           int64_t label, mtlm_real max, mtlm_real sum,
                           mtlm_real scale)
{
    const struct mtlm_xent_shift shift = mtlm_xent_shift_of(max);
    const mtlm_real factor = shift.factor * scale / sum;

    if (scale == 0)
        valid = 0;
#pragma omp simd
    for (int64_t i = 0; i < valid; i++)
        logits[i] = factor * mtlm_xent_shifted_exp(logits[i], shift.by);
    if (label >= 0 && label < valid)
        logits[label] -= scale;
    memset(logits + valid, 0, (n - valid) * sizeof(*logits));
}

static void xent_bwd_cpu(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XB_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[XB_LOGITS]);
    const int64_t n = mtlm_xent_columns(call, cols);
    const struct mtlm_xent_logits logits = {call->value, ptr[XB_LOGITS], rows,
                                            cols, cols};
    const int32_t *labels = ptr[XB_LABELS];
    const mtlm_real *max = ptr[XB_MAX], *sum = ptr[XB_SUMS];
    const mtlm_real *weight = ptr[XB_WEIGHTS];
    const double *control = ptr[XB_CONTROL];
    const double share = context->share * control[MTLM_CONTROL_LOSS_SCALE];
    mtlm_real buffer[MTLM_XENT_BUFFER];

    for (struct mtlm_xent_block b = mtlm_xent_block_first(&logits, buffer);
         b.row < rows; b = mtlm_xent_block_next(&logits, b, buffer)) {
        const int64_t valid = mtlm_least(n - b.column, b.n);
        const int64_t label = labels[b.row] - call->attr.vocabulary.first;

        backward_block(b.logits, b.n, valid < 0 ? 0 : valid, label - b.column,
                       max[b.row], sum[b.row], share * weight[b.row]);
        mtlm_value_put(logits.type, b.logits, b.row * cols + b.column, b.n,
                       logits.values);
    }
}

const struct mtlm_op mtlm_op_xent_bwd = {
    .name = "xent_bwd",
    .n_operands = 6,
    .access = {[XB_LABELS] = MTLM_R,
               [XB_MAX] = MTLM_R,
               [XB_SUMS] = MTLM_R,
               [XB_WEIGHTS] = MTLM_R,
               [XB_CONTROL] = MTLM_R,
               [XB_LOGITS] = MTLM_RW},
    .dtype = {[XB_LOGITS] = MTLM_VALUE,
              [XB_LABELS] = MTLM_I32,
              [XB_CONTROL] = MTLM_F64},
    .infer = xent_bwd_infer,
    .flops = xent_bwd_flops,
    .cpu = xent_bwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(xent_bwd),
    .cpu_typed = true,
};
