/* y = residual + dropout(x + bias): the end of both halves of a layer.
 *
 * x, residual, y, dx, dy [s, b, h], of which row 0 is position
 * dropout.first_row of the samples; bias, dbias [h].  The gradient of the
 * residual is that of y. */

#include "config.h"

#include <string.h>

#include "codelets/bias_dropout_add.h"
#include "codelets/dropout.h"
#include "codelets/fetch.h"
#include "codelets/infer.h"
#include "codelets/rows.h"

static int bias_dropout_add_fwd_infer(struct mtlm_call *call,
                                      struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;

    shape[BDA_Y] = shape[BDA_X];
    return mtlm_infer_expect_rank(call, BDA_X, "x", 3, err)
                   || mtlm_infer_expect_shape(
                       call, BDA_BIAS, "bias",
                       MTLM_SHAPE(mtlm_shape_cols(&shape[BDA_X])), err)
                   || mtlm_infer_expect_shape(call, BDA_RESIDUAL, "residual",
                                              shape[BDA_X], err)
               ? -1
               : 0;
}

static double bias_dropout_add_fwd_flops(const struct mtlm_call *call)
{
    return 3.0 * mtlm_shape_elems(&call->shape[BDA_X]);
}

static void bias_dropout_add_fwd_cpu(void *const ptr[],
                                     const struct mtlm_call *call,
                                     const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BDA_X]);
    const int64_t b = call->shape[BDA_X].dim[1], h = call->shape[BDA_X].dim[2];
    const struct mtlm_dropout *dropout = &call->attr.dropout;
    const mtlm_real *x = ptr[BDA_X], *bias = ptr[BDA_BIAS],
                    *residual = ptr[BDA_RESIDUAL];
    mtlm_real *y = ptr[BDA_Y];
    mtlm_real *factor = mtlm_rows_scratch(context->scratch, h);

    for (int64_t r = 0; r < rows; r++, x += h, residual += h, y += h) {
        if (dropout->p > 0) {
            mtlm_fetch(x, h);
            mtlm_fetch(residual, h);
            mtlm_dropout_factors(dropout, context->sample + r % b,
                                 (dropout->first_row + r / b) * h, h, factor);
#pragma omp simd
            for (int64_t i = 0; i < h; i++)
                y[i] = residual[i] + (x[i] + bias[i]) * factor[i];
        } else {
#pragma omp simd
            for (int64_t i = 0; i < h; i++)
                y[i] = residual[i] + (x[i] + bias[i]);
        }
    }
}

const struct mtlm_op mtlm_op_bias_dropout_add_fwd = {
    .name = "bias_dropout_add_fwd",
    .n_operands = 4,
    .access = {[BDA_X] = MTLM_R,
               [BDA_BIAS] = MTLM_R,
               [BDA_RESIDUAL] = MTLM_R,
               [BDA_Y] = MTLM_W},
    .dtype = {[BDA_X] = MTLM_VALUE,
              [BDA_BIAS] = MTLM_VALUE,
              [BDA_RESIDUAL] = MTLM_VALUE,
              [BDA_Y] = MTLM_VALUE},
    .infer = bias_dropout_add_fwd_infer,
    .flops = bias_dropout_add_fwd_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_BIAS_DROPOUT_ADD_BWD,
                       .arg = {{MTLM_GRAD_OF, BDA_Y},
                               {MTLM_GRAD_OF, BDA_X},
                               {MTLM_GRAD_OF, BDA_BIAS}}}},
             .pass = {[BDA_RESIDUAL] = {true, BDA_Y}}},
    .cpu = bias_dropout_add_fwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(bias_dropout_add_fwd),
};

static int bias_dropout_add_bwd_infer(struct mtlm_call *call,
                                      struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;

    shape[BDAB_DX] = shape[BDAB_DY];
    return mtlm_infer_expect_rank(call, BDAB_DY, "dy", 3, err)
                   || mtlm_infer_expect_shape(
                       call, BDAB_DBIAS, "dbias",
                       MTLM_SHAPE(mtlm_shape_cols(&shape[BDAB_DY])), err)
               ? -1
               : 0;
}

static double bias_dropout_add_bwd_flops(const struct mtlm_call *call)
{
    return 2.0 * mtlm_shape_elems(&call->shape[BDAB_DY]);
}

static void bias_dropout_add_bwd_cpu(void *const ptr[],
                                     const struct mtlm_call *call,
                                     const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BDAB_DY]);
    const int64_t b = call->shape[BDAB_DY].dim[1],
                  h = call->shape[BDAB_DY].dim[2];
    const struct mtlm_dropout *dropout = &call->attr.dropout;
    const mtlm_real *dy = ptr[BDAB_DY];
    mtlm_real *dx = ptr[BDAB_DX];
    mtlm_real *scratch = mtlm_scratch_get(
        context->scratch, 2 * (MTLM_ROWS_APART + h) * sizeof(*scratch));
    mtlm_real *factor = scratch + MTLM_ROWS_APART;
    mtlm_real *part = factor + h + MTLM_ROWS_APART; /* of dbias */

    for (int64_t i = 0; i < h; i++)
        factor[i] = 1;
    for (int64_t start = 0; start < rows; start += MTLM_ROW_BLOCK) {
        const int64_t end =
            start + MTLM_ROW_BLOCK < rows ? start + MTLM_ROW_BLOCK : rows;

        memset(part, 0, h * sizeof(*part));
        for (int64_t r = start; r < end; r++) {
            if (dropout->p > 0) {
                mtlm_fetch(dy + r * h, h);
                mtlm_dropout_factors(dropout, context->sample + r % b,
                                     (dropout->first_row + r / b) * h, h,
                                     factor);
            }
#pragma omp simd
            for (int64_t i = 0; i < h; i++) {
                const mtlm_real d = dy[r * h + i] * factor[i];

                dx[r * h + i] = d;
                part[i] += d;
            }
        }
        mtlm_rows_add(ptr[BDAB_DBIAS], part, 1, h);
    }
}

const struct mtlm_op mtlm_op_bias_dropout_add_bwd = {
    .name = "bias_dropout_add_bwd",
    .n_operands = 3,
    .access = {[BDAB_DY] = MTLM_R, [BDAB_DX] = MTLM_W, [BDAB_DBIAS] = MTLM_RW},
    .dtype = {[BDAB_DY] = MTLM_VALUE, [BDAB_DX] = MTLM_VALUE},
    .infer = bias_dropout_add_bwd_infer,
    .flops = bias_dropout_add_bwd_flops,
    .cpu = bias_dropout_add_bwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(bias_dropout_add_bwd),
};
