/* Self-attention: y = dropout(softmax(q k^T / sqrt(d))) v per sample and head.
 * A query sees the keys of its sample before the padding; where causal, those
 * up to its own position.
 *
 * Rows may be a part of the samples, along the sequence: attention_fwd lets
 * the queries of a part meet its own keys, attention_more_fwd those of another
 * part, whose result is merged into y and lse.  Every part of the keys that a
 * part of the queries sees takes one call, attention_fwd first; where causal,
 * these are the parts before it.  Backward there is one call for each, with
 * the final y and lse, and each adds to the gradients.
 *
 * qkv, dqkv [sq, b, 3 hl], per head [q | k | v], each d = hl / heads wide, and
 * qkv_k, dqkv_k [sk, b, 3 hl] of the other part; lengths [1, b], positions of
 * a sample before its padding; y, dy [sq, b, hl]; lse [b, heads, sq], the
 * logarithm of a query's sum of exponentials.  Queries of the padding have y
 * = 0, the lowest lse and no gradient; what is there in keys, values or dy of
 * the padding does not matter.
 *
 * attr.attention.coefficient: with Megatron's query-key layer scaling the
 * layer's number, else 1; scores are divided by it and multiplied in the
 * softmax. */

#include "config.h"

#include <string.h>

#include "codelets/attention.h"
#include "codelets/infer.h"
#include "codelets/vector_math.h"

enum { QKV, LENGTHS, Y, LSE };
enum { B_QKV, B_LENGTHS, B_Y, B_LSE, B_DY, B_DQKV };
enum { M_QKV_Q, M_QKV_K, M_LENGTHS, M_Y, M_LSE };
enum {
    MB_QKV_Q,
    MB_QKV_K,
    MB_LENGTHS,
    MB_Y,
    MB_LSE,
    MB_DY,
    MB_DQKV_Q,
    MB_DQKV_K
};

static int check_qkv(const struct mtlm_call *call, int qkv, const char *name,
                     struct mtlm_error *err)
{
    const int heads = call->attr.attention.heads;
    char text[96];

    if (mtlm_expect_rank(call, qkv, name, 3, err))
        return -1;
    if (heads < 1 || call->shape[qkv].dim[2] % (3 * (int64_t) heads))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s: %s is %s, needs a multiple of 3 x %d",
                              mtlm_ops[call->kind]->name, name,
                              mtlm_shape_str(&call->shape[qkv], text), heads);
    return 0;
}

static int check_lengths(const struct mtlm_call *call, int qkv, int lengths,
                         struct mtlm_error *err)
{
    return mtlm_expect_shape(call, lengths, "lengths",
                             MTLM_SHAPE(1, call->shape[qkv].dim[1]), err);
}

/* The keys of another part: as qkv but for their number. */
static int check_other(const struct mtlm_call *call, int qkv, int other,
                       struct mtlm_error *err)
{
    const int64_t *dim = call->shape[qkv].dim;

    return mtlm_expect_rank(call, other, "qkv_k", 3, err)
                   || mtlm_expect_shape(
                       call, other, "qkv_k",
                       MTLM_SHAPE(call->shape[other].dim[0], dim[1], dim[2]),
                       err)
               ? -1
               : 0;
}

static struct mtlm_shape shape_of_y(const struct mtlm_call *call)
{
    const int64_t *dim = call->shape[QKV].dim;

    return MTLM_SHAPE(dim[0], dim[1], dim[2] / 3);
}

static struct mtlm_shape shape_of_lse(const struct mtlm_call *call)
{
    const int64_t *dim = call->shape[QKV].dim;

    return MTLM_SHAPE(dim[1], call->attr.attention.heads, dim[0]);
}

/* y, lse and, where there is one, dy. */
static int check_outputs(const struct mtlm_call *call, int y, int lse, int dy,
                         struct mtlm_error *err)
{
    return mtlm_expect_shape(call, y, "y", shape_of_y(call), err)
                   || mtlm_expect_shape(call, lse, "lse", shape_of_lse(call),
                                        err)
                   || (dy
                       && mtlm_expect_shape(call, dy, "dy", shape_of_y(call),
                                            err))
               ? -1
               : 0;
}

/* Of two products of every query with every key, which is the convention of
 * all published counts, also where half of them are never computed: keys of
 * an earlier part stand for queries that do not see the later keys. */
static double flops_of(const struct mtlm_call *call, int64_t keys, bool twice)
{
    const int64_t *dim = call->shape[QKV].dim;

    return (twice ? 8.0 : 4.0) * dim[1] * dim[0] * keys * (dim[2] / 3);
}

static double attention_flops(const struct mtlm_call *call)
{
    return flops_of(call, call->shape[QKV].dim[0], false);
}

static double attention_more_flops(const struct mtlm_call *call)
{
    return flops_of(call, call->shape[M_QKV_K].dim[0],
                    call->attr.attention.causal);
}

/* Twice forward's; the scores that it computes again do not count. */
static double attention_bwd_flops(const struct mtlm_call *call)
{
    return 2 * attention_flops(call);
}

static double attention_more_bwd_flops(const struct mtlm_call *call)
{
    return 2 * attention_more_flops(call);
}

/* Rows from position first on that are before the padding. */
static int64_t real_rows(int64_t rows, int64_t first, int64_t length)
{
    const int64_t n = length - first;

    return n < 0 ? 0 : n < rows ? n : rows;
}

/* Head n of sample j; other: the operand with the keys. */
static struct mtlm_head head_of(void *const ptr[], const struct mtlm_call *call,
                                const struct mtlm_context *context, int other,
                                const int32_t *lengths, int64_t j, int n)
{
    const int64_t *dim = call->shape[QKV].dim;
    const int64_t d = dim[2] / 3 / call->attr.attention.heads;
    const int64_t at = j * dim[2] + 3 * d * n;
    const int64_t first_query = call->attr.attention.first_query;
    const int64_t first_key = call->attr.attention.first_key;
    const mtlm_real c = call->attr.attention.coefficient;

    return (struct mtlm_head){
        .dropout = &call->attr.attention.dropout,
        .sample = context->sample + j,
        .number = call->attr.attention.first_head + n,
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
        .coefficient = c,
        .q = (const mtlm_real *) ptr[QKV] + at,
        .k = (const mtlm_real *) ptr[other] + at + d,
        .v = (const mtlm_real *) ptr[other] + at + 2 * d,
    };
}

static int attention_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    if (check_qkv(call, QKV, "qkv", err)
        || check_lengths(call, QKV, LENGTHS, err))
        return -1;
    call->shape[Y] = shape_of_y(call);
    call->shape[LSE] = shape_of_lse(call);
    return 0;
}

/* Queries of the padding, of which there are rows from `from` on. */
static void pad_rows(int64_t from, int64_t rows, int64_t d, int64_t ld,
                     mtlm_real *y, mtlm_real *lse)
{
    for (int64_t i = from; i < rows; i++) {
        memset(y + i * ld, 0, d * sizeof(*y));
        lse[i] = MTLM_LOWEST;
    }
}

static void forward(void *const ptr[], const struct mtlm_call *call,
                    const struct mtlm_context *context, int other, int lengths,
                    mtlm_real *y, mtlm_real *lse)
{
    const int64_t s = call->shape[QKV].dim[0], b = call->shape[QKV].dim[1];
    const bool merge = other != QKV;
    const int heads = call->attr.attention.heads;
    const int64_t d = mtlm_shape_cols(&call->shape[QKV]) / 3 / heads;
    mtlm_real *scratch = mtlm_scratch_get(
        context->scratch,
        mtlm_attention_fwd_scratch(call->shape[other].dim[0], d)
            * sizeof(*scratch));

    for (int64_t j = 0; j < b; j++)
        for (int n = 0; n < heads; n++, lse += s) {
            const struct mtlm_head head =
                head_of(ptr, call, context, other, ptr[lengths], j, n);
            mtlm_real *at = y + (j * heads + n) * head.d;

            mtlm_attention_forward(&head, merge, at, lse, scratch);
            if (!merge)
                pad_rows(head.queries, s, head.d, head.ld_y, at, lse);
        }
}

static void attention_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    forward(ptr, call, context, QKV, LENGTHS, ptr[Y], ptr[LSE]);
}

const struct mtlm_op mtlm_op_attention_fwd = {
    .name = "attention_fwd",
    .n_operands = 4,
    .access =
        {[QKV] = MTLM_R, [LENGTHS] = MTLM_R, [Y] = MTLM_W, [LSE] = MTLM_W},
    .dtype = {[QKV] = MTLM_VALUE, [Y] = MTLM_VALUE, [LENGTHS] = MTLM_I32},
    .infer = attention_fwd_infer,
    .flops = attention_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_ATTENTION_BWD,
                       .kind_add = MTLM_OP_ATTENTION_BWD_ADD,
                       .arg = {{MTLM_GRAD_VALUE, QKV},
                               {MTLM_GRAD_VALUE, LENGTHS},
                               {MTLM_GRAD_VALUE, Y},
                               {MTLM_GRAD_VALUE, LSE},
                               {MTLM_GRAD_OF, Y},
                               {MTLM_GRAD_OF, QKV}}}}},
    .cpu = attention_fwd_cpu,
};

static int attention_more_fwd_infer(struct mtlm_call *call,
                                    struct mtlm_error *err)
{
    return check_qkv(call, M_QKV_Q, "qkv_q", err)
                   || check_other(call, M_QKV_Q, M_QKV_K, err)
                   || check_lengths(call, M_QKV_Q, M_LENGTHS, err)
                   || check_outputs(call, M_Y, M_LSE, 0, err)
               ? -1
               : 0;
}

static void attention_more_fwd_cpu(void *const ptr[],
                                   const struct mtlm_call *call,
                                   const struct mtlm_context *context)
{
    forward(ptr, call, context, M_QKV_K, M_LENGTHS, ptr[M_Y], ptr[M_LSE]);
}

const struct mtlm_op mtlm_op_attention_more_fwd = {
    .name = "attention_more_fwd",
    .n_operands = 5,
    .access = {[M_QKV_Q] = MTLM_R,
               [M_QKV_K] = MTLM_R,
               [M_LENGTHS] = MTLM_R,
               [M_Y] = MTLM_RW,
               [M_LSE] = MTLM_RW},
    .dtype = {[M_QKV_Q] = MTLM_VALUE,
              [M_QKV_K] = MTLM_VALUE,
              [M_Y] = MTLM_VALUE,
              [M_LENGTHS] = MTLM_I32},
    .infer = attention_more_fwd_infer,
    .flops = attention_more_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_ATTENTION_MORE_BWD,
                       .arg = {{MTLM_GRAD_VALUE, M_QKV_Q},
                               {MTLM_GRAD_VALUE, M_QKV_K},
                               {MTLM_GRAD_VALUE, M_LENGTHS},
                               {MTLM_GRAD_VALUE, M_Y},
                               {MTLM_GRAD_VALUE, M_LSE},
                               {MTLM_GRAD_OF, M_Y},
                               {MTLM_GRAD_OF, M_QKV_Q},
                               {MTLM_GRAD_OF, M_QKV_K}}}}},
    .cpu = attention_more_fwd_cpu,
};

static int attention_bwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    if (check_qkv(call, B_QKV, "qkv", err)
        || check_lengths(call, B_QKV, B_LENGTHS, err)
        || check_outputs(call, B_Y, B_LSE, B_DY, err))
        return -1;
    if (mtlm_ops[call->kind]->access[B_DQKV] == MTLM_W)
        call->shape[B_DQKV] = call->shape[B_QKV];
    return mtlm_expect_shape(call, B_DQKV, "dqkv", call->shape[B_QKV], err);
}

/* Where backward finds its operands. */
struct backward {
    int other, lengths;
    bool add; /* to dq and dkv */
    const mtlm_real *y, *lse, *dy;
    mtlm_real *dq, *dkv;
};

static void backward(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context,
                     const struct backward *with)
{
    const int64_t s = call->shape[QKV].dim[0], b = call->shape[QKV].dim[1];
    const int heads = call->attr.attention.heads;
    const mtlm_real *lse = with->lse;
    const int64_t d = mtlm_shape_cols(&call->shape[QKV]) / 3 / heads;
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

            mtlm_attention_backward(&head, with->add, with->y + at, lse,
                                    with->dy + at, dq, dkv + d, dkv + 2 * d,
                                    scratch);
            for (int64_t i = head.queries; i < s && !with->add; i++)
                memset(dq + i * head.ld, 0, 3 * d * sizeof(*dq));
        }
}

static struct backward of_one_part(void *const ptr[], bool add)
{
    return (struct backward){.other = B_QKV,
                             .lengths = B_LENGTHS,
                             .add = add,
                             .y = ptr[B_Y],
                             .lse = ptr[B_LSE],
                             .dy = ptr[B_DY],
                             .dq = ptr[B_DQKV],
                             .dkv = ptr[B_DQKV]};
}

static void attention_bwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const struct backward with = of_one_part(ptr, false);

    backward(ptr, call, context, &with);
}

static void attention_bwd_add_cpu(void *const ptr[],
                                  const struct mtlm_call *call,
                                  const struct mtlm_context *context)
{
    const struct backward with = of_one_part(ptr, true);

    backward(ptr, call, context, &with);
}

const struct mtlm_op mtlm_op_attention_bwd = {
    .name = "attention_bwd",
    .n_operands = 6,
    .access = {[B_QKV] = MTLM_R,
               [B_LENGTHS] = MTLM_R,
               [B_Y] = MTLM_R,
               [B_LSE] = MTLM_R,
               [B_DY] = MTLM_R,
               [B_DQKV] = MTLM_W},
    .dtype = {[B_QKV] = MTLM_VALUE,
              [B_Y] = MTLM_VALUE,
              [B_DY] = MTLM_VALUE,
              [B_DQKV] = MTLM_VALUE,
              [B_LENGTHS] = MTLM_I32},
    .infer = attention_bwd_infer,
    .flops = attention_bwd_flops,
    .cpu = attention_bwd_cpu,
};

const struct mtlm_op mtlm_op_attention_bwd_add = {
    .name = "attention_bwd_add",
    .n_operands = 6,
    .access = {[B_QKV] = MTLM_R,
               [B_LENGTHS] = MTLM_R,
               [B_Y] = MTLM_R,
               [B_LSE] = MTLM_R,
               [B_DY] = MTLM_R,
               [B_DQKV] = MTLM_RW},
    .dtype = {[B_QKV] = MTLM_VALUE,
              [B_Y] = MTLM_VALUE,
              [B_DY] = MTLM_VALUE,
              [B_DQKV] = MTLM_VALUE,
              [B_LENGTHS] = MTLM_I32},
    .infer = attention_bwd_infer,
    .flops = attention_bwd_flops,
    .cpu = attention_bwd_add_cpu,
};

static int attention_more_bwd_infer(struct mtlm_call *call,
                                    struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;

    return check_qkv(call, MB_QKV_Q, "qkv_q", err)
                   || check_other(call, MB_QKV_Q, MB_QKV_K, err)
                   || check_lengths(call, MB_QKV_Q, MB_LENGTHS, err)
                   || check_outputs(call, MB_Y, MB_LSE, MB_DY, err)
                   || mtlm_expect_shape(call, MB_DQKV_Q, "dqkv_q",
                                        shape[MB_QKV_Q], err)
                   || mtlm_expect_shape(call, MB_DQKV_K, "dqkv_k",
                                        shape[MB_QKV_K], err)
               ? -1
               : 0;
}

static void attention_more_bwd_cpu(void *const ptr[],
                                   const struct mtlm_call *call,
                                   const struct mtlm_context *context)
{
    const struct backward with = {.other = MB_QKV_K,
                                  .lengths = MB_LENGTHS,
                                  .add = true,
                                  .y = ptr[MB_Y],
                                  .lse = ptr[MB_LSE],
                                  .dy = ptr[MB_DY],
                                  .dq = ptr[MB_DQKV_Q],
                                  .dkv = ptr[MB_DQKV_K]};

    backward(ptr, call, context, &with);
}

const struct mtlm_op mtlm_op_attention_more_bwd = {
    .name = "attention_more_bwd",
    .n_operands = 8,
    .access = {[MB_QKV_Q] = MTLM_R,
               [MB_QKV_K] = MTLM_R,
               [MB_LENGTHS] = MTLM_R,
               [MB_Y] = MTLM_R,
               [MB_LSE] = MTLM_R,
               [MB_DY] = MTLM_R,
               [MB_DQKV_Q] = MTLM_RW,
               [MB_DQKV_K] = MTLM_RW},
    .dtype = {[MB_QKV_Q] = MTLM_VALUE,
              [MB_QKV_K] = MTLM_VALUE,
              [MB_Y] = MTLM_VALUE,
              [MB_DY] = MTLM_VALUE,
              [MB_DQKV_Q] = MTLM_VALUE,
              [MB_DQKV_K] = MTLM_VALUE,
              [MB_LENGTHS] = MTLM_I32},
    .infer = attention_more_bwd_infer,
    .flops = attention_more_bwd_flops,
    .cpu = attention_more_bwd_cpu,
};
