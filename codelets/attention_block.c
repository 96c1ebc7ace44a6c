/* Attention of one head without a tensor of all scores: blocks of queries meet
 * blocks of keys in the worker's scratch, and a query's maximum and sum are
 * carried from one block of keys to the next (Dao et al., FlashAttention,
 * arXiv 2205.14135).  Blocks that no query sees are left out. */

#include "config.h"

#include <string.h>

#include "codelets/attention.h"
#include "codelets/blas.h"
#include "codelets/dropout.h"
#include "codelets/vector_math.h"

/* A block of scores and one of its gradients fit in a core's second cache. */
enum { QUERIES = 64, KEYS = 256 };

/* What is carried along the keys for each query of a block. */
struct carry {
    mtlm_real max[QUERIES], sum[QUERIES];
};

int64_t mtlm_attention_fwd_scratch(void)
{
    return (QUERIES + 1) * KEYS;
}

int64_t mtlm_attention_bwd_scratch(void)
{
    return (2 * QUERIES + 1) * KEYS;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Of the nk keys from k0 on, those that a query sees. */
static int64_t seen_of(const struct mtlm_head *head, int64_t query, int64_t k0,
                       int64_t nk)
{
    const int64_t n = mtlm_head_seen(head, query) - k0;

    return n < 0 ? 0 : least(n, nk);
}

/* Dropout's factors of a query and n keys from key on: numbered by their
 * positions in the sample, however it is cut. */
static void dropout_row(const struct mtlm_head *head, int64_t query,
                        int64_t key, int64_t n, mtlm_real *factor)
{
    const int64_t row =
        head->number * head->seq_length + head->first_query + query;

    mtlm_dropout_factors(head->dropout, head->sample,
                         row * head->seq_length + head->first_key + key, n,
                         factor);
}

/* Replaces the scores of one query by e^(coefficient score - max), with max
 * the greatest so far; y, what the earlier keys gave, is brought to the new
 * maximum. */
static void softmax_row(mtlm_real *score, int64_t n, mtlm_real coefficient,
                        mtlm_real *max, mtlm_real *sum, mtlm_real *y, int64_t d)
{
    const mtlm_real before = *max;
    mtlm_real m = score[0], part = 0, ratio;

#pragma omp simd reduction(max : m)
    for (int64_t i = 0; i < n; i++)
        m = score[i] > m ? score[i] : m;
    m *= coefficient;
    m = before > m ? before : m;
#pragma omp simd reduction(+ : part)
    for (int64_t i = 0; i < n; i++) {
        score[i] = mtlm_exp(coefficient * score[i] - m);
        part += score[i];
    }
    ratio = mtlm_exp(before - m);
    *sum = *sum * ratio + part;
    *max = m;
    if (y && ratio < 1)
        for (int64_t i = 0; i < d; i++)
            y[i] *= ratio;
}

/* nq queries from q0 on meet nk keys from k0 on; add: y holds what others
 * gave. */
static void forward_block(const struct mtlm_head *head, int64_t q0, int64_t nq,
                          int64_t k0, int64_t nk, struct carry *carry, bool add,
                          mtlm_real *y, mtlm_real *scratch)
{
    mtlm_real *score = scratch, *factor = scratch + QUERIES * KEYS;

    mtlm_gemm(false, true, nq, nk, head->d, head->scale,
              head->q + q0 * head->ld, head->ld, head->k + k0 * head->ld,
              head->ld, 0, score, nk);
    for (int64_t i = 0; i < nq; i++) {
        mtlm_real *row = score + i * nk;
        const int64_t n = seen_of(head, q0 + i, k0, nk);

        if (n > 0)
            softmax_row(row, n, head->coefficient, &carry->max[i],
                        &carry->sum[i], add ? y + i * head->ld_y : NULL,
                        head->d);
        memset(row + n, 0, (nk - n) * sizeof(*row));
        if (head->dropout->p > 0 && n > 0) {
            dropout_row(head, q0 + i, k0, n, factor);
#pragma omp simd
            for (int64_t c = 0; c < n; c++)
                row[c] *= factor[c];
        }
    }
    mtlm_gemm(false, false, nq, head->d, nk, 1, score, nk,
              head->v + k0 * head->ld, head->ld, add, y, head->ld_y);
}

static void forward_queries(const struct mtlm_head *head, int64_t q0,
                            bool merge, mtlm_real *y, mtlm_real *lse,
                            mtlm_real *scratch)
{
    const int64_t nq = least(QUERIES, head->queries - q0);
    const int64_t keys = mtlm_head_seen(head, q0 + nq - 1);
    struct carry carry;

    /* What is there already counts as one key with the score lse. */
    for (int64_t i = 0; i < nq; i++) {
        carry.max[i] = merge ? lse[i] : -INFINITY;
        carry.sum[i] = merge;
    }
    for (int64_t k0 = 0; k0 < keys; k0 += KEYS)
        forward_block(head, q0, nq, k0, least(KEYS, keys - k0), &carry,
                      merge || k0 > 0, y, scratch);
    for (int64_t i = 0; i < nq; i++, y += head->ld_y) {
        const mtlm_real inverse = 1 / carry.sum[i];

#pragma omp simd
        for (int64_t c = 0; c < head->d; c++)
            y[c] *= inverse;
        lse[i] = carry.max[i] + (mtlm_real) log((double) carry.sum[i]);
    }
}

void mtlm_attention_forward(const struct mtlm_head *head, bool merge,
                            mtlm_real *y, mtlm_real *lse, mtlm_real *scratch)
{
    for (int64_t q0 = 0; q0 < head->queries; q0 += QUERIES)
        forward_queries(head, q0, merge, y + q0 * head->ld_y, lse + q0,
                        scratch);
}

/* One query: from scores and dprob = dy v^T to the dropped probabilities and
 * the gradients of the scores, in place. */
static void backward_row(mtlm_real *score, mtlm_real *dprob,
                         const mtlm_real *factor, int64_t n,
                         mtlm_real coefficient, mtlm_real lse, mtlm_real delta)
{
    if (factor) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            const mtlm_real p = mtlm_exp(coefficient * score[i] - lse);

            score[i] = p * factor[i];
            dprob[i] = p * (dprob[i] * factor[i] - delta);
        }
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            const mtlm_real p = mtlm_exp(coefficient * score[i] - lse);

            score[i] = p;
            dprob[i] = p * (dprob[i] - delta);
        }
    }
}

/* Where the gradients of q, k and v go. */
struct gradients {
    mtlm_real *dq, *dk, *dv;
};

/* nq queries from q0 on meet nk keys from k0 on.  delta: of each query, the
 * sum of y dy, which is that of its probabilities times their gradients. */
static void backward_block(const struct mtlm_head *head, int64_t q0, int64_t nq,
                           int64_t k0, int64_t nk, const mtlm_real *lse,
                           const mtlm_real *delta, const mtlm_real *dy,
                           const struct gradients *to, mtlm_real *scratch)
{
    const int64_t ld = head->ld, d = head->d;
    const mtlm_real scale = head->scale * head->coefficient;
    const mtlm_real *q = head->q + q0 * ld, *k = head->k + k0 * ld;
    mtlm_real *score = scratch, *dprob = scratch + QUERIES * KEYS;
    mtlm_real *factor =
        head->dropout->p > 0 ? scratch + 2 * QUERIES * KEYS : NULL;

    mtlm_gemm(false, true, nq, nk, d, head->scale, q, ld, k, ld, 0, score, nk);
    mtlm_gemm(false, true, nq, nk, d, 1, dy, head->ld_y, head->v + k0 * ld, ld,
              0, dprob, nk);
    for (int64_t i = 0; i < nq; i++) {
        const int64_t n = seen_of(head, q0 + i, k0, nk);

        if (factor && n > 0)
            dropout_row(head, q0 + i, k0, n, factor);
        backward_row(score + i * nk, dprob + i * nk, factor, n,
                     head->coefficient, lse[i], delta[i]);
        memset(score + i * nk + n, 0, (nk - n) * sizeof(*score));
        memset(dprob + i * nk + n, 0, (nk - n) * sizeof(*dprob));
    }
    mtlm_gemm(true, false, nk, d, nq, 1, score, nk, dy, head->ld_y, 1,
              to->dv + k0 * ld, ld);
    mtlm_gemm(false, false, nq, d, nk, scale, dprob, nk, k, ld, 1,
              to->dq + q0 * ld, ld);
    mtlm_gemm(true, false, nk, d, nq, scale, dprob, nk, q, ld, 1,
              to->dk + k0 * ld, ld);
}

static void backward_queries(const struct mtlm_head *head, int64_t q0,
                             const mtlm_real *y, const mtlm_real *lse,
                             const mtlm_real *dy, const struct gradients *to,
                             mtlm_real *scratch)
{
    const int64_t nq = least(QUERIES, head->queries - q0);
    const int64_t keys = mtlm_head_seen(head, q0 + nq - 1);
    mtlm_real delta[QUERIES];

    for (int64_t i = 0; i < nq; i++) {
        mtlm_real sum = 0;

#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < head->d; c++)
            sum += y[i * head->ld_y + c] * dy[i * head->ld_y + c];
        delta[i] = sum;
    }
    for (int64_t k0 = 0; k0 < keys; k0 += KEYS)
        backward_block(head, q0, nq, k0, least(KEYS, keys - k0), lse, delta, dy,
                       to, scratch);
}

void mtlm_attention_backward(const struct mtlm_head *head, const mtlm_real *y,
                             const mtlm_real *lse, const mtlm_real *dy,
                             mtlm_real *dq, mtlm_real *dk, mtlm_real *dv,
                             mtlm_real *scratch)
{
    const struct gradients to = {dq, dk, dv};

    for (int64_t q0 = 0; q0 < head->queries; q0 += QUERIES)
        backward_queries(head, q0, y + q0 * head->ld_y, lse + q0,
                         dy + q0 * head->ld_y, &to, scratch);
}
