/* y = dropout(tanh(x + bias)), of BERT's pooler; with the factors f of the
 * dropout, dx = f dy (1 - (y / f)^2), 0 where f is 0; dbias += the rows of dx.
 *
 * x, y, dx, dy [s, b, h]; bias, dbias [h].  The pooler has one row per sample:
 * the C library's function is fast enough. */

#include "config.h"

#include <math.h>

#include "codelets/bias_tanh.h"
#include "codelets/dropout.h"
#include "codelets/infer.h"
#include "codelets/rows.h"

static int bias_tanh_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    call->shape[BT_Y] = call->shape[BT_X];
    return mtlm_infer_expect_rank(call, BT_X, "x", 3, err)
                   || mtlm_infer_expect_shape(
                       call, BT_BIAS, "bias",
                       MTLM_SHAPE(mtlm_shape_cols(&call->shape[BT_X])), err)
               ? -1
               : 0;
}

static double bias_tanh_fwd_flops(const struct mtlm_call *call)
{
    return 10.0 * mtlm_shape_elems(&call->shape[BT_X]);
}

/* Returns the factors of row r of an operand [s, b, h], in scratch. */
static const mtlm_real *row_factors(const struct mtlm_call *call,
                                    const struct mtlm_context *context,
                                    int64_t r)
{
    const struct mtlm_dropout *dropout = &call->attr.dropout;
    const int64_t b = call->shape[0].dim[1], h = call->shape[0].dim[2];
    mtlm_real *factor = mtlm_scratch_get(context->scratch, h * sizeof(*factor));

    mtlm_dropout_factors(dropout, context->sample + r % b,
                         (dropout->first_row + r / b) * h, h, factor);
    return factor;
}

static void bias_tanh_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BT_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[BT_X]);
    const mtlm_real *x = ptr[BT_X], *bias = ptr[BT_BIAS];
    mtlm_real *y = ptr[BT_Y];

    for (int64_t r = 0; r < rows; r++, x += h, y += h) {
        const mtlm_real *factor = row_factors(call, context, r);

        for (int64_t c = 0; c < h; c++)
            y[c] = factor[c] * (mtlm_real) tanh((double) (x[c] + bias[c]));
    }
}

const struct mtlm_op mtlm_op_bias_tanh_fwd = {
    .name = "bias_tanh_fwd",
    .n_operands = 3,
    .access = {[BT_X] = MTLM_R, [BT_BIAS] = MTLM_R, [BT_Y] = MTLM_W},
    .dtype = {[BT_X] = MTLM_VALUE, [BT_BIAS] = MTLM_VALUE, [BT_Y] = MTLM_VALUE},
    .infer = bias_tanh_fwd_infer,
    .flops = bias_tanh_fwd_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_BIAS_TANH_BWD,
                       .arg = {{MTLM_GRAD_VALUE, BT_Y},
                               {MTLM_GRAD_OF, BT_Y},
                               {MTLM_GRAD_OF, BT_X},
                               {MTLM_GRAD_OF, BT_BIAS}}}}},
    .cpu = bias_tanh_fwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(bias_tanh_fwd),
};

static int bias_tanh_bwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;

    shape[BTB_DX] = shape[BTB_Y];
    return mtlm_infer_expect_rank(call, BTB_Y, "y", 3, err)
                   || mtlm_infer_expect_shape(call, BTB_DY, "dy", shape[BTB_Y],
                                              err)
                   || mtlm_infer_expect_shape(
                       call, BTB_DBIAS, "dbias",
                       MTLM_SHAPE(mtlm_shape_cols(&shape[BTB_Y])), err)
               ? -1
               : 0;
}

static double bias_tanh_bwd_flops(const struct mtlm_call *call)
{
    return 4.0 * mtlm_shape_elems(&call->shape[BTB_Y]);
}

static void bias_tanh_bwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BTB_Y]);
    const int64_t h = mtlm_shape_cols(&call->shape[BTB_Y]);
    const mtlm_real *y = ptr[BTB_Y], *dy = ptr[BTB_DY];
    mtlm_real *dx = ptr[BTB_DX];

    for (int64_t r = 0; r < rows; r++, y += h, dy += h, dx += h) {
        const mtlm_real *factor = row_factors(call, context, r);

        for (int64_t c = 0; c < h; c++) {
            const mtlm_real whole = factor[c] > 0 ? y[c] / factor[c] : 0;

            dx[c] = factor[c] * dy[c] * (1 - whole * whole);
        }
    }
    mtlm_rows_add(ptr[BTB_DBIAS], ptr[BTB_DX], rows, h);
}

const struct mtlm_op mtlm_op_bias_tanh_bwd = {
    .name = "bias_tanh_bwd",
    .n_operands = 4,
    .access = {[BTB_Y] = MTLM_R,
               [BTB_DY] = MTLM_R,
               [BTB_DX] = MTLM_W,
               [BTB_DBIAS] = MTLM_RW},
    .dtype =
        {[BTB_Y] = MTLM_VALUE, [BTB_DY] = MTLM_VALUE, [BTB_DX] = MTLM_VALUE},
    .infer = bias_tanh_bwd_infer,
    .flops = bias_tanh_bwd_flops,
    .cpu = bias_tanh_bwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(bias_tanh_bwd),
};
