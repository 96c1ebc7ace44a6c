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
#include "codelets/linear_walk.h"
#include "codelets/rows.h"
#include "codelets/value.h"

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

/* Sets each row of the part to the bias.  A 16-bit bias is widened in row 0. */
static void fill_with_bias(const struct mtlm_linear_operand *y, void *bias)
{
    const mtlm_real *wide =
        mtlm_value_get(y->type, bias, y->col, y->cols, y->at);

    for (int64_t r = 0; r < y->rows; r++)
        if (y->at + r * y->ld != wide)
            memcpy(y->at + r * y->ld, wide, y->cols * sizeof(*wide));
}

/* Computes the walk's product; plus bias [n] unless bias is NULL.  Adding the
 * product to rows of the bias is as fast as writing the product: the library
 * would zero the result first. */
static void compute(struct mtlm_linear_walk walk, void *bias,
                    const struct mtlm_context *context)
{
    mtlm_linear_walk_begin(&walk, context);
    while (mtlm_linear_walk_next(&walk)) {
        if (bias && walk.starts)
            fill_with_bias(&walk.y, bias);
        mtlm_linear_walk_multiply(&walk, bias != NULL);
    }
}

static void linear_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context)
{
    compute(mtlm_linear_walk_fwd(call, ptr[LIN_X], ptr[LIN_WEIGHT], ptr[LIN_Y]),
            NULL, context);
}

const struct mtlm_op mtlm_op_linear_fwd = {
    .name = "linear_fwd",
    .n_operands = LIN_COUNT,
    .access = {[LIN_X] = MTLM_R, [LIN_WEIGHT] = MTLM_R, [LIN_Y] = MTLM_W},
    .dtype =
        {[LIN_X] = MTLM_VALUE, [LIN_WEIGHT] = MTLM_VALUE, [LIN_Y] = MTLM_VALUE},
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
    .cpu_typed = true,
    .wide_bytes = mtlm_linear_walk_fwd_bytes,
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

static void linear_bias_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                                const struct mtlm_context *context)
{
    compute(
        mtlm_linear_walk_fwd(call, ptr[LINB_X], ptr[LINB_WEIGHT], ptr[LINB_Y]),
        ptr[LINB_BIAS], context);
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
    .cpu_typed = true,
    .wide_bytes = mtlm_linear_walk_fwd_bytes,
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

static void linear_dgrad_cpu(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    compute(mtlm_linear_walk_dgrad(call, ptr[LIND_DY], ptr[LIND_WEIGHT],
                                   ptr[LIND_DX], false),
            NULL, context);
}

static void linear_dgrad_add_cpu(void *const ptr[],
                                 const struct mtlm_call *call,
                                 const struct mtlm_context *context)
{
    compute(mtlm_linear_walk_dgrad(call, ptr[LIND_DY], ptr[LIND_WEIGHT],
                                   ptr[LIND_DX], true),
            NULL, context);
}

const struct mtlm_op mtlm_op_linear_dgrad = {
    .name = "linear_dgrad",
    .n_operands = LIND_COUNT,
    .access = {[LIND_DY] = MTLM_R, [LIND_WEIGHT] = MTLM_R, [LIND_DX] = MTLM_W},
    .dtype = {[LIND_DY] = MTLM_VALUE,
              [LIND_WEIGHT] = MTLM_VALUE,
              [LIND_DX] = MTLM_VALUE},
    .infer = linear_dgrad_infer,
    .flops = linear_dgrad_flops,
    .cpu = linear_dgrad_cpu,
    .cpu_bf16 = MTLM_BF16_KERNEL(linear_dgrad),
    .cuda = MTLM_CUDA_KERNEL(linear_dgrad),
    .cpu_typed = true,
    .wide_bytes = mtlm_linear_walk_dgrad_bytes,
};

const struct mtlm_op mtlm_op_linear_dgrad_add = {
    .name = "linear_dgrad_add",
    .n_operands = LIND_COUNT,
    .access = {[LIND_DY] = MTLM_R, [LIND_WEIGHT] = MTLM_R, [LIND_DX] = MTLM_RW},
    .dtype = {[LIND_DY] = MTLM_VALUE,
              [LIND_WEIGHT] = MTLM_VALUE,
              [LIND_DX] = MTLM_VALUE},
    .infer = linear_dgrad_infer,
    .flops = linear_dgrad_flops,
    .cpu = linear_dgrad_add_cpu,
    .cpu_bf16 = MTLM_BF16_KERNEL(linear_dgrad_add),
    .cuda = MTLM_CUDA_KERNEL(linear_dgrad_add),
    .cpu_typed = true,
    .wide_bytes = mtlm_linear_walk_dgrad_bytes,
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
    compute(mtlm_linear_walk_wgrad(call, ptr[LINW_X], ptr[LINW_DY],
                                   ptr[LINW_DWEIGHT],
                                   mtlm_linear_adds(call, context)),
            NULL, context);
}

const struct mtlm_op mtlm_op_linear_wgrad = {
    .name = "linear_wgrad",
    .n_operands = LINW_COUNT,
    .access = {[LINW_X] = MTLM_R, [LINW_DY] = MTLM_R, [LINW_DWEIGHT] = MTLM_RW},
    .dtype = {[LINW_X] = MTLM_VALUE, [LINW_DY] = MTLM_VALUE},
    .shared = {[LINW_DWEIGHT] = true},
    .infer = linear_wgrad_infer,
    .flops = linear_wgrad_flops,
    .cpu = linear_wgrad_cpu,
    .cpu_bf16 = MTLM_BF16_KERNEL(linear_wgrad),
    .bf16_together = true,
    .cuda = MTLM_CUDA_KERNEL(linear_wgrad),
    .cpu_typed = true,
    .wide_bytes = mtlm_linear_walk_wgrad_bytes,
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
    const int64_t m = mtlm_shape_rows(&call->shape[LINW_DY]);
    const int64_t n = mtlm_shape_cols(&call->shape[LINW_DY]);

    linear_wgrad_cpu(ptr, call, context);
    if (call->value == MTLM_REAL)
        mtlm_rows_add(ptr[LINW_DBIAS], ptr[LINW_DY], m, n);
    else
        mtlm_rows_add_16(ptr[LINW_DBIAS], call->value, ptr[LINW_DY], m, n);
}

const struct mtlm_op mtlm_op_linear_bias_wgrad = {
    .name = "linear_bias_wgrad",
    .n_operands = LINW_COUNT + 1,
    .access = {[LINW_X] = MTLM_R,
               [LINW_DY] = MTLM_R,
               [LINW_DWEIGHT] = MTLM_RW,
               [LINW_DBIAS] = MTLM_RW},
    .dtype = {[LINW_X] = MTLM_VALUE, [LINW_DY] = MTLM_VALUE},
    .shared = {[LINW_DWEIGHT] = true, [LINW_DBIAS] = true},
    .infer = linear_bias_wgrad_infer,
    .flops = linear_wgrad_flops,
    .cpu = linear_bias_wgrad_cpu,
    .cpu_bf16 = MTLM_BF16_KERNEL(linear_bias_wgrad),
    .bf16_together = true,
    .cuda = MTLM_CUDA_KERNEL(linear_bias_wgrad),
    .cpu_typed = true,
    .wide_bytes = mtlm_linear_walk_wgrad_bytes,
};
