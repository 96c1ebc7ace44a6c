/* Causal self-attention: y = dropout(softmax(q k^T / sqrt(d))) v per sample
 * and head, over keys up to the query's position.
 *
 * qkv, dqkv [s, b, 3 hl], per head [q | k | v], each d = hl / heads wide; y,
 * dy [s, b, hl]; lse [b, heads, s], the logarithm of a query's sum of
 * exponentials, which forward keeps for backward.
 *
 * No s x s tensor is held: blocks of queries meet blocks of keys in the
 * worker's scratch, and a query's maximum and sum are carried from one block
 * of keys to the next (Dao et al., FlashAttention, arXiv 2205.14135).  Blocks
 * above the diagonal are left out. */

#include "config.h"

#include <string.h>

#include "codelets/blas.h"
#include "codelets/dropout.h"
#include "codelets/infer.h"
#include "codelets/vector_math.h"

/* A block of scores and one of its gradients fit in a core's second cache. */
enum { QUERIES = 64, KEYS = 256 };

enum { QKV, Y, LSE };
enum { B_QKV, B_Y, B_LSE, B_DY, B_DQKV };

/* One head of one sample. */
struct head {
    const struct mtlm_dropout *dropout;
    int64_t sample, number; /* in the run, in the model */
    int64_t s, d;
    int64_t ld_qkv, ld_y; /* elements from one position to the next */
    mtlm_real scale;
    const mtlm_real *q, *k, *v;
};

/* What is carried along the keys for each query of a block. */
struct carry {
    mtlm_real max[QUERIES], sum[QUERIES];
};

static int check_heads(const struct mtlm_call *call, struct mtlm_error *err)
{
    const int heads = call->attr.attention.heads;
    char text[96];

    if (mtlm_expect_rank(call, QKV, "qkv", 3, err))
        return -1;
    if (heads < 1 || call->shape[QKV].dim[2] % (3 * (int64_t) heads))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s: qkv is %s, needs a multiple of 3 x %d",
                              mtlm_ops[call->kind]->name,
                              mtlm_shape_str(&call->shape[QKV], text), heads);
    return 0;
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

static int attention_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    if (check_heads(call, err))
        return -1;
    call->shape[Y] = shape_of_y(call);
    call->shape[LSE] = shape_of_lse(call);
    return 0;
}

/* Of the two products, over all keys: the convention of every published
 * count, though half of them are never computed. */
static double attention_fwd_flops(const struct mtlm_call *call)
{
    const int64_t *dim = call->shape[QKV].dim;

    return 4.0 * dim[1] * dim[0] * dim[0] * (dim[2] / 3);
}

static struct head head_of(const mtlm_real *qkv, const struct mtlm_call *call,
                           const struct mtlm_context *context, int64_t j, int n)
{
    const int64_t *dim = call->shape[QKV].dim;
    const int64_t d = dim[2] / 3 / call->attr.attention.heads;
    const mtlm_real *q = qkv + j * dim[2] + 3 * d * n;

    return (struct head){
        .dropout = &call->attr.attention.dropout,
        .sample = context->sample + j,
        .number = call->attr.attention.first_head + n,
        .s = dim[0],
        .d = d,
        .ld_qkv = dim[1] * dim[2],
        .ld_y = dim[1] * dim[2] / 3,
        .scale = 1 / mtlm_sqrt(d),
        .q = q,
        .k = q + d,
        .v = q + 2 * d,
    };
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Dropout's factors of a query and n keys from key on. */
static void dropout_row(const struct head *head, int64_t query, int64_t key,
                        int64_t n, mtlm_real *factor)
{
    mtlm_dropout_factors(head->dropout, head->sample,
                         (head->number * head->s + query) * head->s + key, n,
                         factor);
}

/* Replaces the scores of one query by e^(score - max), with max the greatest
 * so far; y, what the earlier keys gave, is brought to the new maximum. */
static void softmax_row(mtlm_real *score, int64_t n, mtlm_real *max,
                        mtlm_real *sum, mtlm_real *y, int64_t d)
{
    const mtlm_real before = *max;
    mtlm_real m = before, part = 0, ratio;

#pragma omp simd reduction(max : m)
    for (int64_t i = 0; i < n; i++)
        m = score[i] > m ? score[i] : m;
#pragma omp simd reduction(+ : part)
    for (int64_t i = 0; i < n; i++) {
        score[i] = mtlm_exp(score[i] - m);
        part += score[i];
    }
    ratio = mtlm_exp(before - m);
    *sum = *sum * ratio + part;
    *max = m;
    if (y && ratio < 1)
        for (int64_t i = 0; i < d; i++)
            y[i] *= ratio;
}

/* nq queries from q0 on meet nk keys from k0 on. */
static void forward_block(const struct head *head, int64_t q0, int64_t nq,
                          int64_t k0, int64_t nk, struct carry *carry,
                          mtlm_real *y, mtlm_real *scratch)
{
    mtlm_real *score = scratch, *factor = scratch + QUERIES * KEYS;

    mtlm_gemm(false, true, nq, nk, head->d, head->scale,
              head->q + q0 * head->ld_qkv, head->ld_qkv,
              head->k + k0 * head->ld_qkv, head->ld_qkv, 0, score, nk);
    for (int64_t i = 0; i < nq; i++) {
        mtlm_real *row = score + i * nk;
        const int64_t seen = q0 + i - k0 + 1; /* keys up to the query */
        const int64_t n = seen < 0 ? 0 : least(nk, seen);

        if (n > 0)
            softmax_row(row, n, &carry->max[i], &carry->sum[i],
                        k0 ? y + i * head->ld_y : NULL, head->d);
        memset(row + n, 0, (nk - n) * sizeof(*row));
        if (head->dropout->p > 0 && n > 0) {
            dropout_row(head, q0 + i, k0, n, factor);
#pragma omp simd
            for (int64_t c = 0; c < n; c++)
                row[c] *= factor[c];
        }
    }
    mtlm_gemm(false, false, nq, head->d, nk, 1, score, nk,
              head->v + k0 * head->ld_qkv, head->ld_qkv, k0 > 0, y, head->ld_y);
}

static void forward_queries(const struct head *head, int64_t q0, mtlm_real *y,
                            mtlm_real *lse, mtlm_real *scratch)
{
    const int64_t nq = least(QUERIES, head->s - q0);
    struct carry carry;

    for (int64_t i = 0; i < nq; i++) {
        carry.max[i] = -INFINITY;
        carry.sum[i] = 0;
    }
    for (int64_t k0 = 0; k0 < q0 + nq; k0 += KEYS)
        forward_block(head, q0, nq, k0, least(KEYS, q0 + nq - k0), &carry, y,
                      scratch);
    for (int64_t i = 0; i < nq; i++, y += head->ld_y) {
        const mtlm_real inverse = 1 / carry.sum[i];

#pragma omp simd
        for (int64_t c = 0; c < head->d; c++)
            y[c] *= inverse;
        lse[i] = carry.max[i] + (mtlm_real) log((double) carry.sum[i]);
    }
}

static void attention_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const int64_t b = call->shape[QKV].dim[1];
    const int heads = call->attr.attention.heads;
    mtlm_real *scratch = mtlm_scratch_get(
        context->scratch, (QUERIES + 1) * KEYS * sizeof(*scratch));

    for (int64_t j = 0; j < b; j++)
        for (int n = 0; n < heads; n++) {
            const struct head head = head_of(ptr[QKV], call, context, j, n);
            mtlm_real *y = (mtlm_real *) ptr[Y] + (j * heads + n) * head.d;
            mtlm_real *lse = (mtlm_real *) ptr[LSE] + (j * heads + n) * head.s;

            for (int64_t q0 = 0; q0 < head.s; q0 += QUERIES)
                forward_queries(&head, q0, y + q0 * head.ld_y, lse + q0,
                                scratch);
        }
}

const struct mtlm_op mtlm_op_attention_fwd = {
    .name = "attention_fwd",
    .n_operands = 3,
    .access = {[QKV] = MTLM_R, [Y] = MTLM_W, [LSE] = MTLM_W},
    .infer = attention_fwd_infer,
    .flops = attention_fwd_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_ATTENTION_BWD,
                       .arg = {{MTLM_GRAD_VALUE, QKV},
                               {MTLM_GRAD_VALUE, Y},
                               {MTLM_GRAD_VALUE, LSE},
                               {MTLM_GRAD_OF, Y},
                               {MTLM_GRAD_OF, QKV}}}}},
    .cpu = attention_fwd_cpu,
};

static int attention_bwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    if (check_heads(call, err)
        || mtlm_expect_shape(call, B_Y, "y", shape_of_y(call), err)
        || mtlm_expect_shape(call, B_LSE, "lse", shape_of_lse(call), err)
        || mtlm_expect_shape(call, B_DY, "dy", shape_of_y(call), err))
        return -1;
    call->shape[B_DQKV] = call->shape[B_QKV];
    return 0;
}

/* Twice forward's; the scores that it computes again do not count. */
static double attention_bwd_flops(const struct mtlm_call *call)
{
    return 2 * attention_fwd_flops(call);
}

/* One query: from scores and dprob = dy v^T to the dropped probabilities and
 * the gradients of the scores, in place. */
static void backward_row(mtlm_real *score, mtlm_real *dprob,
                         const mtlm_real *factor, int64_t n, mtlm_real lse,
                         mtlm_real delta)
{
    if (factor) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            const mtlm_real p = mtlm_exp(score[i] - lse);

            score[i] = p * factor[i];
            dprob[i] = p * (dprob[i] * factor[i] - delta);
        }
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            const mtlm_real p = mtlm_exp(score[i] - lse);

            score[i] = p;
            dprob[i] = p * (dprob[i] - delta);
        }
    }
}

/* nq queries from q0 on meet nk keys from k0 on.  delta: of each query, the
 * sum of y dy, which is that of its probabilities times their gradients. */
static void backward_block(const struct head *head, int64_t q0, int64_t nq,
                           int64_t k0, int64_t nk, const mtlm_real *lse,
                           const mtlm_real *delta, const mtlm_real *dy,
                           mtlm_real *dhead, mtlm_real *scratch)
{
    const int64_t ld = head->ld_qkv, d = head->d;
    const mtlm_real *q = head->q + q0 * ld, *k = head->k + k0 * ld;
    mtlm_real *dq = dhead + q0 * ld, *dk = dhead + d + k0 * ld, *dv = dk + d;
    mtlm_real *score = scratch, *dprob = scratch + QUERIES * KEYS;
    mtlm_real *factor =
        head->dropout->p > 0 ? scratch + 2 * QUERIES * KEYS : NULL;

    mtlm_gemm(false, true, nq, nk, d, head->scale, q, ld, k, ld, 0, score, nk);
    mtlm_gemm(false, true, nq, nk, d, 1, dy, head->ld_y, head->v + k0 * ld, ld,
              0, dprob, nk);
    for (int64_t i = 0; i < nq; i++) {
        const int64_t seen = q0 + i - k0 + 1;
        const int64_t n = seen < 0 ? 0 : least(nk, seen);

        if (factor && n > 0)
            dropout_row(head, q0 + i, k0, n, factor);
        backward_row(score + i * nk, dprob + i * nk, factor, n, lse[i],
                     delta[i]);
        memset(score + i * nk + n, 0, (nk - n) * sizeof(*score));
        memset(dprob + i * nk + n, 0, (nk - n) * sizeof(*dprob));
    }
    mtlm_gemm(true, false, nk, d, nq, 1, score, nk, dy, head->ld_y, 1, dv, ld);
    mtlm_gemm(false, false, nq, d, nk, head->scale, dprob, nk, k, ld, 1, dq,
              ld);
    mtlm_gemm(true, false, nk, d, nq, head->scale, dprob, nk, q, ld, 1, dk, ld);
}

static void backward_queries(const struct head *head, int64_t q0,
                             const mtlm_real *y, const mtlm_real *lse,
                             const mtlm_real *dy, mtlm_real *dhead,
                             mtlm_real *scratch)
{
    const int64_t nq = least(QUERIES, head->s - q0);
    mtlm_real delta[QUERIES];

    for (int64_t i = 0; i < nq; i++) {
        mtlm_real sum = 0;

#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < head->d; c++)
            sum += y[i * head->ld_y + c] * dy[i * head->ld_y + c];
        delta[i] = sum;
    }
    for (int64_t k0 = 0; k0 < q0 + nq; k0 += KEYS)
        backward_block(head, q0, nq, k0, least(KEYS, q0 + nq - k0), lse, delta,
                       dy, dhead, scratch);
}

static void attention_bwd_cpu(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const int64_t b = call->shape[B_QKV].dim[1];
    const int heads = call->attr.attention.heads;
    mtlm_real *dqkv = ptr[B_DQKV];
    mtlm_real *scratch = mtlm_scratch_get(
        context->scratch, (2 * QUERIES + 1) * KEYS * sizeof(*scratch));

    /* Every block of queries adds to its keys. */
    memset(dqkv, 0, mtlm_shape_elems(&call->shape[B_DQKV]) * sizeof(*dqkv));
    for (int64_t j = 0; j < b; j++)
        for (int n = 0; n < heads; n++) {
            const struct head head = head_of(ptr[B_QKV], call, context, j, n);
            const int64_t at = (j * heads + n) * head.d;
            const mtlm_real *y = (const mtlm_real *) ptr[B_Y] + at;
            const mtlm_real *dy = (const mtlm_real *) ptr[B_DY] + at;
            const mtlm_real *lse =
                (const mtlm_real *) ptr[B_LSE] + (j * heads + n) * head.s;

            for (int64_t q0 = 0; q0 < head.s; q0 += QUERIES)
                backward_queries(&head, q0, y + q0 * head.ld_y, lse + q0,
                                 dy + q0 * head.ld_y, dqkv + 3 * at, scratch);
        }
}

const struct mtlm_op mtlm_op_attention_bwd = {
    .name = "attention_bwd",
    .n_operands = 5,
    .access = {[B_QKV] = MTLM_R,
               [B_Y] = MTLM_R,
               [B_LSE] = MTLM_R,
               [B_DY] = MTLM_R,
               [B_DQKV] = MTLM_W},
    .infer = attention_bwd_infer,
    .flops = attention_bwd_flops,
    .cpu = attention_bwd_cpu,
};
