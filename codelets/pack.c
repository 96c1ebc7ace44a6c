/* Packs a weight [n, k] for products y = x weight^T, or dx = dy weight. */

#include "config.h"

#include <stddef.h>

#include "codelets/bf16_product.h"
#include "codelets/infer.h"
#include "codelets/linear.h"
#include "codelets/linear_gelu.h"
#include "codelets/pack.h"

_Static_assert((int) LIN_WEIGHT == PACK_READER_WEIGHT
                   && (int) LINB_WEIGHT == PACK_READER_WEIGHT
                   && (int) LIND_WEIGHT == PACK_READER_WEIGHT
                   && (int) LG_WEIGHT == PACK_READER_WEIGHT
                   && (int) GL_WEIGHT == PACK_READER_WEIGHT
                   && (int) GLD_WEIGHT == PACK_READER_WEIGHT,
               "all readers have the weight at one place");

enum mtlm_pack mtlm_pack_reads(enum mtlm_op_kind kind)
{
    switch (kind) {
    case MTLM_OP_LINEAR_FWD:
    case MTLM_OP_LINEAR_BIAS_FWD:
    case MTLM_OP_LINEAR_GELU_FWD:
    case MTLM_OP_GELU_LINEAR_FWD:
        return MTLM_PACK_FORWARD;
    case MTLM_OP_LINEAR_DGRAD:
    case MTLM_OP_LINEAR_DGRAD_ADD:
    case MTLM_OP_GELU_LINEAR_DGRAD:
        return MTLM_PACK_GRADIENT;
    default:
        return MTLM_PACK_NOTHING;
    }
}

/* Returns the product of `rows` rows with a weight. */
static struct mtlm_bf16_product product_of(const struct mtlm_shape *weight,
                                           bool gradient, int64_t rows)
{
    return (struct mtlm_bf16_product){.trans_b = !gradient,
                                      .m = rows,
                                      .n = weight->dim[gradient],
                                      .k = weight->dim[!gradient]};
}

bool mtlm_pack_fits(const struct mtlm_call *call, const union mtlm_attr *attr)
{
    const struct mtlm_shape *weight = &call->shape[PACK_READER_WEIGHT];
    const bool gradient = mtlm_pack_reads(call->kind) == MTLM_PACK_GRADIENT;
    const bool bias = call->kind == MTLM_OP_LINEAR_BIAS_FWD
                      || call->kind == MTLM_OP_LINEAR_GELU_FWD;
    const struct mtlm_bf16_product like =
        product_of(weight, attr->pack.gradient, attr->pack.rows);
    struct mtlm_bf16_product mine = product_of(
        weight, gradient, mtlm_shape_rows(&call->shape[PACK_READER_X]));

    mine.add = call->kind == MTLM_OP_LINEAR_DGRAD_ADD;
    return call->value == MTLM_BF16 && gradient == attr->pack.gradient
           && mtlm_bf16_product_here()
           && mtlm_bf16_product_packs(&mine, bias, &like);
}

static int pack_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    if (mtlm_infer_expect_rank(call, PACK_WEIGHT, "weight", 2, err))
        return -1;
    call->shape[PACK_PACKED] = call->shape[PACK_WEIGHT];
    return 0;
}

static void pack_cpu(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context)
{
    const struct mtlm_bf16_product like =
        product_of(&call->shape[PACK_WEIGHT], call->attr.pack.gradient,
                   call->attr.pack.rows);

    mtlm_bf16_product_pack(&like, ptr[PACK_WEIGHT], ptr[PACK_PACKED],
                           context->scratch);
}

const struct mtlm_op mtlm_op_pack = {
    .name = "pack",
    .n_operands = PACK_COUNT,
    .access = {[PACK_WEIGHT] = MTLM_R, [PACK_PACKED] = MTLM_W},
    .dtype = {[PACK_WEIGHT] = MTLM_VALUE, [PACK_PACKED] = MTLM_VALUE},
    .infer = pack_infer,
    .cpu = pack_cpu,
    .cpu_typed = true,
};
