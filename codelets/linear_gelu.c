/* The two linear layers of an MLP, each with its side of the GELU between them
 * (gelu.h), so that a GPU can do that as part of the products:
 *
 *   linear_gelu_fwd    pre = x weight^T + bias, y = gelu(pre)
 *   gelu_linear_fwd    y = x weight^T, where x is such a y
 *   gelu_linear_dgrad  dpre = (dy weight) gelu'(pre)
 *
 * The gradient goes from the second layer straight to pre: what is between
 * them has none, so that nothing else may read it.  The bias' is made with the
 * weight's, by linear_bias_wgrad.
 *
 * Of the first: x [.., k], pre, y [.., n], weight [n, k], bias [n].  Of the
 * second: x, pre, dpre [.., k], y, dy [.., n], weight [n, k]. */

#include "config.h"

#include "codelets/gelu.h"
#include "codelets/infer.h"
#include "codelets/linear.h"
#include "codelets/linear_gelu.h"
#include "codelets/linear_walk.h"
#include "codelets/value.h"
#include "runtime/base/least.h"

/* Columns that GELU takes at a time; a row of them stays in the nearest cache.
 */
enum { BLOCK = 1024 };

_Static_assert((int) LG_X == (int) LINB_X
                   && (int) LG_WEIGHT == (int) LINB_WEIGHT
                   && (int) LG_BIAS == (int) LINB_BIAS
                   && (int) LG_PRE == (int) LINB_Y && (int) LG_X == (int) LIN_X
                   && (int) LG_WEIGHT == (int) LIN_WEIGHT
                   && (int) GL_X == (int) LIN_X
                   && (int) GL_WEIGHT == (int) LIN_WEIGHT
                   && (int) GLD_DY == (int) LIND_DY
                   && (int) GLD_WEIGHT == (int) LIND_WEIGHT,
               "a call's first operands are those of linear.c's");

static int linear_gelu_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    if (mtlm_op_linear_bias_fwd.infer(call, err))
        return -1;
    call->shape[LG_Y] = call->shape[LG_PRE];
    return 0;
}

/* GELU and bias count 10 per element, as in bias_gelu_fwd. */
static double linear_gelu_fwd_flops(const struct mtlm_call *call)
{
    return mtlm_op_linear_bias_fwd.flops(call)
           + 10.0 * mtlm_shape_elems(&call->shape[LG_PRE]);
}

static void tanh_row(mtlm_real *pre, const mtlm_real *bias, mtlm_real *y,
                     int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        const mtlm_real v = pre[i] + bias[i];

        pre[i] = v;
        y[i] = mtlm_gelu(v);
    }
}

static void exact_row(mtlm_real *pre, const mtlm_real *bias, mtlm_real *y,
                      int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        const mtlm_real v = pre[i] + bias[i];

        pre[i] = v;
        y[i] = mtlm_gelu_exact(v);
    }
}

/* Adds the bias to cols columns of the panel's part of pre, from c on, and
 * writes the GELU to y. */
static void apply_gelu(const struct mtlm_call *call,
                       const struct mtlm_linear_operand *pre, int64_t c,
                       int64_t cols, const mtlm_real *bias, void *y)
{
    const int64_t n = mtlm_shape_cols(&call->shape[LG_PRE]);

    for (int64_t r = 0; r < pre->rows; r++) {
        const int64_t first = r * n + pre->col + c;
        mtlm_real buffer[BLOCK];
        mtlm_real *to =
            call->value == MTLM_REAL ? (mtlm_real *) y + first : buffer;

        (call->attr.gelu.exact ? exact_row : tanh_row)(
            pre->at + r * pre->ld + c, bias, to, cols);
        mtlm_value_put(call->value, to, first, cols, y);
    }
}

static void linear_gelu_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                                const struct mtlm_context *context)
{
    struct mtlm_linear_walk walk =
        mtlm_linear_walk_fwd(call, ptr[LG_X], ptr[LG_WEIGHT], ptr[LG_PRE]);

    mtlm_linear_walk_begin(&walk, context);
    while (mtlm_linear_walk_next(&walk)) {
        mtlm_linear_walk_multiply(&walk, false);
        for (int64_t c = 0; walk.ends && c < walk.y.cols; c += BLOCK) {
            const int64_t cols = mtlm_least(BLOCK, walk.y.cols - c);
            mtlm_real bias[BLOCK];

            apply_gelu(call, &walk.y, c, cols,
                       mtlm_value_get(call->value, ptr[LG_BIAS], walk.y.col + c,
                                      cols, bias),
                       ptr[LG_Y]);
        }
    }
}

const struct mtlm_op mtlm_op_linear_gelu_fwd = {
    .name = "linear_gelu_fwd",
    .n_operands = LG_COUNT,
    .access = {[LG_X] = MTLM_R,
               [LG_WEIGHT] = MTLM_R,
               [LG_BIAS] = MTLM_R,
               [LG_PRE] = MTLM_W,
               [LG_Y] = MTLM_W},
    .dtype = {[LG_X] = MTLM_VALUE,
              [LG_WEIGHT] = MTLM_VALUE,
              [LG_BIAS] = MTLM_VALUE,
              [LG_PRE] = MTLM_VALUE,
              [LG_Y] = MTLM_VALUE},
    .infer = linear_gelu_fwd_infer,
    .flops = linear_gelu_fwd_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_LINEAR_DGRAD,
                       .kind_add = MTLM_OP_LINEAR_DGRAD_ADD,
                       .arg = {{MTLM_GRAD_OF, LG_PRE},
                               {MTLM_GRAD_VALUE, LG_WEIGHT},
                               {MTLM_GRAD_OF, LG_X}}},
                      {.used = true,
                       .phase = MTLM_GRAD_W,
                       .kind = MTLM_OP_LINEAR_BIAS_WGRAD,
                       .arg = {{MTLM_GRAD_VALUE, LG_X},
                               {MTLM_GRAD_OF, LG_PRE},
                               {MTLM_GRAD_OF, LG_WEIGHT},
                               {MTLM_GRAD_OF, LG_BIAS}}}}},
    .cpu = linear_gelu_fwd_cpu,
    .cpu_bf16 = MTLM_BF16_KERNEL(linear_gelu_fwd),
    .cuda = MTLM_CUDA_KERNEL(linear_gelu_fwd),
    .cpu_typed = true,
    .wide_bytes = mtlm_linear_walk_fwd_bytes,
};

static int gelu_linear_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    struct mtlm_call plain = *call;

    if (mtlm_op_linear_fwd.infer(&plain, err))
        return -1;
    call->shape[GL_Y] = plain.shape[LIN_Y];
    return mtlm_infer_expect_shape(call, GL_PRE, "pre", call->shape[GL_X], err);
}

static double gelu_linear_fwd_flops(const struct mtlm_call *call)
{
    return mtlm_op_linear_fwd.flops(call);
}

static void gelu_linear_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                                const struct mtlm_context *context)
{
    mtlm_op_linear_fwd.cpu((void *[]){ptr[GL_X], ptr[GL_WEIGHT], ptr[GL_Y]},
                           call, context);
}

const struct mtlm_op mtlm_op_gelu_linear_fwd = {
    .name = "gelu_linear_fwd",
    .n_operands = GL_COUNT,
    .access = {[GL_X] = MTLM_R,
               [GL_WEIGHT] = MTLM_R,
               [GL_PRE] = MTLM_R,
               [GL_Y] = MTLM_W},
    .dtype = {[GL_X] = MTLM_VALUE,
              [GL_WEIGHT] = MTLM_VALUE,
              [GL_PRE] = MTLM_VALUE,
              [GL_Y] = MTLM_VALUE},
    .untouched = {[GL_PRE] = true},
    .infer = gelu_linear_fwd_infer,
    .flops = gelu_linear_fwd_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_GELU_LINEAR_DGRAD,
                       .arg = {{MTLM_GRAD_OF, GL_Y},
                               {MTLM_GRAD_VALUE, GL_WEIGHT},
                               {MTLM_GRAD_VALUE, GL_PRE},
                               {MTLM_GRAD_OF, GL_PRE}}},
                      {.used = true,
                       .phase = MTLM_GRAD_W,
                       .kind = MTLM_OP_LINEAR_WGRAD,
                       .arg = {{MTLM_GRAD_VALUE, GL_X},
                               {MTLM_GRAD_OF, GL_Y},
                               {MTLM_GRAD_OF, GL_WEIGHT}}}}},
    .cpu = gelu_linear_fwd_cpu,
    .cpu_bf16 = MTLM_BF16_KERNEL(gelu_linear_fwd),
    .cuda = MTLM_CUDA_KERNEL(gelu_linear_fwd),
    .cpu_typed = true,
    .wide_bytes = mtlm_linear_walk_fwd_bytes,
};

static int gelu_linear_dgrad_infer(struct mtlm_call *call,
                                   struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;
    const struct mtlm_shape n = MTLM_SHAPE(mtlm_shape_cols(&shape[GLD_DY]),
                                           mtlm_shape_cols(&shape[GLD_PRE]));

    shape[GLD_DPRE] = shape[GLD_PRE];
    return mtlm_infer_expect_shape(call, GLD_WEIGHT, "weight", n, err)
                   || mtlm_infer_expect_shape(
                       call, GLD_PRE, "pre",
                       mtlm_infer_shape_with_cols(shape[GLD_DY], n.dim[1]), err)
               ? -1
               : 0;
}

/* GELU's slope counts as in bias_gelu_bwd, without the bias. */
static double gelu_linear_dgrad_flops(const struct mtlm_call *call)
{
    return mtlm_op_linear_dgrad.flops(call)
           + 15.0 * mtlm_shape_elems(&call->shape[GLD_PRE]);
}

static void times_slope(mtlm_real *d, const mtlm_real *pre, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        d[i] *= mtlm_gelu_slope(pre[i]);
}

static void times_exact_slope(mtlm_real *d, const mtlm_real *pre, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        d[i] *= mtlm_gelu_exact_slope(pre[i]);
}

/* Multiplies the panel's part of the gradient of y by GELU's slope at pre. */
static void apply_slope(const struct mtlm_call *call,
                        const struct mtlm_linear_operand *d, void *pre)
{
    const int64_t k = mtlm_shape_cols(&call->shape[GLD_PRE]);

    for (int64_t r = 0; r < d->rows; r++)
        for (int64_t c = 0; c < d->cols; c += BLOCK) {
            const int64_t cols = mtlm_least(BLOCK, d->cols - c);
            mtlm_real buffer[BLOCK];

            (call->attr.gelu.exact ? times_exact_slope : times_slope)(
                d->at + r * d->ld + c,
                mtlm_value_get(call->value, pre, r * k + d->col + c, cols,
                               buffer),
                cols);
        }
}

static void gelu_linear_dgrad_cpu(void *const ptr[],
                                  const struct mtlm_call *call,
                                  const struct mtlm_context *context)
{
    struct mtlm_linear_walk walk = mtlm_linear_walk_dgrad(
        call, ptr[GLD_DY], ptr[GLD_WEIGHT], ptr[GLD_DPRE], false);

    mtlm_linear_walk_begin(&walk, context);
    while (mtlm_linear_walk_next(&walk)) {
        mtlm_linear_walk_multiply(&walk, false);
        if (walk.ends)
            apply_slope(call, &walk.x, ptr[GLD_PRE]);
    }
}

const struct mtlm_op mtlm_op_gelu_linear_dgrad = {
    .name = "gelu_linear_dgrad",
    .n_operands = GLD_COUNT,
    .access = {[GLD_DY] = MTLM_R,
               [GLD_WEIGHT] = MTLM_R,
               [GLD_PRE] = MTLM_R,
               [GLD_DPRE] = MTLM_W},
    .dtype = {[GLD_DY] = MTLM_VALUE,
              [GLD_WEIGHT] = MTLM_VALUE,
              [GLD_PRE] = MTLM_VALUE,
              [GLD_DPRE] = MTLM_VALUE},
    .infer = gelu_linear_dgrad_infer,
    .flops = gelu_linear_dgrad_flops,
    .cpu = gelu_linear_dgrad_cpu,
    .cpu_bf16 = MTLM_BF16_KERNEL(gelu_linear_dgrad),
    .cuda = MTLM_CUDA_KERNEL(gelu_linear_dgrad),
    .cpu_typed = true,
    .wide_bytes = mtlm_linear_walk_dgrad_bytes,
};
