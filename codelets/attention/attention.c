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

#include <string.h>

#include "codelets/attention/alibi.h"
#include "codelets/attention/attention.h"
#include "codelets/attention/attention_bwd.h"
#include "codelets/attention/attention_fwd.h"
#include "codelets/attention/attention_shape.h"
#include "codelets/infer.h"
#include "codelets/vector_math.h"

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

/* Returns how many of the rows from position `first` on precede the padding. */
static int64_t real_rows(int64_t rows, int64_t first, int64_t length)
{
    const int64_t n = length - first;

    return n < 0 ? 0 : n < rows ? n : rows;
}

/* Returns head n of sample j; other: the operand with the keys. */
static struct mtlm_head head_of(void *const ptr[], const struct mtlm_call *call,
                                const struct mtlm_context *context, int other,
                                const int32_t *lengths, int64_t j, int n)
{
    const int64_t *dim = call->shape[ATT_QKV].dim;
    const int64_t d = dim[2] / 3 / call->attr.attention.heads;
    const int64_t at = j * dim[2] + 3 * d * n;
    const int64_t first_query = call->attr.attention.first_query;
    const int64_t first_key = call->attr.attention.first_key;
    const mtlm_real c = call->attr.attention.coefficient;
    const int number = call->attr.attention.first_head + n;

    return (struct mtlm_head){
        .dropout = &call->attr.attention.dropout,
        .sample = context->sample + j,
        .number = number,
        .seq_length = call->attr.attention.seq_length,
        .first_query = first_query,
        .first_key = first_key,
        .queries = real_rows(dim[0], first_query, lengths[j]),
        .keys = real_rows(call->shape[other].dim[0], first_key, lengths[j]),
        .causal = call->attr.attention.causal,
        .d = d,
        .ld = dim[1] * dim[2],
        .ld_y = dim[1] * dim[2] / 3,
        .scale = 1 / (mtlm_sqrt(d) * c),
        .slope = mtlm_alibi_slope(number, call->attr.attention.alibi_heads) / c,
        .coefficient = c,
        .q = (const mtlm_real *) ptr[ATT_QKV] + at,
        .k = (const mtlm_real *) ptr[other] + at + d,
        .v = (const mtlm_real *) ptr[other] + at + 2 * d,
    };
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

/* Sets y and lse of the padding: rows from `from` on. */
static void pad_rows(int64_t from, int64_t rows, int64_t d, int64_t ld,
                     mtlm_real *y, mtlm_real *lse)
{
    for (int64_t i = from; i < rows; i++) {
        memset(y + i * ld, 0, d * sizeof(*y));
        lse[i] = MTLM_ATTENTION_NO_LSE;
    }
}

static void forward_heads(void *const ptr[], const struct mtlm_call *call,
                          const struct mtlm_context *context, int other,
                          int lengths, mtlm_real *y, mtlm_real *lse)
{
    const int64_t s = call->shape[ATT_QKV].dim[0],
                  b = call->shape[ATT_QKV].dim[1];
    const bool merge = other != ATT_QKV;
    const int heads = call->attr.attention.heads;
    const int64_t d = mtlm_shape_cols(&call->shape[ATT_QKV]) / 3 / heads;
    mtlm_real *scratch = mtlm_scratch_get(
        context->scratch,
        mtlm_attention_fwd_scratch(call->shape[other].dim[0], d)
            * sizeof(*scratch));

    for (int64_t j = 0; j < b; j++)
        for (int n = 0; n < heads; n++, lse += s) {
            const struct mtlm_head head =
                head_of(ptr, call, context, other, ptr[lengths], j, n);
            mtlm_real *at = y + (j * heads + n) * head.d;

            mtlm_attention_fwd_head(&head, merge, at, lse, scratch);
            if (!merge)
                pad_rows(head.queries, s, head.d, head.ld_y, at, lse);
        }
}

static void attention_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    forward_heads(ptr, call, context, ATT_QKV, ATT_LENGTHS, ptr[ATT_Y],
                  ptr[ATT_LSE]);
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
    forward_heads(ptr, call, context, ATTM_QKV_K, ATTM_LENGTHS, ptr[ATTM_Y],
                  ptr[ATTM_LSE]);
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

/* Operands of backward. */
struct backward {
    int other, lengths;
    bool add; /* to dq and dkv */
    const mtlm_real *y, *lse, *dy;
    mtlm_real *dq, *dkv;
};

static void backward_heads(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context,
                           const struct backward *with)
{
    const int64_t s = call->shape[ATT_QKV].dim[0],
                  b = call->shape[ATT_QKV].dim[1];
    const int heads = call->attr.attention.heads;
    const mtlm_real *lse = with->lse;
    const int64_t d = mtlm_shape_cols(&call->shape[ATT_QKV]) / 3 / heads;
    mtlm_real *scratch = mtlm_scratch_get(
        context->scratch,
        mtlm_attention_bwd_scratch(call->shape[with->other].dim[0], d)
            * sizeof(*scratch));

    for (int64_t j = 0; j < b; j++)
        for (int n = 0; n < heads; n++, lse += s) {
            const struct mtlm_head head = head_of(
                ptr, call, context, with->other, ptr[with->lengths], j, n);
            const int64_t at = (j * heads + n) * head.d;
            mtlm_real *dq = with->dq + 3 * at, *dkv = with->dkv + 3 * at;

            mtlm_attention_bwd_head(&head, with->add, with->y + at, lse,
                                    with->dy + at, dq, dkv + d, dkv + 2 * d,
                                    scratch);
            for (int64_t i = head.queries; i < s && !with->add; i++)
                memset(dq + i * head.ld, 0, 3 * d * sizeof(*dq));
        }
}

static struct backward of_one_part(void *const ptr[], bool add)
{
    return (struct backward){.other = ATTB_QKV,
                             .lengths = ATTB_LENGTHS,
                             .add = add,
                             .y = ptr[ATTB_Y],
                             .lse = ptr[ATTB_LSE],
                             .dy = ptr[ATTB_DY],
                             .dq = ptr[ATTB_DQKV],
                             .dkv = ptr[ATTB_DQKV]};
}

static void attention_bwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const struct backward with = of_one_part(ptr, false);

    backward_heads(ptr, call, context, &with);
}

static void attention_bwd_add_cpu(void *const ptr[],
                                  const struct mtlm_call *call,
                                  const struct mtlm_context *context)
{
    const struct backward with = of_one_part(ptr, true);

    backward_heads(ptr, call, context, &with);
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
    const struct backward with = {.other = ATTMB_QKV_K,
                                  .lengths = ATTMB_LENGTHS,
                                  .add = true,
                                  .y = ptr[ATTMB_Y],
                                  .lse = ptr[ATTMB_LSE],
                                  .dy = ptr[ATTMB_DY],
                                  .dq = ptr[ATTMB_DQKV_Q],
                                  .dkv = ptr[ATTMB_DQKV_K]};

    backward_heads(ptr, call, context, &with);
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
    .cuda = MTLM_CUDA_KERNEL(attention_more_bwd),
};
