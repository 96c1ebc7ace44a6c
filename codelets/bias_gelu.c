/* y = gelu(x + bias), exact or in the tanh form (gelu.h), where no product is
 * next to it on both sides (linear_gelu.c).
 *
 * x, y, dx, dy [.., h]; bias, dbias [h]. */

#include "config.h"

#include <string.h>

#include "codelets/bias_gelu.h"
#include "codelets/gelu.h"
#include "codelets/infer.h"
#include "codelets/rows.h"

static int bias_gelu_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    call->shape[BG_Y] = call->shape[BG_X];
    return mtlm_infer_expect_shape(
        call, BG_BIAS, "bias", MTLM_SHAPE(mtlm_shape_cols(&call->shape[BG_X])),
        err);
}

static double bias_gelu_fwd_flops(const struct mtlm_call *call)
{
    return 10.0 * mtlm_shape_elems(&call->shape[BG_X]);
}

static void forward_row(const mtlm_real *x, const mtlm_real *bias, mtlm_real *y,
                        int64_t h)
{
#pragma omp simd
    for (int64_t i = 0; i < h; i++)
        y[i] = mtlm_gelu(x[i] + bias[i]);
}

static void exact_forward_row(const mtlm_real *x, const mtlm_real *bias,
                              mtlm_real *y, int64_t h)
{
#pragma omp simd
    for (int64_t i = 0; i < h; i++)
        y[i] = mtlm_gelu_exact(x[i] + bias[i]);
}

static void bias_gelu_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BG_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[BG_X]);
    const mtlm_real *x = ptr[BG_X], *bias = ptr[BG_BIAS];
    mtlm_real *y = ptr[BG_Y];

    (void) context;
    for (int64_t r = 0; r < rows; r++, x += h, y += h)
        if (call->attr.gelu.exact)
            exact_forward_row(x, bias, y, h);
        else
            forward_row(x, bias, y, h);
}

const struct mtlm_op mtlm_op_bias_gelu_fwd = {
    .name = "bias_gelu_fwd",
    .n_operands = BG_COUNT,
    .access = {[BG_X] = MTLM_R, [BG_BIAS] = MTLM_R, [BG_Y] = MTLM_W},
    .dtype = {[BG_X] = MTLM_VALUE, [BG_BIAS] = MTLM_VALUE, [BG_Y] = MTLM_VALUE},
    .infer = bias_gelu_fwd_infer,
    .flops = bias_gelu_fwd_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_BIAS_GELU_BWD,
                       .arg = {{MTLM_GRAD_VALUE, BG_X},
                               {MTLM_GRAD_VALUE, BG_BIAS},
                               {MTLM_GRAD_OF, BG_Y},
                               {MTLM_GRAD_OF, BG_X},
                               {MTLM_GRAD_OF, BG_BIAS}}}}},
    .cpu = bias_gelu_fwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(bias_gelu_fwd),
};

static int bias_gelu_bwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;
    const struct mtlm_shape h = MTLM_SHAPE(mtlm_shape_cols(&shape[BGB_X]));

    shape[BGB_DX] = shape[BGB_X];
    return mtlm_infer_expect_shape(call, BGB_BIAS, "bias", h, err)
                   || mtlm_infer_expect_shape(call, BGB_DY, "dy", shape[BGB_X],
                                              err)
                   || mtlm_infer_expect_shape(call, BGB_DBIAS, "dbias", h, err)
               ? -1
               : 0;
}

static double bias_gelu_bwd_flops(const struct mtlm_call *call)
{
    return 16.0 * mtlm_shape_elems(&call->shape[BGB_X]);
}

/* Computes one row of dx and adds it to dbias. */
typedef void backward_row(const mtlm_real *x, const mtlm_real *bias,
                          const mtlm_real *dy, mtlm_real *dx, mtlm_real *dbias,
                          int64_t h);

static void tanh_backward_row(const mtlm_real *x, const mtlm_real *bias,
                              const mtlm_real *dy, mtlm_real *dx,
                              mtlm_real *dbias, int64_t h)
{
#pragma omp simd
    for (int64_t i = 0; i < h; i++) {
        const mtlm_real d = dy[i] * mtlm_gelu_slope(x[i] + bias[i]);

        dx[i] = d;
        dbias[i] += d;
    }
}

static void exact_backward_row(const mtlm_real *x, const mtlm_real *bias,
                               const mtlm_real *dy, mtlm_real *dx,
                               mtlm_real *dbias, int64_t h)
{
#pragma omp simd
    for (int64_t i = 0; i < h; i++) {
        const mtlm_real d = dy[i] * mtlm_gelu_exact_slope(x[i] + bias[i]);

        dx[i] = d;
        dbias[i] += d;
    }
}

static void bias_gelu_bwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BGB_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[BGB_X]);
    const mtlm_real *x = ptr[BGB_X], *dy = ptr[BGB_DY];
    mtlm_real *dx = ptr[BGB_DX];
    mtlm_real *part = mtlm_scratch_get(context->scratch, h * sizeof(*part));
    backward_row *const row =
        call->attr.gelu.exact ? exact_backward_row : tanh_backward_row;

    for (int64_t start = 0; start < rows; start += MTLM_ROW_BLOCK) {
        const int64_t end =
            start + MTLM_ROW_BLOCK < rows ? start + MTLM_ROW_BLOCK : rows;

        memset(part, 0, h * sizeof(*part));
        for (int64_t r = start; r < end; r++)
            row(x + r * h, ptr[BGB_BIAS], dy + r * h, dx + r * h, part, h);
        mtlm_rows_add(ptr[BGB_DBIAS], part, 1, h);
    }
}

const struct mtlm_op mtlm_op_bias_gelu_bwd = {
    .name = "bias_gelu_bwd",
    .n_operands = BGB_COUNT,
    .access = {[BGB_X] = MTLM_R,
               [BGB_BIAS] = MTLM_R,
               [BGB_DY] = MTLM_R,
               [BGB_DX] = MTLM_W,
               [BGB_DBIAS] = MTLM_RW},
    .dtype = {[BGB_X] = MTLM_VALUE,
              [BGB_BIAS] = MTLM_VALUE,
              [BGB_DY] = MTLM_VALUE,
              [BGB_DX] = MTLM_VALUE},
    .infer = bias_gelu_bwd_infer,
    .flops = bias_gelu_bwd_flops,
    .cpu = bias_gelu_bwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(bias_gelu_bwd),
};
