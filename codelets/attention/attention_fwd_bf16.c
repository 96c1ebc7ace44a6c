/* Attention of one head on bf16 values, forward.  Each query carries its
 * maximum and its sum from one block of keys to the next. */

#include "config.h"

#include "codelets/attention/attention_bf16.h"
#include "codelets/attention/attention_block_bf16.h"
#include "codelets/attention/attention_row.h"
#include "codelets/bf16_product.h"
#include "codelets/vector_math.h"
#include "runtime/base/value16.h"

/* One block of queries with the keys so far. */
struct queries {
    const struct mtlm_head *head; /* unscaled */
    int64_t q0, nq;
    /* Of each query: the greatest score times log2(e), and the sum. */
    float max[MTLM_BF16_QUERIES], sum[MTLM_BF16_QUERIES];
    float *o;       /* [nq, d]: y times sum */
    float *score;   /* [MTLM_BF16_QUERIES, MTLM_BF16_LD] */
    uint16_t *prob; /* the same in bf16 */
    float *factor;  /* [MTLM_BF16_LD]: dropout factors of one query */
};

int64_t mtlm_attention_fwd_bf16_scratch(int64_t keys, int64_t d)
{
    (void) keys;
    return MTLM_BF16_QUERIES * d
           + (3 * MTLM_BF16_QUERIES / 2 + 1) * MTLM_BF16_LD;
}

/* Makes dropped probabilities of one query's products with the keys. */
static void softmax_row(struct queries *q, const struct mtlm_block *b,
                        int64_t i)
{
    const struct mtlm_head *head = q->head;
    const int64_t n = mtlm_block_seen(b, i);
    float *row = q->score + i * MTLM_BF16_LD;

    if (head->slope > 0)
        mtlm_block_add_alibi(b, i, n, row);
    if (n > 0)
        mtlm_attention_row_softmax(row, mtlm_block_hide_unseen(row, n),
                                   head->coefficient * MTLM_LOG2_E, &q->max[i],
                                   &q->sum[i], q->o + i * head->d, head->d);
    if (head->dropout->p > 0 && n > 0) {
        mtlm_attention_block_dropout_row(b, i, n, q->factor);
        mtlm_attention_row_drop(row, q->factor, n);
    }
    mtlm_attention_bf16_round_row(b, row, n, q->prob + i * MTLM_BF16_LD);
}

static void add_block(struct queries *q, const struct mtlm_block *b)
{
    const struct mtlm_head *head = q->head;
    const uint16_t *of_q = head->q, *k = head->k, *v = head->v;
    const struct mtlm_bf16_product scores = {
        .trans_b = true, .single = true, .m = b->nq, .n = b->nk, .k = head->d};
    const struct mtlm_bf16_product sums = {
        .single = true, .add = true, .m = b->nq, .n = head->d, .k = b->nk};

    mtlm_bf16_product_of_parts(&scores, of_q + b->q0 * head->ld, head->ld,
                               k + b->k0 * head->ld, head->ld, q->score,
                               MTLM_BF16_LD);
    for (int64_t i = 0; i < b->nq; i++)
        softmax_row(q, b, i);
    mtlm_bf16_product_of_parts(&sums, q->prob, MTLM_BF16_LD,
                               v + b->k0 * head->ld, head->ld, q->o, head->d);
}

/* An existing result counts as one key with the score lse. */
static void begin(struct queries *q, bool merge, const uint16_t *y,
                  const float *lse)
{
    const struct mtlm_head *head = q->head;
    const int64_t d = head->d;

    for (int64_t i = 0; i < q->nq; i++) {
        q->max[i] = merge ? lse[i] * MTLM_LOG2_E : -INFINITY;
        q->sum[i] = merge;
        if (merge)
            mtlm_value16_widen(MTLM_BF16, y + i * head->ld_y, d, q->o + i * d);
    }
    if (!merge)
        memset(q->o, 0, q->nq * d * sizeof(*q->o));
}

static void end(struct queries *q, uint16_t *y, float *lse)
{
    const struct mtlm_head *head = q->head;
    const int64_t d = head->d;

    for (int64_t i = 0; i < q->nq; i++) {
        mtlm_block_scale_rows(q->o + i * d, d, 1 / q->sum[i]);
        mtlm_value16_round(MTLM_BF16, q->o + i * d, d, y + i * head->ld_y);
        lse[i] = q->max[i] * MTLM_LN_2 + log((double) q->sum[i]);
    }
}

void mtlm_attention_fwd_bf16_head(const struct mtlm_head *head, bool merge,
                                  void *y, float *lse, float *scratch)
{
    const struct mtlm_head unscaled = mtlm_attention_bf16_unscaled(head);
    const int64_t block = MTLM_BF16_QUERIES * MTLM_BF16_LD;
    struct queries q = {.head = &unscaled};
    uint16_t *at = y;

    q.score = mtlm_attention_block_scratch_take(&scratch, block);
    q.prob = (void *) mtlm_attention_block_scratch_take(&scratch, block / 2);
    q.factor = mtlm_attention_block_scratch_take(&scratch, MTLM_BF16_LD);
    q.o = scratch;
    for (; q.q0 < head->queries; q.q0 += q.nq, at += q.nq * head->ld_y) {
        int64_t keys;

        q.nq = mtlm_least(MTLM_BF16_QUERIES, head->queries - q.q0);
        keys = mtlm_head_seen(head, q.q0 + q.nq - 1);
        begin(&q, merge, at, lse + q.q0);
        for (int64_t k0 = 0; k0 < keys; k0 += MTLM_BF16_KEYS)
            add_block(&q, &(struct mtlm_block){
                              .head = &unscaled,
                              .q0 = q.q0,
                              .nq = q.nq,
                              .k0 = k0,
                              .nk = mtlm_least(MTLM_BF16_KEYS, keys - k0)});
        end(&q, at, lse + q.q0);
    }
}
