/* Linear layers on bf16 matrices; formulas and shapes: linear.c.  Gradients of
 * weights and biases are fp32. */

#include "config.h"

#include "codelets/bf16_product.h"
#include "codelets/linear.h"
#include "codelets/op.h"
#include "codelets/rows.h"

/* y = x weight^T (+ bias) */
static void forward(const struct mtlm_call *call, const void *x,
                    const void *weight, const void *bias, void *y,
                    const struct mtlm_context *context)
{
    const struct mtlm_bf16_product product = {
        .trans_b = true,
        .packed = call->packed,
        .m = mtlm_shape_rows(&call->shape[LIN_X]),
        .n = call->shape[LIN_WEIGHT].dim[0],
        .k = call->shape[LIN_WEIGHT].dim[1]};

    mtlm_bf16_product(&product, x, weight, bias, y, context->scratch);
}

void mtlm_linear_fwd_bf16(void *const ptr[], const struct mtlm_call *call,
                          const struct mtlm_context *context)
{
    forward(call, ptr[LIN_X], ptr[LIN_WEIGHT], NULL, ptr[LIN_Y], context);
}

void mtlm_linear_bias_fwd_bf16(void *const ptr[], const struct mtlm_call *call,
                               const struct mtlm_context *context)
{
    forward(call, ptr[LINB_X], ptr[LINB_WEIGHT], ptr[LINB_BIAS], ptr[LINB_Y],
            context);
}

static void backward(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context, bool add)
{
    const struct mtlm_bf16_product product = {
        .add = add,
        .packed = call->packed,
        .m = mtlm_shape_rows(&call->shape[LIND_DY]),
        .n = call->shape[LIND_WEIGHT].dim[1],
        .k = call->shape[LIND_WEIGHT].dim[0]};

    mtlm_bf16_product(&product, ptr[LIND_DY], ptr[LIND_WEIGHT], NULL,
                      ptr[LIND_DX], context->scratch);
}

void mtlm_linear_dgrad_bf16(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    backward(ptr, call, context, false);
}

void mtlm_linear_dgrad_add_bf16(void *const ptr[], const struct mtlm_call *call,
                                const struct mtlm_context *context)
{
    backward(ptr, call, context, true);
}

/* Of call and its next calls: all have the same dweight.  n_operands: of the
 * operation. */
static void weight_gradient(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context, int n_operands)
{
    const struct mtlm_bf16_product product = {
        .trans_a = true,
        .single = true,
        .add = mtlm_linear_adds(call, context),
        .m = call->shape[LINW_DWEIGHT].dim[0],
        .n = call->shape[LINW_DWEIGHT].dim[1]};
    struct mtlm_bf16_summand summand[MTLM_MAX_CALLS];
    float *dweight = ptr[LINW_DWEIGHT];
    int n = 0;

    for (; call; call = call->next, ptr += n_operands)
        summand[n++] = (struct mtlm_bf16_summand){
            .a = ptr[LINW_DY],
            .b = ptr[LINW_X],
            .k = mtlm_shape_rows(&call->shape[LINW_X])};
    mtlm_bf16_product_sum(&product, summand, n, dweight, context->scratch);
}

void mtlm_linear_wgrad_bf16(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    weight_gradient(ptr, call, context, LINW_COUNT);
}

void mtlm_linear_bias_wgrad_bf16(void *const ptr[],
                                 const struct mtlm_call *call,
                                 const struct mtlm_context *context)
{
    const int n = LINW_COUNT + 1;

    weight_gradient(ptr, call, context, n);
    for (; call; call = call->next, ptr += n)
        mtlm_rows_add_16(ptr[LINW_DBIAS], MTLM_BF16, ptr[LINW_DY],
                         mtlm_shape_rows(&call->shape[LINW_DY]),
                         mtlm_shape_cols(&call->shape[LINW_DY]));
}
