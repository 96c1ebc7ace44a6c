/* y = residual + dropout(x + bias): the end of both halves of a layer.
 *
 * x, residual, y, dx, dy [s, b, h], of which row 0 is position
 * dropout.first_row of the samples, and context->position more in a part; bias,
 * dbias [h].  The gradient of the residual is that of y. */

#include "config.h"

#include <string.h>

#include "codelets/bias_dropout_add.h"
#include "codelets/dropout.h"
#include "codelets/fetch.h"
#include "codelets/infer.h"
#include "codelets/rows.h"
#include "runtime/base/least.h"

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

static void forward_part(const mtlm_real *x, const mtlm_real *bias,
                         const mtlm_real *residual, const mtlm_real *factor,
                         mtlm_real *y, int64_t n)
{
#pragma omp simd simdlen(MTLM_HALF_LINE)
    for (int64_t i = 0; i < n; i++)
        y[i] = residual[i] + (x[i] + bias[i]) * factor[i];
}

/* Parts of rows are fetched while the factors of the parts before them are
 * drawn. */
static void bias_dropout_add_fwd_cpu(void *const ptr[],
                                     const struct mtlm_call *call,
                                     const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BDA_X]);
    const int64_t b = call->shape[BDA_X].dim[1], h = call->shape[BDA_X].dim[2];
    const struct mtlm_dropout *dropout = &call->attr.dropout;
    const int64_t first = dropout->first_row + context->position;
    const mtlm_real *x = ptr[BDA_X], *residual = ptr[BDA_RESIDUAL];
    mtlm_real *y = ptr[BDA_Y], factor[MTLM_DROPOUT_PART];

    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0, n; c < h; c += n, x += n, residual += n, y += n) {
            n = mtlm_least(h - c, MTLM_DROPOUT_PART);
            mtlm_fetch(x + n, n);
            mtlm_fetch(residual + n, n);
            mtlm_fetch_to_write(y + n, n);
            mtlm_dropout_factors(dropout, context->sample + r % b,
                                 (first + r / b) * h + c, n, factor);
            forward_part(x, (const mtlm_real *) ptr[BDA_BIAS] + c, residual,
                         factor, y, n);
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
    .by_positions = true,
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

static void backward_part(const mtlm_real *dy, const mtlm_real *factor,
                          mtlm_real *dx, mtlm_real *dbias, int64_t n)
{
#pragma omp simd simdlen(MTLM_HALF_LINE)
    for (int64_t i = 0; i < n; i++) {
        const mtlm_real d = dy[i] * factor[i];

        dx[i] = d;
        dbias[i] += d;
    }
}

static void bias_dropout_add_bwd_cpu(void *const ptr[],
                                     const struct mtlm_call *call,
                                     const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BDAB_DY]);
    const int64_t b = call->shape[BDAB_DY].dim[1],
                  h = call->shape[BDAB_DY].dim[2];
    const struct mtlm_dropout *dropout = &call->attr.dropout;
    const int64_t first = dropout->first_row + context->position;
    const mtlm_real *dy = ptr[BDAB_DY];
    mtlm_real *dx = ptr[BDAB_DX], factor[MTLM_DROPOUT_PART];
    mtlm_real *sums = mtlm_rows_scratch(context->scratch, h); /* of dbias */

    for (int64_t r = 0; r < rows; r++) {
        if (r % MTLM_ROW_BLOCK == 0)
            memset(sums, 0, h * sizeof(*sums));
        for (int64_t c = 0, n; c < h; c += n, dy += n, dx += n) {
            n = mtlm_least(h - c, MTLM_DROPOUT_PART);
            mtlm_fetch(dy + n, n);
            mtlm_fetch_to_write(dx + n, n);
            mtlm_dropout_factors(dropout, context->sample + r % b,
                                 (first + r / b) * h + c, n, factor);
            backward_part(dy, factor, dx, sums + c, n);
        }
        if (r + 1 == rows || (r + 1) % MTLM_ROW_BLOCK == 0)
            mtlm_rows_add(ptr[BDAB_DBIAS], sums, 1, h);
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
    .by_positions = true,
    .cuda = MTLM_CUDA_KERNEL(bias_dropout_add_bwd),
};
