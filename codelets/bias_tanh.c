/* y = tanh(x + bias), of BERT's pooler; dx = dy (1 - y^2), dbias += the rows
 * of dx.
 *
 * x, y, dx, dy [.., h]; bias, dbias [h].  The pooler has one row per sample:
 * the C library's function is fast enough. */

#include "config.h"

#include <math.h>

#include "codelets/bias_tanh.h"
#include "codelets/infer.h"
#include "codelets/rows.h"

static int bias_tanh_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    call->shape[BT_Y] = call->shape[BT_X];
    return mtlm_infer_expect_shape(
        call, BT_BIAS, "bias", MTLM_SHAPE(mtlm_shape_cols(&call->shape[BT_X])),
        err);
}

static double bias_tanh_fwd_flops(const struct mtlm_call *call)
{
    return 10.0 * mtlm_shape_elems(&call->shape[BT_X]);
}

static void bias_tanh_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[BT_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[BT_X]);
    const mtlm_real *x = ptr[BT_X], *bias = ptr[BT_BIAS];
    mtlm_real *y = ptr[BT_Y];

    (void) context;
    for (int64_t i = 0; i < n; i++)
        y[i] = tanh((double) (x[i] + bias[i % h]));
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
    return mtlm_infer_expect_shape(call, BTB_DY, "dy", shape[BTB_Y], err)
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
    const int64_t n = mtlm_shape_elems(&call->shape[BTB_Y]);
    const mtlm_real *y = ptr[BTB_Y], *dy = ptr[BTB_DY];
    mtlm_real *dx = ptr[BTB_DX];

    (void) context;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        dx[i] = dy[i] * (1 - y[i] * y[i]);
    mtlm_rows_add(ptr[BTB_DBIAS], dx, mtlm_shape_rows(&call->shape[BTB_Y]),
                  mtlm_shape_cols(&call->shape[BTB_Y]));
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
