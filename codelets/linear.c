/* Linear layers: y = x weight^T (+ bias); dx = dy weight, or dx += dy weight
 * where x has a gradient already; dweight += dy^T x, dbias += the rows of dy.
 * Where mtlm_linear_adds() is false, dweight = dy^T x.
 *
 * x, dx [.., k]; y, dy [.., n]; weight, dweight [n, k]; bias, dbias [n]. */

#include "config.h"

#include <string.h>

#include "codelets/blas.h"
#include "codelets/infer.h"
#include "codelets/linear.h"
#include "codelets/rows.h"
#include "codelets/value.h"
#include "runtime/base/least.h"

static int linear_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;
    const int64_t k = mtlm_shape_cols(&shape[LIN_X]);

    if (mtlm_infer_expect_rank(call, LIN_WEIGHT, "weight", 2, err))
        return -1;
    shape[LIN_Y] =
        mtlm_infer_shape_with_cols(shape[LIN_X], shape[LIN_WEIGHT].dim[0]);
    return mtlm_infer_expect_shape(call, LIN_WEIGHT, "weight",
                                   MTLM_SHAPE(shape[LIN_WEIGHT].dim[0], k),
                                   err);
}

/* Returns the operations of a linear operation: x [m, a] is its first operand,
 * and a is n or k of weight [n, k]. */
static double linear_flops(const struct mtlm_shape *x,
                           const struct mtlm_shape *weight)
{
    return 2.0 * mtlm_shape_rows(x) * weight->dim[0] * weight->dim[1];
}

static double linear_fwd_flops(const struct mtlm_call *call)
{
    return linear_flops(&call->shape[LIN_X], &call->shape[LIN_WEIGHT]);
}

/* Rows of a weight [n, k] that a product takes at a time, as mtlm_real. */
struct weight_rows {
    int64_t first, rows; /* rows first .. first + rows - 1 */
    const mtlm_real *weight;
    mtlm_real *buffer; /* NULL: the weight is of mtlm_real */
};

/* Advances to the rows after the panel's; after none, to the first ones.
 * Returns false behind the last row. */
static bool next_panel(struct weight_rows *panel, const struct mtlm_call *call,
                       const struct mtlm_shape *shape, void *weight,
                       const struct mtlm_context *context)
{
    const int64_t n = shape->dim[0], k = shape->dim[1];
    const int64_t rows = mtlm_value_panel_rows(call->value, n);

    if (!panel->buffer && call->value != MTLM_REAL)
        panel->buffer =
            mtlm_scratch_get(context->scratch, rows * k * sizeof(mtlm_real));
    panel->first += panel->rows;
    panel->rows = mtlm_least(rows, n - panel->first);
    panel->weight = mtlm_value_get(call->value, weight, panel->first * k,
                                   panel->rows * k, panel->buffer);
    return panel->rows > 0;
}

/* Computes y = x weight^T, or y += x weight^T if add.  A row of generated text
 * needs each weight once.  In training, a single row keeps the bits of the
 * matrix product. */
static void compute_fwd(const struct mtlm_call *call, const mtlm_real *x,
                        void *weight, bool add, mtlm_real *y,
                        const struct mtlm_context *context)
{
    const struct mtlm_shape *shape = &call->shape[LIN_WEIGHT];
    const int64_t m = mtlm_shape_rows(&call->shape[LIN_X]);
    const int64_t n = shape->dim[0], k = shape->dim[1];
    const bool is_row = m == 1 && context->rows > 0;

    if (is_row && !add)
        memset(y, 0, n * sizeof(*y));
    for (struct weight_rows p = {0};
         next_panel(&p, call, shape, weight, context);)
        if (is_row)
            mtlm_blas_gemv_add(p.rows, k, p.weight, x, y + p.first);
        else
            mtlm_blas_gemm(false, true, m, p.rows, k, 1, x, k, p.weight, k, add,
                           y + p.first, n);
}

static void linear_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context)
{
    compute_fwd(call, ptr[LIN_X], ptr[LIN_WEIGHT], false, ptr[LIN_Y], context);
}

const struct mtlm_op mtlm_op_linear_fwd = {
    .name = "linear_fwd",
    .n_operands = LIN_COUNT,
    .access = {[LIN_X] = MTLM_R, [LIN_WEIGHT] = MTLM_R, [LIN_Y] = MTLM_W},
    .dtype =
        {[LIN_X] = MTLM_VALUE, [LIN_WEIGHT] = MTLM_VALUE, [LIN_Y] = MTLM_VALUE},
    .in_panels = {[LIN_WEIGHT] = true},
    .infer = linear_fwd_infer,
    .flops = linear_fwd_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_LINEAR_DGRAD,
                       .kind_add = MTLM_OP_LINEAR_DGRAD_ADD,
                       .arg = {{MTLM_GRAD_OF, LIN_Y},
                               {MTLM_GRAD_VALUE, LIN_WEIGHT},
                               {MTLM_GRAD_OF, LIN_X}}},
                      {.used = true,
                       .phase = MTLM_GRAD_W,
                       .kind = MTLM_OP_LINEAR_WGRAD,
                       .arg = {{MTLM_GRAD_VALUE, LIN_X},
                               {MTLM_GRAD_OF, LIN_Y},
                               {MTLM_GRAD_OF, LIN_WEIGHT}}}}},
    .cpu = linear_fwd_cpu,
    .cpu_bf16 = MTLM_BF16_KERNEL(linear_fwd),
    .cuda = MTLM_CUDA_KERNEL(linear_fwd),
};

static int linear_bias_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;

    if (mtlm_infer_expect_rank(call, LINB_WEIGHT, "weight", 2, err)
        || mtlm_infer_expect_shape(call, LINB_WEIGHT, "weight",
                                   MTLM_SHAPE(shape[LINB_WEIGHT].dim[0],
                                              mtlm_shape_cols(&shape[LINB_X])),
                                   err)
        || mtlm_infer_expect_shape(call, LINB_BIAS, "bias",
                                   MTLM_SHAPE(shape[LINB_WEIGHT].dim[0]), err))
        return -1;
    shape[LINB_Y] =
        mtlm_infer_shape_with_cols(shape[LINB_X], shape[LINB_WEIGHT].dim[0]);
    return 0;
}

static double linear_bias_fwd_flops(const struct mtlm_call *call)
{
    return linear_flops(&call->shape[LINB_X], &call->shape[LINB_WEIGHT]);
}

/* Adds the product to rows of the bias.  That is as fast as writing the
 * product: the library would zero y first. */
static void linear_bias_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                                const struct mtlm_context *context)
{
    const int64_t m = mtlm_shape_rows(&call->shape[LINB_X]);
    const int64_t n = call->shape[LINB_WEIGHT].dim[0];
    mtlm_real *y = ptr[LINB_Y];

    for (int64_t r = 0; r < m; r++)
        memcpy(y + r * n, ptr[LINB_BIAS], n * sizeof(*y));
    compute_fwd(call, ptr[LINB_X], ptr[LINB_WEIGHT], true, y, context);
}

const struct mtlm_op mtlm_op_linear_bias_fwd = {
    .name = "linear_bias_fwd",
    .n_operands = LINB_COUNT,
    .access = {[LINB_X] = MTLM_R,
               [LINB_WEIGHT] = MTLM_R,
               [LINB_BIAS] = MTLM_R,
               [LINB_Y] = MTLM_W},
    .dtype = {[LINB_X] = MTLM_VALUE,
              [LINB_WEIGHT] = MTLM_VALUE,
              [LINB_BIAS] = MTLM_VALUE,
              [LINB_Y] = MTLM_VALUE},
    .in_panels = {[LINB_WEIGHT] = true},
    .infer = linear_bias_fwd_infer,
    .flops = linear_bias_fwd_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_LINEAR_DGRAD,
                       .kind_add = MTLM_OP_LINEAR_DGRAD_ADD,
                       .arg = {{MTLM_GRAD_OF, LINB_Y},
                               {MTLM_GRAD_VALUE, LINB_WEIGHT},
                               {MTLM_GRAD_OF, LINB_X}}},
                      {.used = true,
                       .phase = MTLM_GRAD_W,
                       .kind = MTLM_OP_LINEAR_BIAS_WGRAD,
                       .arg = {{MTLM_GRAD_VALUE, LINB_X},
                               {MTLM_GRAD_OF, LINB_Y},
                               {MTLM_GRAD_OF, LINB_WEIGHT},
                               {MTLM_GRAD_OF, LINB_BIAS}}}}},
    .cpu = linear_bias_fwd_cpu,
    .cpu_bf16 = MTLM_BF16_KERNEL(linear_bias_fwd),
    .cuda = MTLM_CUDA_KERNEL(linear_bias_fwd),
};

static int linear_dgrad_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;
    const int64_t n = mtlm_shape_cols(&shape[LIND_DY]);
    struct mtlm_shape dx;

    if (mtlm_infer_expect_rank(call, LIND_WEIGHT, "weight", 2, err))
        return -1;
    dx = mtlm_infer_shape_with_cols(shape[LIND_DY], shape[LIND_WEIGHT].dim[1]);
    if (call->kind == MTLM_OP_LINEAR_DGRAD)
        shape[LIND_DX] = dx;
    return mtlm_infer_expect_shape(call, LIND_WEIGHT, "weight",
                                   MTLM_SHAPE(n, shape[LIND_WEIGHT].dim[1]),
                                   err)
                   || mtlm_infer_expect_shape(call, LIND_DX, "dx", dx, err)
               ? -1
               : 0;
}

static double linear_dgrad_flops(const struct mtlm_call *call)
{
    return linear_flops(&call->shape[LIND_DY], &call->shape[LIND_WEIGHT]);
}

static void compute_dgrad(void *const ptr[], const struct mtlm_call *call,
                          bool add, const struct mtlm_context *context)
{
    const struct mtlm_shape *shape = &call->shape[LIND_WEIGHT];
    const int64_t m = mtlm_shape_rows(&call->shape[LIND_DY]);
    const int64_t n = shape->dim[0], k = shape->dim[1];
    const mtlm_real *dy = ptr[LIND_DY];
    struct weight_rows p = {0};

    for (; next_panel(&p, call, shape, ptr[LIND_WEIGHT], context); add = true)
        mtlm_blas_gemm(false, false, m, k, p.rows, 1, dy + p.first, n, p.weight,
                       k, add, ptr[LIND_DX], k);
}

static void linear_dgrad_cpu(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    compute_dgrad(ptr, call, false, context);
}

static void linear_dgrad_add_cpu(void *const ptr[],
                                 const struct mtlm_call *call,
                                 const struct mtlm_context *context)
{
    compute_dgrad(ptr, call, true, context);
}

const struct mtlm_op mtlm_op_linear_dgrad = {
    .name = "linear_dgrad",
    .n_operands = LIND_COUNT,
    .access = {[LIND_DY] = MTLM_R, [LIND_WEIGHT] = MTLM_R, [LIND_DX] = MTLM_W},
    .dtype = {[LIND_DY] = MTLM_VALUE,
              [LIND_WEIGHT] = MTLM_VALUE,
              [LIND_DX] = MTLM_VALUE},
    .in_panels = {[LIND_WEIGHT] = true},
    .infer = linear_dgrad_infer,
    .flops = linear_dgrad_flops,
    .cpu = linear_dgrad_cpu,
    .cpu_bf16 = MTLM_BF16_KERNEL(linear_dgrad),
    .cuda = MTLM_CUDA_KERNEL(linear_dgrad),
};

const struct mtlm_op mtlm_op_linear_dgrad_add = {
    .name = "linear_dgrad_add",
    .n_operands = LIND_COUNT,
    .access = {[LIND_DY] = MTLM_R, [LIND_WEIGHT] = MTLM_R, [LIND_DX] = MTLM_RW},
    .dtype = {[LIND_DY] = MTLM_VALUE,
              [LIND_WEIGHT] = MTLM_VALUE,
              [LIND_DX] = MTLM_VALUE},
    .in_panels = {[LIND_WEIGHT] = true},
    .infer = linear_dgrad_infer,
    .flops = linear_dgrad_flops,
    .cpu = linear_dgrad_add_cpu,
    .cpu_bf16 = MTLM_BF16_KERNEL(linear_dgrad_add),
    .cuda = MTLM_CUDA_KERNEL(linear_dgrad_add),
};

static int linear_wgrad_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;
    const int64_t n = mtlm_shape_cols(&shape[LINW_DY]);
    const int64_t k = mtlm_shape_cols(&shape[LINW_X]);

    return mtlm_infer_expect_shape(call, LINW_DY, "dy",
                                   mtlm_infer_shape_with_cols(shape[LINW_X], n),
                                   err)
                   || mtlm_infer_expect_shape(call, LINW_DWEIGHT, "dweight",
                                              MTLM_SHAPE(n, k), err)
               ? -1
               : 0;
}

static double linear_wgrad_flops(const struct mtlm_call *call)
{
    return linear_flops(&call->shape[LINW_X], &call->shape[LINW_DWEIGHT]);
}

static void linear_wgrad_cpu(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const int64_t m = mtlm_shape_rows(&call->shape[LINW_X]);
    const int64_t n = call->shape[LINW_DWEIGHT].dim[0];
    const int64_t k = call->shape[LINW_DWEIGHT].dim[1];

    mtlm_blas_gemm(true, false, n, k, m, 1, ptr[LINW_DY], n, ptr[LINW_X], k,
                   mtlm_linear_adds(call, context), ptr[LINW_DWEIGHT], k);
}

const struct mtlm_op mtlm_op_linear_wgrad = {
    .name = "linear_wgrad",
    .n_operands = LINW_COUNT,
    .access = {[LINW_X] = MTLM_R, [LINW_DY] = MTLM_R, [LINW_DWEIGHT] = MTLM_RW},
    .dtype = {[LINW_X] = MTLM_VALUE, [LINW_DY] = MTLM_VALUE},
    .infer = linear_wgrad_infer,
    .flops = linear_wgrad_flops,
    .cpu = linear_wgrad_cpu,
    .cpu_bf16 = MTLM_BF16_KERNEL(linear_wgrad),
    .cuda = MTLM_CUDA_KERNEL(linear_wgrad),
};

static int linear_bias_wgrad_infer(struct mtlm_call *call,
                                   struct mtlm_error *err)
{
    const int64_t n = mtlm_shape_cols(&call->shape[LINW_DY]);

    return linear_wgrad_infer(call, err)
                   || mtlm_infer_expect_shape(call, LINW_DBIAS, "dbias",
                                              MTLM_SHAPE(n), err)
               ? -1
               : 0;
}

static void linear_bias_wgrad_cpu(void *const ptr[],
                                  const struct mtlm_call *call,
                                  const struct mtlm_context *context)
{
    linear_wgrad_cpu(ptr, call, context);
    mtlm_rows_add(ptr[LINW_DBIAS], ptr[LINW_DY],
                  mtlm_shape_rows(&call->shape[LINW_DY]),
                  mtlm_shape_cols(&call->shape[LINW_DY]));
}

const struct mtlm_op mtlm_op_linear_bias_wgrad = {
    .name = "linear_bias_wgrad",
    .n_operands = LINW_COUNT + 1,
    .access = {[LINW_X] = MTLM_R,
               [LINW_DY] = MTLM_R,
               [LINW_DWEIGHT] = MTLM_RW,
               [LINW_DBIAS] = MTLM_RW},
    .dtype = {[LINW_X] = MTLM_VALUE, [LINW_DY] = MTLM_VALUE},
    .infer = linear_bias_wgrad_infer,
    .flops = linear_wgrad_flops,
    .cpu = linear_bias_wgrad_cpu,
    .cpu_bf16 = MTLM_BF16_KERNEL(linear_bias_wgrad),
    .cuda = MTLM_CUDA_KERNEL(linear_bias_wgrad),
};
