/* Self-attention: y = dropout(softmax(q k^T / sqrt(d))) v per sample and head.
 * A query sees the keys of its sample before the padding.  A causal query sees
 * the keys up to its own position.
 *
 * Rows may be a part of the samples, along the sequence.  attention_fwd
 * computes queries and keys of one part.  attention_more_fwd computes the keys
 * of another part and merges the result into y and lse.  Each part of the keys
 * that the queries see takes one call, attention_fwd first; causal: the earlier
 * parts.  Backward has one call per forward call, with the final y and lse;
 * each call adds to the gradients.
 *
 * qkv, dqkv [sq, b, 3 hl], per head [q | k | v], each d = hl / heads wide;
 * qkv_k, dqkv_k [sk, b, 3 hl] of the other part; lengths [1, b], positions of a
 * sample before its padding; y, dy [sq, b, hl]; lse [b, heads, sq], the
 * logarithm of a query's sum of exponentials.  Queries of the padding have y =
 * 0, MTLM_ATTENTION_NO_LSE and no gradient.  Keys, values and dy of the padding
 * do not matter.
 *
 * attr.attention.alibi_heads: ALiBi adds slope (k - q) to the score of the
 * query at position q and the key at position k (codelets/attention/alibi.h).
 *
 * attr.attention.coefficient: the layer's number with Megatron-LM's query-key
 * layer scaling, else 1.  Scores are divided by the coefficient and multiplied
 * in the softmax.  ALiBi does not depend on the coefficient. */

#include "config.h"

#include "codelets/attention/attention.h"
#include "codelets/attention/attention_bwd.h"
#include "codelets/attention/attention_fwd.h"
#include "codelets/attention/attention_heads.h"
#include "codelets/attention/attention_shape.h"
#include "codelets/bf16_product.h"
#include "codelets/infer.h"

/* Heads computed in mtlm_real. */
static const struct mtlm_attention_way in_real = {
    .fwd_scratch = mtlm_attention_fwd_scratch,
    .bwd_scratch = mtlm_attention_bwd_scratch,
    .fwd = mtlm_attention_fwd_head,
    .bwd = mtlm_attention_bwd_head,
};

/* Counts two products of every query with every key, the convention of all
 * published counts, although causal attention never computes half of them.
 * twice: keys of an earlier part count for the later keys that are not seen. */
static double flops_of(const struct mtlm_call *call, int64_t keys, bool twice)
{
    const int64_t *dim = call->shape[ATT_QKV].dim;

    return (twice ? 8.0 : 4.0) * dim[1] * dim[0] * keys * (dim[2] / 3);
}

static double attention_flops(const struct mtlm_call *call)
{
    return flops_of(call, call->shape[ATT_QKV].dim[0], false);
}

static double attention_more_flops(const struct mtlm_call *call)
{
    return flops_of(call, call->shape[ATTM_QKV_K].dim[0],
                    call->attr.attention.causal);
}

/* Twice the count of forward; recomputed scores do not count. */
static double attention_bwd_flops(const struct mtlm_call *call)
{
    return 2 * attention_flops(call);
}

static double attention_more_bwd_flops(const struct mtlm_call *call)
{
    return 2 * attention_more_flops(call);
}

/* Short samples lose more time between the small products of their blocks than
 * bf16 products gain.  A causal query sees half of the keys on average.  All
 * parts of a sample are computed in one way. */
static bool bf16_pays(const struct mtlm_call *call)
{
    const int64_t keys = call->attr.attention.seq_length;
    const bool causal = call->attr.attention.causal;

    return keys >= (mtlm_bf16_product_by_amx() ? 64 : causal ? 384 : 192);
}

static int attention_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    if (mtlm_attention_shape_check_qkv(call, ATT_QKV, "qkv", err)
        || mtlm_attention_shape_check_lengths(call, ATT_QKV, ATT_LENGTHS, err))
        return -1;
    call->shape[ATT_Y] = mtlm_attention_shape_of_y(call);
    call->shape[ATT_LSE] = mtlm_attention_shape_of_lse(call);
    return 0;
}

static void attention_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    mtlm_attention_heads_fwd(&in_real, ptr, call, context);
}

const struct mtlm_op mtlm_op_attention_fwd = {
    .name = "attention_fwd",
    .n_operands = 4,
    .access = {[ATT_QKV] = MTLM_R,
               [ATT_LENGTHS] = MTLM_R,
               [ATT_Y] = MTLM_W,
               [ATT_LSE] = MTLM_W},
    .dtype = {[ATT_QKV] = MTLM_VALUE,
              [ATT_Y] = MTLM_VALUE,
              [ATT_LENGTHS] = MTLM_I32},
    .infer = attention_fwd_infer,
    .flops = attention_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_ATTENTION_BWD,
                       .kind_add = MTLM_OP_ATTENTION_BWD_ADD,
                       .arg = {{MTLM_GRAD_VALUE, ATT_QKV},
                               {MTLM_GRAD_VALUE, ATT_LENGTHS},
                               {MTLM_GRAD_VALUE, ATT_Y},
                               {MTLM_GRAD_VALUE, ATT_LSE},
                               {MTLM_GRAD_OF, ATT_Y},
                               {MTLM_GRAD_OF, ATT_QKV}}}}},
    .cpu = attention_fwd_cpu,
    .cpu_typed = true,
    .cpu_bf16 = MTLM_BF16_KERNEL(attention_fwd),
    .bf16_pays = bf16_pays,
    .cuda = MTLM_CUDA_KERNEL(attention_fwd),
};

static int attention_more_fwd_infer(struct mtlm_call *call,
                                    struct mtlm_error *err)
{
    return mtlm_attention_shape_check_qkv(call, ATTM_QKV_Q, "qkv_q", err)
                   || mtlm_attention_shape_check_other(call, ATTM_QKV_Q,
                                                       ATTM_QKV_K, err)
                   || mtlm_attention_shape_check_lengths(call, ATTM_QKV_Q,
                                                         ATTM_LENGTHS, err)
                   || mtlm_attention_shape_check_outputs(call, ATTM_Y, ATTM_LSE,
                                                         0, err)
               ? -1
               : 0;
}

static void attention_more_fwd_cpu(void *const ptr[],
                                   const struct mtlm_call *call,
                                   const struct mtlm_context *context)
{
    mtlm_attention_heads_more_fwd(&in_real, ptr, call, context);
}

const struct mtlm_op mtlm_op_attention_more_fwd = {
    .name = "attention_more_fwd",
    .n_operands = 5,
    .access = {[ATTM_QKV_Q] = MTLM_R,
               [ATTM_QKV_K] = MTLM_R,
               [ATTM_LENGTHS] = MTLM_R,
               [ATTM_Y] = MTLM_RW,
               [ATTM_LSE] = MTLM_RW},
    .dtype = {[ATTM_QKV_Q] = MTLM_VALUE,
              [ATTM_QKV_K] = MTLM_VALUE,
              [ATTM_Y] = MTLM_VALUE,
              [ATTM_LENGTHS] = MTLM_I32},
    .infer = attention_more_fwd_infer,
    .flops = attention_more_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_ATTENTION_MORE_BWD,
                       .arg = {{MTLM_GRAD_VALUE, ATTM_QKV_Q},
                               {MTLM_GRAD_VALUE, ATTM_QKV_K},
                               {MTLM_GRAD_VALUE, ATTM_LENGTHS},
                               {MTLM_GRAD_VALUE, ATTM_Y},
                               {MTLM_GRAD_VALUE, ATTM_LSE},
                               {MTLM_GRAD_OF, ATTM_Y},
                               {MTLM_GRAD_OF, ATTM_QKV_Q},
                               {MTLM_GRAD_OF, ATTM_QKV_K}}}}},
    .cpu = attention_more_fwd_cpu,
    .cpu_typed = true,
    .cpu_bf16 = MTLM_BF16_KERNEL(attention_more_fwd),
    .bf16_pays = bf16_pays,
    .cuda = MTLM_CUDA_KERNEL(attention_more_fwd),
};

static int attention_bwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    if (mtlm_attention_shape_check_qkv(call, ATTB_QKV, "qkv", err)
        || mtlm_attention_shape_check_lengths(call, ATTB_QKV, ATTB_LENGTHS, err)
        || mtlm_attention_shape_check_outputs(call, ATTB_Y, ATTB_LSE, ATTB_DY,
                                              err))
        return -1;
    if (call->kind == MTLM_OP_ATTENTION_BWD)
        call->shape[ATTB_DQKV] = call->shape[ATTB_QKV];
    return mtlm_infer_expect_shape(call, ATTB_DQKV, "dqkv",
                                   call->shape[ATTB_QKV], err);
}

static void attention_bwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    mtlm_attention_heads_bwd(&in_real, ptr, call, context);
}

static void attention_bwd_add_cpu(void *const ptr[],
                                  const struct mtlm_call *call,
                                  const struct mtlm_context *context)
{
    mtlm_attention_heads_bwd_add(&in_real, ptr, call, context);
}

const struct mtlm_op mtlm_op_attention_bwd = {
    .name = "attention_bwd",
    .n_operands = 6,
    .access = {[ATTB_QKV] = MTLM_R,
               [ATTB_LENGTHS] = MTLM_R,
               [ATTB_Y] = MTLM_R,
               [ATTB_LSE] = MTLM_R,
               [ATTB_DY] = MTLM_R,
               [ATTB_DQKV] = MTLM_W},
    .dtype = {[ATTB_QKV] = MTLM_VALUE,
              [ATTB_Y] = MTLM_VALUE,
              [ATTB_DY] = MTLM_VALUE,
              [ATTB_DQKV] = MTLM_VALUE,
              [ATTB_LENGTHS] = MTLM_I32},
    .infer = attention_bwd_infer,
    .flops = attention_bwd_flops,
    .cpu = attention_bwd_cpu,
    .cpu_typed = true,
    .cpu_bf16 = MTLM_BF16_KERNEL(attention_bwd),
    .bf16_pays = bf16_pays,
    .cuda = MTLM_CUDA_KERNEL(attention_bwd),
};

const struct mtlm_op mtlm_op_attention_bwd_add = {
    .name = "attention_bwd_add",
    .n_operands = 6,
    .access = {[ATTB_QKV] = MTLM_R,
               [ATTB_LENGTHS] = MTLM_R,
               [ATTB_Y] = MTLM_R,
               [ATTB_LSE] = MTLM_R,
               [ATTB_DY] = MTLM_R,
               [ATTB_DQKV] = MTLM_RW},
    .dtype = {[ATTB_QKV] = MTLM_VALUE,
              [ATTB_Y] = MTLM_VALUE,
              [ATTB_DY] = MTLM_VALUE,
              [ATTB_DQKV] = MTLM_VALUE,
              [ATTB_LENGTHS] = MTLM_I32},
    .infer = attention_bwd_infer,
    .flops = attention_bwd_flops,
    .cpu = attention_bwd_add_cpu,
    .cpu_typed = true,
    .cpu_bf16 = MTLM_BF16_KERNEL(attention_bwd_add),
    .bf16_pays = bf16_pays,
    .cuda = MTLM_CUDA_KERNEL(attention_bwd_add),
};

static int attention_more_bwd_infer(struct mtlm_call *call,
                                    struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;

    return mtlm_attention_shape_check_qkv(call, ATTMB_QKV_Q, "qkv_q", err)
                   || mtlm_attention_shape_check_other(call, ATTMB_QKV_Q,
                                                       ATTMB_QKV_K, err)
                   || mtlm_attention_shape_check_lengths(call, ATTMB_QKV_Q,
                                                         ATTMB_LENGTHS, err)
                   || mtlm_attention_shape_check_outputs(
                       call, ATTMB_Y, ATTMB_LSE, ATTMB_DY, err)
                   || mtlm_infer_expect_shape(call, ATTMB_DQKV_Q, "dqkv_q",
                                              shape[ATTMB_QKV_Q], err)
                   || mtlm_infer_expect_shape(call, ATTMB_DQKV_K, "dqkv_k",
                                              shape[ATTMB_QKV_K], err)
               ? -1
               : 0;
}

static void attention_more_bwd_cpu(void *const ptr[],
                                   const struct mtlm_call *call,
                                   const struct mtlm_context *context)
{
    mtlm_attention_heads_more_bwd(&in_real, ptr, call, context);
}

const struct mtlm_op mtlm_op_attention_more_bwd = {
    .name = "attention_more_bwd",
    .n_operands = 8,
    .access = {[ATTMB_QKV_Q] = MTLM_R,
               [ATTMB_QKV_K] = MTLM_R,
               [ATTMB_LENGTHS] = MTLM_R,
               [ATTMB_Y] = MTLM_R,
               [ATTMB_LSE] = MTLM_R,
               [ATTMB_DY] = MTLM_R,
               [ATTMB_DQKV_Q] = MTLM_RW,
               [ATTMB_DQKV_K] = MTLM_RW},
    .dtype = {[ATTMB_QKV_Q] = MTLM_VALUE,
              [ATTMB_QKV_K] = MTLM_VALUE,
              [ATTMB_Y] = MTLM_VALUE,
              [ATTMB_DY] = MTLM_VALUE,
              [ATTMB_DQKV_Q] = MTLM_VALUE,
              [ATTMB_DQKV_K] = MTLM_VALUE,
              [ATTMB_LENGTHS] = MTLM_I32},
    .infer = attention_more_bwd_infer,
    .flops = attention_more_bwd_flops,
    .cpu = attention_more_bwd_cpu,
    .cpu_typed = true,
    .cpu_bf16 = MTLM_BF16_KERNEL(attention_more_bwd),
    .bf16_pays = bf16_pays,
    .cuda = MTLM_CUDA_KERNEL(attention_more_bwd),
};
