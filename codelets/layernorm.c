/* Layer normalization over the last dimension:
 *
 *   y  = (x - mean) rstd gamma + beta
 *   dx = rstd (g - mean(g) - xhat mean(g xhat))
 *        with g = dy gamma, xhat = (x - mean) rstd
 *   dgamma += sum_rows dy xhat,  dbeta += sum_rows dy
 *
 * x, y, dx, dy [s, b, h]; gamma, beta, dgamma, dbeta [h]; mean, rstd [s, b],
 * which forward keeps for backward. */

#include "config.h"

#include <string.h>

#include "codelets/fetch.h"
#include "codelets/infer.h"
#include "codelets/layernorm.h"
#include "codelets/rows.h"
#include "codelets/vector_math.h"
#include "runtime/base/least.h"

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
    .by_positions = true,
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

/* Elements of a row between two fetches. */
enum { PART = 256 };

/* One row of backward. */
struct normalized_row {
    const mtlm_real *x, *gamma, *dy;
    mtlm_real mean, rstd;
    mtlm_real *dx;
};

/* Adds elements from .. to - 1 of a row to sum(g), sum(g xhat), dgamma [h] and
 * dbeta [h], with g = dy gamma and xhat = (x - mean) rstd. */
static void add_part(const struct normalized_row *row, int64_t from, int64_t to,
                     mtlm_real *sum_g, mtlm_real *sum_gx, mtlm_real *dgamma,
                     mtlm_real *dbeta)
{
    const mtlm_real *x = row->x, *gamma = row->gamma, *dy = row->dy;
    const mtlm_real mean = row->mean, rstd = row->rstd;
    mtlm_real sum = 0, dot = 0;

#pragma omp simd simdlen(MTLM_HALF_LINE) reduction(+ : sum, dot)
    for (int64_t i = from; i < to; i++) {
        const mtlm_real xhat = (x[i] - mean) * rstd;

        sum += dy[i] * gamma[i];
        dot += dy[i] * gamma[i] * xhat;
        dgamma[i] += dy[i] * xhat;
        dbeta[i] += dy[i];
    }
    *sum_g += sum, *sum_gx += dot;
}

/* Writes elements from .. to - 1 of dx = rstd (g - mean_g - xhat mean_gx), or
 * adds them to dx. */
static void write_part(const struct normalized_row *row, int64_t from,
                       int64_t to, mtlm_real mean_g, mtlm_real mean_gx,
                       bool add)
{
    const mtlm_real *x = row->x, *gamma = row->gamma, *dy = row->dy;
    const mtlm_real mean = row->mean, rstd = row->rstd;
    mtlm_real *dx = row->dx;

    if (add) {
#pragma omp simd simdlen(MTLM_HALF_LINE)
        for (int64_t i = from; i < to; i++)
            dx[i] +=
                rstd
                * (dy[i] * gamma[i] - mean_g - (x[i] - mean) * rstd * mean_gx);
    } else {
#pragma omp simd simdlen(MTLM_HALF_LINE)
        for (int64_t i = from; i < to; i++)
            dx[i] =
                rstd
                * (dy[i] * gamma[i] - mean_g - (x[i] - mean) * rstd * mean_gx);
    }
}

/* Memory delivers, and takes, during both passes: the first one fetches the
 * row of dx, the second one x and dy of the next row. */
static void backward_row(const struct normalized_row *row, mtlm_real *dgamma,
                         mtlm_real *dbeta, int64_t h, bool add)
{
    mtlm_real sum_g = 0, sum_gx = 0;

    for (int64_t from = 0, to; from < h; from = to) {
        to = mtlm_least(from + PART, h);
        mtlm_fetch_to_write(row->dx + from, to - from);
        add_part(row, from, to, &sum_g, &sum_gx, dgamma, dbeta);
    }
    for (int64_t from = 0, to; from < h; from = to) {
        to = mtlm_least(from + PART, h);
        mtlm_fetch(row->x + h + from, to - from);
        mtlm_fetch(row->dy + h + from, to - from);
        write_part(row, from, to, sum_g / h, sum_gx / h, add);
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

    for (int64_t r = 0; r < rows; r++) {
        const struct normalized_row row = {.x = x + r * h,
                                           .gamma = ptr[LNB_GAMMA],
                                           .dy = dy + r * h,
                                           .mean = mean[r],
                                           .rstd = rstd[r],
                                           .dx = dx + r * h};

        if (r % MTLM_ROW_BLOCK == 0) {
            memset(dgamma, 0, h * sizeof(*dgamma));
            memset(dbeta, 0, h * sizeof(*dbeta));
        }
        backward_row(&row, dgamma, dbeta, h, add);
        if (r + 1 == rows || (r + 1) % MTLM_ROW_BLOCK == 0) {
            mtlm_rows_add(ptr[LNB_DGAMMA], dgamma, 1, h);
            mtlm_rows_add(ptr[LNB_DBETA], dbeta, 1, h);
        }
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
    .by_positions = true,
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
    .by_positions = true,
    .cuda = MTLM_CUDA_KERNEL(layernorm_bwd_add),
};
