/* Attention of one head, forward.  Each query carries its maximum and its sum
 * from one block of keys to the next. */

#include "config.h"

#include "codelets/attention/attention_fwd.h"
#include "codelets/attention/attention_row.h"
#include "codelets/value.h"
#include "codelets/vector_math.h"

/* What is carried along the keys for each query of a block: the greatest
 * score times log2(e) and the sum. */
struct carry {
    mtlm_real max[MTLM_BLOCK_QUERIES], sum[MTLM_BLOCK_QUERIES];
};

int64_t mtlm_attention_fwd_scratch(int64_t keys, int64_t d)
{
    const int64_t width = mtlm_tile_whole_vectors(d);

    return mtlm_tile_whole_tiles(keys) * d + mtlm_block_whole_rows(keys) * width
           + 2 * MTLM_BLOCK_QUERIES * width
           + (MTLM_BLOCK_QUERIES + 1) * MTLM_BLOCK_LD;
}

static void forward_block(const struct mtlm_block *b, struct carry *carry,
                          bool first)
{
    const struct mtlm_packed *p = b->packed;
    const mtlm_real scale = b->head->coefficient * MTLM_LOG2_E;

    mtlm_attention_block_products_of_seen(b, p->q, p->kt, p->score);
    for (int64_t i = 0; i < b->nq; i++) {
        mtlm_real *row = p->score + i * MTLM_BLOCK_LD;
        const int64_t n = mtlm_block_seen(b, i);

        if (b->head->slope > 0)
            mtlm_block_add_alibi(b, i, n, row);
        if (n > 0)
            mtlm_attention_row_softmax(row, mtlm_block_hide_unseen(row, n),
                                       scale, &carry->max[i], &carry->sum[i],
                                       p->o + i * p->d, p->d);
        mtlm_block_zero_unseen(row, n);
        if (b->head->dropout->p > 0 && n > 0) {
            mtlm_attention_block_dropout_row(b, i, n, p->factor);
            mtlm_attention_row_drop(row, p->factor, n);
        }
    }
    mtlm_attention_block_sums_over_seen(b, p->score, p->by_row, first, p->o);
}

/* Writes scale * from [d] to y's elements from `first` on.  May overwrite
 * from. */
static void write_row(const struct mtlm_head *head, mtlm_real *from,
                      mtlm_real scale, void *y, int64_t first)
{
    mtlm_real *to = head->type == MTLM_REAL ? (mtlm_real *) y + first : from;

#pragma omp simd
    for (int64_t c = 0; c < head->d; c++)
        to[c] = from[c] * scale;
    mtlm_value_put(head->type, to, first, head->d, y);
}

static void forward_queries(const struct mtlm_head *head,
                            const struct mtlm_packed *p, int64_t q0, bool merge,
                            void *y, mtlm_real *lse)
{
    const int64_t nq = mtlm_least(MTLM_BLOCK_QUERIES, head->queries - q0);
    const int64_t keys = mtlm_head_seen(head, q0 + nq - 1);
    struct carry carry;

    mtlm_attention_block_pack_queries(head, head->q, q0 * head->ld, head->ld,
                                      nq, p->q);
    mtlm_block_scale_rows(p->q, nq * p->d, head->scale);
    if (merge)
        mtlm_attention_block_pack_queries(head, y, q0 * head->ld_y, head->ld_y,
                                          nq, p->o);
    /* An existing result counts as one key with the score lse. */
    for (int64_t i = 0; i < nq; i++) {
        carry.max[i] = merge ? lse[i] * MTLM_LOG2_E : -INFINITY;
        carry.sum[i] = merge;
    }
    for (int64_t k0 = 0; k0 < keys; k0 += MTLM_BLOCK_KEYS) {
        const struct mtlm_block b = {
            head, p, q0, nq, k0, mtlm_least(MTLM_BLOCK_KEYS, keys - k0)};

        forward_block(&b, &carry, !merge && k0 == 0);
    }
    for (int64_t i = 0; i < nq; i++) {
        write_row(head, p->o + i * p->d, 1 / carry.sum[i], y,
                  (q0 + i) * head->ld_y);
        lse[i] = carry.max[i] * MTLM_LN_2 + log((double) carry.sum[i]);
    }
}

void mtlm_attention_fwd_head(const struct mtlm_head *head, bool merge, void *y,
                             mtlm_real *lse, mtlm_real *scratch)
{
    struct mtlm_packed p = mtlm_attention_block_pack_head(head, &scratch);

    mtlm_attention_block_pack_rows(head, head->v, 0, head->ld, head->keys,
                                   p.by_row);
    for (int64_t q0 = 0; q0 < head->queries; q0 += MTLM_BLOCK_QUERIES)
        forward_queries(head, &p, q0, merge, y, lse + q0);
}
