/* The gradient of attention of one head.  Probabilities are recomputed from the
 * scores and the logarithm of their sum. */

#include "config.h"

#include "codelets/attention/attention_bwd.h"
#include "codelets/attention/attention_row.h"
#include "codelets/value.h"
#include "codelets/vector_math.h"

int64_t mtlm_attention_bwd_scratch(int64_t keys, int64_t d)
{
    const int64_t width = mtlm_tile_whole_vectors(d);

    return 2 * mtlm_tile_whole_tiles(keys) * d
           + 3 * mtlm_block_whole_rows(keys) * width
           + 3 * MTLM_BLOCK_QUERIES * width
           + (2 * MTLM_BLOCK_QUERIES + 1) * MTLM_BLOCK_LD;
}

/* Returns the first query of the block that sees the key. */
static int64_t first_that_sees(const struct mtlm_block *b, int64_t key)
{
    const struct mtlm_head *head = b->head;
    const int64_t first =
        head->first_key + b->k0 + key - head->first_query - b->q0;

    return !head->causal || first < 0 ? 0 : first;
}

/* Adds weights^T [nk, nq] rows [nq, d] to `to` [nk, d], over the seen tiles. */
static void sums_over_queries(const struct mtlm_block *b,
                              const mtlm_real *weights, const mtlm_real *rows,
                              mtlm_real *to)
{
    const int64_t width = b->packed->d;

    to += b->k0 * width;
    for (int64_t c = 0; c < b->nk; c += MTLM_TILE_ROWS) {
        const int64_t first = first_that_sees(b, c);

        if (first < b->nq)
            mtlm_tile_row(
                b->nq - first,
                (struct mtlm_factor){weights + first * MTLM_BLOCK_LD + c, 1,
                                     MTLM_BLOCK_LD},
                rows + first * width, width, width, true, to + c * width,
                width);
    }
}

/* delta: of each query, the sum of y dy; it equals the sum of the probabilities
 * times their gradients. */
static void backward_block(const struct mtlm_block *b, const mtlm_real *lse,
                           const mtlm_real *delta)
{
    const struct mtlm_packed *p = b->packed;
    const bool drop = b->head->dropout->p > 0;
    const mtlm_real scale = b->head->coefficient * MTLM_LOG2_E;

    mtlm_attention_block_products_of_seen(b, p->q, p->kt, p->score);
    mtlm_attention_block_products_of_seen(b, p->o, p->vt, p->dprob);
    for (int64_t i = 0; i < b->nq; i++) {
        const int64_t n = mtlm_block_seen(b, i);

        if (b->head->slope > 0)
            mtlm_block_add_alibi(b, i, n, p->score + i * MTLM_BLOCK_LD);
        if (drop && n > 0)
            mtlm_attention_block_dropout_row(b, i, n, p->factor);
        mtlm_attention_row_gradient(
            p->score + i * MTLM_BLOCK_LD, p->dprob + i * MTLM_BLOCK_LD,
            drop ? p->factor : NULL,
            mtlm_block_hide_unseen(p->score + i * MTLM_BLOCK_LD, n), scale,
            lse[i] * MTLM_LOG2_E, delta[i]);
        mtlm_block_zero_unseen(p->score + i * MTLM_BLOCK_LD, n);
        mtlm_block_zero_unseen(p->dprob + i * MTLM_BLOCK_LD, n);
    }
    sums_over_queries(b, p->score, p->o, p->dv);
    sums_over_queries(b, p->dprob, p->q, p->dk);
    mtlm_attention_block_sums_over_seen(b, p->dprob, p->by_row, b->k0 == 0,
                                        p->dq);
}

/* Writes scale * from to n rows of the gradient, which are head->ld elements
 * apart, from element `first` on; add: adds.  from: packed rows; wide [d]:
 * memory for a row of 16-bit values. */
static void unpack_rows(const struct mtlm_head *head, const mtlm_real *from,
                        int64_t n, mtlm_real scale, bool add, void *gradient,
                        int64_t first, mtlm_real *wide)
{
    const enum mtlm_dtype type = head->type;
    const int64_t d = head->d, width = mtlm_tile_whole_vectors(d);

    for (int64_t r = 0; r < n; r++, from += width, first += head->ld) {
        mtlm_real *to = add || type == MTLM_REAL
                            ? mtlm_value_get(type, gradient, first, d, wide)
                            : wide;

        if (add) {
#pragma omp simd
            for (int64_t c = 0; c < d; c++)
                to[c] += scale * from[c];
        } else {
#pragma omp simd
            for (int64_t c = 0; c < d; c++)
                to[c] = scale * from[c];
        }
        mtlm_value_put(type, to, first, d, gradient);
    }
}

static void backward_queries(const struct mtlm_head *head,
                             const struct mtlm_packed *p, int64_t q0,
                             const void *y, const mtlm_real *lse,
                             const void *dy)
{
    const int64_t nq = mtlm_least(MTLM_BLOCK_QUERIES, head->queries - q0);
    const int64_t keys = mtlm_head_seen(head, q0 + nq - 1);
    const int64_t ld_y = head->ld_y;
    mtlm_real delta[MTLM_BLOCK_QUERIES];

    mtlm_attention_block_pack_queries(head, head->q, q0 * head->ld, head->ld,
                                      nq, p->q);
    mtlm_block_scale_rows(p->q, nq * p->d, head->scale);
    mtlm_attention_block_pack_queries(head, dy, q0 * ld_y, ld_y, nq, p->o);
    for (int64_t i = 0; i < nq; i++) {
        const mtlm_real *row = mtlm_value_get(head->type, (void *) y,
                                              (q0 + i) * ld_y, head->d, p->dq);

        delta[i] = mtlm_attention_row_dot(row, p->o + i * p->d, head->d);
    }
    for (int64_t k0 = 0; k0 < keys; k0 += MTLM_BLOCK_KEYS) {
        const struct mtlm_block b = {
            head, p, q0, nq, k0, mtlm_least(MTLM_BLOCK_KEYS, keys - k0)};

        backward_block(&b, lse, delta);
    }
}

void mtlm_attention_bwd_head(const struct mtlm_head *head, bool add,
                             const void *y, const mtlm_real *lse,
                             const void *dy, void *dq, void *dk, void *dv,
                             mtlm_real *scratch)
{
    const int64_t ld = head->ld, d = head->d;
    const int64_t tiles = mtlm_tile_whole_tiles(head->keys) * d;
    struct mtlm_packed p = mtlm_attention_block_pack_head(head, &scratch);
    const int64_t rows = mtlm_block_whole_rows(head->keys) * p.d;

    p.vt = mtlm_attention_block_scratch_take(&scratch, tiles);
    p.dk = mtlm_attention_block_scratch_take(&scratch, rows);
    p.dv = mtlm_attention_block_scratch_take(&scratch, rows);
    p.dq =
        mtlm_attention_block_scratch_take(&scratch, MTLM_BLOCK_QUERIES * p.d);
    p.dprob = mtlm_attention_block_scratch_take(&scratch, MTLM_BLOCK_QUERIES
                                                              * MTLM_BLOCK_LD);
    mtlm_attention_block_pack_panels(head, head->v, p.dk, p.vt);
    if (head->type == MTLM_REAL) /* else the keys are there */
        mtlm_attention_block_pack_rows(head, head->k, 0, ld, head->keys,
                                       p.by_row);
    memset(p.dk, 0, rows * sizeof(*p.dk));
    memset(p.dv, 0, rows * sizeof(*p.dv));
    for (int64_t q0 = 0; q0 < head->queries && head->keys > 0;
         q0 += MTLM_BLOCK_QUERIES) {
        const int64_t nq = mtlm_least(MTLM_BLOCK_QUERIES, head->queries - q0);

        backward_queries(head, &p, q0, y, lse + q0, dy);
        unpack_rows(head, p.dq, nq, head->scale * head->coefficient, add, dq,
                    q0 * ld, p.q);
    }
    unpack_rows(head, p.dk, head->keys, head->coefficient, add, dk, 0, p.q);
    unpack_rows(head, p.dv, head->keys, 1, add, dv, 0, p.q);
}
