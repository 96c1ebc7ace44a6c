/* y = tanh(x + bias), of BERT's pooler; dx = dy (1 - y^2), dbias += the rows
 * of dx.
 *
 * x, y, dx, dy [.., h]; bias, dbias [h].  The pooler has one row per sample:
 * the C library's function is fast enough. */

#include "config.h"

#include <math.h>

#include "codelets/infer.h"
#include "codelets/rows.h"

enum { X, BIAS, Y };

static int bias_tanh_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    call->shape[Y] = call->shape[X];
    return mtlm_expect_shape(call, BIAS, "bias",
                             MTLM_SHAPE(mtlm_shape_cols(&call->shape[X])), err);
}

static double bias_tanh_fwd_flops(const struct mtlm_call *call)
{
    return 10.0 * mtlm_shape_elems(&call->shape[X]);
}

static void bias_tanh_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[X]);
    const int64_t h = mtlm_shape_cols(&call->shape[X]);
    const mtlm_real *x = ptr[X], *bias = ptr[BIAS];
    mtlm_real *y = ptr[Y];

    (void) context;
    for (int64_t i = 0; i < n; i++)
        y[i] = tanh((double) (x[i] + bias[i % h]));
}

const struct mtlm_op mtlm_op_bias_tanh_fwd = {
    .name = "bias_tanh_fwd",
    .n_operands = 3,
    .access = {[X] = MTLM_R, [BIAS] = MTLM_R, [Y] = MTLM_W},
    .dtype = {[X] = MTLM_VALUE, [BIAS] = MTLM_VALUE, [Y] = MTLM_VALUE},
    .infer = bias_tanh_fwd_infer,
    .flops = bias_tanh_fwd_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_BIAS_TANH_BWD,
                       .arg = {{MTLM_GRAD_VALUE, Y},
                               {MTLM_GRAD_OF, Y},
                               {MTLM_GRAD_OF, X},
                               {MTLM_GRAD_OF, BIAS}}}}},
    .cpu = bias_tanh_fwd_cpu,
};

enum { B_Y, B_DY, B_DX, B_DBIAS };

static int bias_tanh_bwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;

    shape[B_DX] = shape[B_Y];
    return mtlm_expect_shape(call, B_DY, "dy", shape[B_Y], err)
                   || mtlm_expect_shape(
                       call, B_DBIAS, "dbias",
                       MTLM_SHAPE(mtlm_shape_cols(&shape[B_Y])), err)
               ? -1
               : 0;
}

static double bias_tanh_bwd_flops(const struct mtlm_call *call)
{
    return 4.0 * mtlm_shape_elems(&call->shape[B_Y]);
}

static void bias_tanh_bwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[B_Y]);
    const mtlm_real *y = ptr[B_Y], *dy = ptr[B_DY];
    mtlm_real *dx = ptr[B_DX];

    (void) context;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        dx[i] = dy[i] * (1 - y[i] * y[i]);
    mtlm_add_rows(ptr[B_DBIAS], dx, mtlm_shape_rows(&call->shape[B_Y]),
                  mtlm_shape_cols(&call->shape[B_Y]));
}

const struct mtlm_op mtlm_op_bias_tanh_bwd = {
    .name = "bias_tanh_bwd",
    .n_operands = 4,
    .access =
        {[B_Y] = MTLM_R, [B_DY] = MTLM_R, [B_DX] = MTLM_W, [B_DBIAS] = MTLM_RW},
    .dtype = {[B_Y] = MTLM_VALUE, [B_DY] = MTLM_VALUE, [B_DX] = MTLM_VALUE},
    .infer = bias_tanh_bwd_infer,
    .flops = bias_tanh_bwd_flops,
    .cpu = bias_tanh_bwd_cpu,
};
