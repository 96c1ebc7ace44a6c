/* Layer normalization over the last dimension:
 * y = (x - mean) rstd gamma + beta.
 *
 * x, y, dx, dy [s, b, h]; gamma, beta, dgamma, dbeta [h]; mean, rstd [s, b],
 * which forward keeps for backward. */

#include "config.h"

#include <string.h>

#include "codelets/infer.h"
#include "codelets/layernorm.h"
#include "codelets/rows.h"
#include "codelets/vector_math.h"

static int layernorm_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;
    const struct mtlm_shape h = MTLM_SHAPE(mtlm_shape_cols(&shape[LN_X]));

    shape[LN_Y] = shape[LN_X];
    shape[LN_MEAN] = shape[LN_RSTD] = mtlm_infer_shape_of_rows(shape[LN_X]);
    return mtlm_infer_expect_shape(call, LN_GAMMA, "gamma", h, err)
                   || mtlm_infer_expect_shape(call, LN_BETA, "beta", h, err)
               ? -1
               : 0;
}

static double layernorm_fwd_flops(const struct mtlm_call *call)
{
    return 8.0 * mtlm_shape_elems(&call->shape[LN_X]);
}

/* Two passes, for an accurate variance; the row is in the cache. */
static void normalize_row(const mtlm_real *x, const mtlm_real *gamma,
                          const mtlm_real *beta, mtlm_real *y, mtlm_real *mean,
                          mtlm_real *rstd, int64_t h, mtlm_real epsilon)
{
    mtlm_real sum = 0, square = 0, m, s;

#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < h; i++)
        sum += x[i];
    m = sum / h;
#pragma omp simd reduction(+ : square)
    for (int64_t i = 0; i < h; i++)
        square += (x[i] - m) * (x[i] - m);
    s = 1 / mtlm_sqrt(square / h + epsilon);
#pragma omp simd
    for (int64_t i = 0; i < h; i++)
        y[i] = (x[i] - m) * s * gamma[i] + beta[i];
    *mean = m;
    *rstd = s;
}

static void layernorm_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[LN_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[LN_X]);
    const mtlm_real *x = ptr[LN_X];
    mtlm_real *y = ptr[LN_Y], *mean = ptr[LN_MEAN], *rstd = ptr[LN_RSTD];

    (void) context;
    for (int64_t r = 0; r < rows; r++)
        normalize_row(x + r * h, ptr[LN_GAMMA], ptr[LN_BETA], y + r * h,
                      &mean[r], &rstd[r], h, call->attr.layernorm.epsilon);
}

const struct mtlm_op mtlm_op_layernorm_fwd = {
    .name = "layernorm_fwd",
    .n_operands = LN_COUNT,
    .access = {[LN_X] = MTLM_R,
               [LN_GAMMA] = MTLM_R,
               [LN_BETA] = MTLM_R,
               [LN_Y] = MTLM_W,
               [LN_MEAN] = MTLM_W,
               [LN_RSTD] = MTLM_W},
    .dtype = {[LN_X] = MTLM_VALUE,
              [LN_GAMMA] = MTLM_VALUE,
              [LN_BETA] = MTLM_VALUE,
              [LN_Y] = MTLM_VALUE},
    .infer = layernorm_fwd_infer,
    .flops = layernorm_fwd_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_LAYERNORM_BWD,
                       .kind_add = MTLM_OP_LAYERNORM_BWD_ADD,
                       .arg = {{MTLM_GRAD_VALUE, LN_X},
                               {MTLM_GRAD_VALUE, LN_GAMMA},
                               {MTLM_GRAD_VALUE, LN_MEAN},
                               {MTLM_GRAD_VALUE, LN_RSTD},
                               {MTLM_GRAD_OF, LN_Y},
                               {MTLM_GRAD_OF, LN_X},
                               {MTLM_GRAD_OF, LN_GAMMA},
                               {MTLM_GRAD_OF, LN_BETA}}}}},
    .cpu = layernorm_fwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(layernorm_fwd),
};

static int layernorm_bwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;
    const struct mtlm_shape h = MTLM_SHAPE(mtlm_shape_cols(&shape[LNB_X]));
    const struct mtlm_shape rows = mtlm_infer_shape_of_rows(shape[LNB_X]);

    if (call->kind == MTLM_OP_LAYERNORM_BWD)
        shape[LNB_DX] = shape[LNB_X];
    return mtlm_infer_expect_shape(call, LNB_GAMMA, "gamma", h, err)
                   || mtlm_infer_expect_shape(call, LNB_MEAN, "mean", rows, err)
                   || mtlm_infer_expect_shape(call, LNB_RSTD, "rstd", rows, err)
                   || mtlm_infer_expect_shape(call, LNB_DY, "dy", shape[LNB_X],
                                              err)
                   || mtlm_infer_expect_shape(call, LNB_DX, "dx", shape[LNB_X],
                                              err)
                   || mtlm_infer_expect_shape(call, LNB_DGAMMA, "dgamma", h,
                                              err)
                   || mtlm_infer_expect_shape(call, LNB_DBETA, "dbeta", h, err)
               ? -1
               : 0;
}

static double layernorm_bwd_flops(const struct mtlm_call *call)
{
    return 14.0 * mtlm_shape_elems(&call->shape[LNB_X]);
}

/* dx = rstd (g - mean(g) - xhat mean(g xhat)) with g = dy gamma and xhat =
 * (x - mean) rstd, plus dx where add; dgamma += dy xhat, dbeta += dy.
 *
 * Vectors of 8: memory delivers more to two loads of half a cache line than to
 * one of a whole line. */
static void backward_row(const mtlm_real *x, const mtlm_real *gamma,
                         mtlm_real mean, mtlm_real rstd, const mtlm_real *dy,
                         mtlm_real *dx, mtlm_real *dgamma, mtlm_real *dbeta,
                         int64_t h, bool add)
{
    mtlm_real sum = 0, dot = 0;

#pragma omp simd simdlen(8) reduction(+ : sum, dot)
    for (int64_t i = 0; i < h; i++) {
        const mtlm_real xhat = (x[i] - mean) * rstd;

        sum += dy[i] * gamma[i];
        dot += dy[i] * gamma[i] * xhat;
        dgamma[i] += dy[i] * xhat;
        dbeta[i] += dy[i];
    }
    sum /= h;
    dot /= h;
    if (add) {
#pragma omp simd simdlen(8)
        for (int64_t i = 0; i < h; i++)
            dx[i] +=
                rstd * (dy[i] * gamma[i] - sum - (x[i] - mean) * rstd * dot);
    } else {
#pragma omp simd simdlen(8)
        for (int64_t i = 0; i < h; i++)
            dx[i] =
                rstd * (dy[i] * gamma[i] - sum - (x[i] - mean) * rstd * dot);
    }
}

static void backward(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context, bool add)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[LNB_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[LNB_X]);
    const mtlm_real *x = ptr[LNB_X], *dy = ptr[LNB_DY];
    const mtlm_real *mean = ptr[LNB_MEAN], *rstd = ptr[LNB_RSTD];
    mtlm_real *dx = ptr[LNB_DX];
    mtlm_real *scratch = mtlm_scratch_get(
        context->scratch, 2 * (MTLM_ROWS_APART + h) * sizeof(*scratch));
    mtlm_real *dgamma = scratch + MTLM_ROWS_APART,
              *dbeta = dgamma + h + MTLM_ROWS_APART;

    for (int64_t start = 0; start < rows; start += MTLM_ROW_BLOCK) {
        const int64_t end =
            start + MTLM_ROW_BLOCK < rows ? start + MTLM_ROW_BLOCK : rows;

        memset(dgamma, 0, h * sizeof(*dgamma));
        memset(dbeta, 0, h * sizeof(*dbeta));
        for (int64_t r = start; r < end; r++)
            backward_row(x + r * h, ptr[LNB_GAMMA], mean[r], rstd[r],
                         dy + r * h, dx + r * h, dgamma, dbeta, h, add);
        mtlm_rows_add(ptr[LNB_DGAMMA], dgamma, 1, h);
        mtlm_rows_add(ptr[LNB_DBETA], dbeta, 1, h);
    }
}

static void layernorm_bwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    backward(ptr, call, context, false);
}

static void layernorm_bwd_add_cpu(void *const ptr[],
                                  const struct mtlm_call *call,
                                  const struct mtlm_context *context)
{
    backward(ptr, call, context, true);
}

const struct mtlm_op mtlm_op_layernorm_bwd = {
    .name = "layernorm_bwd",
    .n_operands = LNB_COUNT,
    .access = {[LNB_X] = MTLM_R,
               [LNB_GAMMA] = MTLM_R,
               [LNB_MEAN] = MTLM_R,
               [LNB_RSTD] = MTLM_R,
               [LNB_DY] = MTLM_R,
               [LNB_DX] = MTLM_W,
               [LNB_DGAMMA] = MTLM_RW,
               [LNB_DBETA] = MTLM_RW},
    .dtype = {[LNB_X] = MTLM_VALUE,
              [LNB_GAMMA] = MTLM_VALUE,
              [LNB_DY] = MTLM_VALUE,
              [LNB_DX] = MTLM_VALUE},
    .infer = layernorm_bwd_infer,
    .flops = layernorm_bwd_flops,
    .cpu = layernorm_bwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(layernorm_bwd),
};

const struct mtlm_op mtlm_op_layernorm_bwd_add = {
    .name = "layernorm_bwd_add",
    .n_operands = LNB_COUNT,
    .access = {[LNB_X] = MTLM_R,
               [LNB_GAMMA] = MTLM_R,
               [LNB_MEAN] = MTLM_R,
               [LNB_RSTD] = MTLM_R,
               [LNB_DY] = MTLM_R,
               [LNB_DX] = MTLM_RW,
               [LNB_DGAMMA] = MTLM_RW,
               [LNB_DBETA] = MTLM_RW},
    .dtype = {[LNB_X] = MTLM_VALUE,
              [LNB_GAMMA] = MTLM_VALUE,
              [LNB_DY] = MTLM_VALUE,
              [LNB_DX] = MTLM_VALUE},
    .infer = layernorm_bwd_infer,
    .flops = layernorm_bwd_flops,
    .cpu = layernorm_bwd_add_cpu,
    .cuda = MTLM_CUDA_KERNEL(layernorm_bwd_add),
};
