/* The gradient of attention of one head on bf16 values.  Probabilities are
 * recomputed from the scores and the logarithm of their sum. */

#include "config.h"

#include "codelets/attention/attention_bf16.h"
#include "codelets/attention/attention_block_bf16.h"
#include "codelets/attention/attention_row.h"
#include "codelets/bf16_product.h"
#include "codelets/vector_math.h"
#include "runtime/base/value16.h"

/* A head and one block of queries. */
struct backward {
    const struct mtlm_head *head; /* unscaled */
    const uint16_t *dy;
    const float *lse;
    float delta[MTLM_BF16_QUERIES]; /* of each query of a block: sum of y dy */
    float *dq;                      /* of one block of queries */
    float *dk, *dv;                 /* of all keys */
    float *score, *dprob;           /* [MTLM_BF16_QUERIES, MTLM_BF16_LD] */
    uint16_t *prob, *dscore;        /* results of these, in bf16 */
    float *factor; /* [MTLM_BF16_LD]: dropout factors of one query */
};

int64_t mtlm_attention_bwd_bf16_scratch(int64_t keys, int64_t d)
{
    return (MTLM_BF16_QUERIES + 2 * keys) * d
           + (3 * MTLM_BF16_QUERIES + 1) * MTLM_BF16_LD;
}

/* Computes the rounded probabilities and gradients of the scores of one
 * query. */
static void backward_row(const struct backward *w, const struct mtlm_block *b,
                         int64_t i)
{
    const struct mtlm_head *head = w->head;
    const bool drop = head->dropout->p > 0;
    const int64_t n = mtlm_block_seen(b, i), at = i * MTLM_BF16_LD;

    if (head->slope > 0)
        mtlm_block_add_alibi(b, i, n, w->score + at);
    if (drop && n > 0)
        mtlm_attention_block_dropout_row(b, i, n, w->factor);
    mtlm_attention_row_gradient(w->score + at, w->dprob + at,
                                drop ? w->factor : NULL,
                                mtlm_block_hide_unseen(w->score + at, n),
                                head->coefficient * MTLM_LOG2_E,
                                w->lse[b->q0 + i] * MTLM_LOG2_E, w->delta[i]);
    mtlm_attention_bf16_round_row(b, w->score + at, n, w->prob + at);
    mtlm_attention_bf16_round_row(b, w->dprob + at, n, w->dscore + at);
}

/* Computes score = q k^T and dprob = dy v^T. */
static void multiply_with_keys(const struct backward *w,
                               const struct mtlm_block *b)
{
    const struct mtlm_head *head = w->head;
    const int64_t ld = head->ld;
    const uint16_t *q = head->q, *k = head->k, *v = head->v;
    const struct mtlm_bf16_product product = {
        .trans_b = true, .single = true, .m = b->nq, .n = b->nk, .k = head->d};

    mtlm_bf16_product_of_parts(&product, q + b->q0 * ld, ld, k + b->k0 * ld, ld,
                               w->score, MTLM_BF16_LD);
    mtlm_bf16_product_of_parts(&product, w->dy + b->q0 * head->ld_y, head->ld_y,
                               v + b->k0 * ld, ld, w->dprob, MTLM_BF16_LD);
}

/* Adds prob^T dy to dv, dscore^T q to dk and dscore k to dq. */
static void add_gradients(const struct backward *w, const struct mtlm_block *b)
{
    const struct mtlm_head *head = w->head;
    const int64_t ld = head->ld, d = head->d;
    const uint16_t *q = head->q, *k = head->k;
    const struct mtlm_bf16_product of_keys = {.trans_a = true,
                                              .single = true,
                                              .add = true,
                                              .m = b->nk,
                                              .n = d,
                                              .k = b->nq};
    const struct mtlm_bf16_product of_queries = {
        .single = true, .add = true, .m = b->nq, .n = d, .k = b->nk};

    mtlm_bf16_product_of_parts(&of_keys, w->prob, MTLM_BF16_LD,
                               w->dy + b->q0 * head->ld_y, head->ld_y,
                               w->dv + b->k0 * d, d);
    mtlm_bf16_product_of_parts(&of_keys, w->dscore, MTLM_BF16_LD,
                               q + b->q0 * ld, ld, w->dk + b->k0 * d, d);
    mtlm_bf16_product_of_parts(&of_queries, w->dscore, MTLM_BF16_LD,
                               k + b->k0 * ld, ld, w->dq, d);
}

/* Writes scale * from [n, d], rounded, to `to`, whose rows are ld apart; add:
 * adds.  Overwrites from. */
static void write_rows(float *from, int64_t n, int64_t d, float scale, bool add,
                       uint16_t *to, int64_t ld)
{
    float before[MTLM_BF16_LD];

    for (int64_t r = 0; r < n; r++, from += d, to += ld) {
        mtlm_block_scale_rows(from, d, scale);
        for (int64_t c = 0; add && c < d; c += MTLM_BF16_LD) {
            const int64_t m = mtlm_least(MTLM_BF16_LD, d - c);

            mtlm_value16_widen(MTLM_BF16, to + c, m, before);
#pragma omp simd
            for (int64_t i = 0; i < m; i++)
                from[c + i] += before[i];
        }
        mtlm_value16_round(MTLM_BF16, from, d, to);
    }
}

/* Sets delta of the block's queries. */
static void set_delta(struct backward *w, const uint16_t *y, int64_t q0,
                      int64_t nq)
{
    const struct mtlm_head *head = w->head;
    const int64_t d = head->d;
    float *wide_y = w->dq, *wide_dy = w->dq + d;

    for (int64_t i = 0; i < nq; i++) {
        const int64_t at = (q0 + i) * head->ld_y;

        mtlm_value16_widen(MTLM_BF16, y + at, d, wide_y);
        mtlm_value16_widen(MTLM_BF16, w->dy + at, d, wide_dy);
        w->delta[i] = mtlm_attention_row_dot(wide_y, wide_dy, d);
    }
}

static void backward_queries(struct backward *w, int64_t q0, int64_t nq)
{
    const struct mtlm_head *head = w->head;
    const int64_t keys = mtlm_head_seen(head, q0 + nq - 1);

    memset(w->dq, 0, nq * head->d * sizeof(*w->dq));
    for (int64_t k0 = 0; k0 < keys; k0 += MTLM_BF16_KEYS) {
        const struct mtlm_block b = {.head = head,
                                     .q0 = q0,
                                     .nq = nq,
                                     .k0 = k0,
                                     .nk =
                                         mtlm_least(MTLM_BF16_KEYS, keys - k0)};

        multiply_with_keys(w, &b);
        for (int64_t i = 0; i < nq; i++)
            backward_row(w, &b, i);
        add_gradients(w, &b);
    }
}

/* Divides the scratch; clears dk and dv. */
static void share_out(struct backward *w, float *scratch)
{
    const int64_t rows = w->head->keys * w->head->d;
    const int64_t block = MTLM_BF16_QUERIES * MTLM_BF16_LD;

    w->score = mtlm_attention_block_scratch_take(&scratch, block);
    w->dprob = mtlm_attention_block_scratch_take(&scratch, block);
    w->prob = (void *) mtlm_attention_block_scratch_take(&scratch, block / 2);
    w->dscore = (void *) mtlm_attention_block_scratch_take(&scratch, block / 2);
    w->factor = mtlm_attention_block_scratch_take(&scratch, MTLM_BF16_LD);
    w->dq = mtlm_attention_block_scratch_take(&scratch,
                                              MTLM_BF16_QUERIES * w->head->d);
    w->dk = mtlm_attention_block_scratch_take(&scratch, rows);
    w->dv = mtlm_attention_block_scratch_take(&scratch, rows);
    memset(w->dk, 0, rows * sizeof(*w->dk));
    memset(w->dv, 0, rows * sizeof(*w->dv));
}

void mtlm_attention_bwd_bf16_head(const struct mtlm_head *head, bool add,
                                  const void *y, const float *lse,
                                  const void *dy, void *dq, void *dk, void *dv,
                                  float *scratch)
{
    const struct mtlm_head unscaled = mtlm_attention_bf16_unscaled(head);
    const int64_t ld = head->ld, d = head->d;
    const float scale = unscaled.coefficient;
    struct backward w = {.head = &unscaled, .dy = dy, .lse = lse};

    share_out(&w, scratch);
    for (int64_t q0 = 0; q0 < head->queries && head->keys > 0;
         q0 += MTLM_BF16_QUERIES) {
        const int64_t nq = mtlm_least(MTLM_BF16_QUERIES, head->queries - q0);

        set_delta(&w, y, q0, nq);
        backward_queries(&w, q0, nq);
        write_rows(w.dq, nq, d, scale, add, (uint16_t *) dq + q0 * ld, ld);
    }
    write_rows(w.dk, head->keys, d, scale, add, dk, ld);
    write_rows(w.dv, head->keys, d, 1, add, dv, ld);
}
