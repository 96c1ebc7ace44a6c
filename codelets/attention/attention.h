#ifndef MTLM_ATTENTION_H
#define MTLM_ATTENTION_H

#include <float.h>

#include "codelets/op.h"

/* Operands, for the C and CUDA kernels. */

/* attention_fwd */
enum { ATT_QKV, ATT_LENGTHS, ATT_Y, ATT_LSE };
/* attention_bwd, attention_bwd_add */
enum { ATTB_QKV, ATTB_LENGTHS, ATTB_Y, ATTB_LSE, ATTB_DY, ATTB_DQKV };
/* attention_more_fwd */
enum { ATTM_QKV_Q, ATTM_QKV_K, ATTM_LENGTHS, ATTM_Y, ATTM_LSE };
/* attention_more_bwd */
enum {
    ATTMB_QKV_Q,
    ATTMB_QKV_K,
    ATTMB_LENGTHS,
    ATTMB_Y,
    ATTMB_LSE,
    ATTMB_DY,
    ATTMB_DQKV_Q,
    ATTMB_DQKV_K
};

/* A head's elements at most, in the CUDA kernels. */
enum { MTLM_ATTENTION_GPU_D = 256 };

/* What lse is in the padding.  Backward kernels take exp(score - lse), cuDNN's
 * maybe before they mask it: that is to be 0, not infinite.  One that takes
 * powers of 2 multiplies it by log2 e: it must stay finite, or what is masked
 * there becomes a NaN. */
#define MTLM_ATTENTION_NO_LSE (FLT_MAX / 2)

/* One head of one sample: some positions' queries meet some positions' keys
 * and values.  Rows are real positions only: those of padding are left out
 * at the end of either. */
struct mtlm_head {
    const struct mtlm_dropout *dropout;
    int64_t sample, number;         /* in the run, in the model */
    int64_t seq_length;             /* of the sample, padding included */
    int64_t first_query, first_key; /* positions in the sample of the rows 0 */
    int64_t queries, keys;          /* how many rows */
    bool causal;      /* a query sees the keys up to its own position */
    int64_t d;        /* elements of a query, a key, a value */
    int64_t ld, ld_y; /* from one position to the next: of q, k, v; of y */
    /* Scores are q k^T scale, of which the softmax takes coefficient times
     * as much. */
    mtlm_real scale, coefficient;
    const mtlm_real *q, *k, *v;
};

/* Keys that a query sees, by their rows. */
static inline int64_t mtlm_head_seen(const struct mtlm_head *head,
                                     int64_t query)
{
    const int64_t seen =
        head->first_query + query - head->first_key + 1; /* up to itself */

    return !head->causal || seen > head->keys ? head->keys
           : seen < 0                         ? 0
                                              : seen;
}

/* What they need of scratch for that many keys, in elements. */
int64_t mtlm_attention_fwd_scratch(int64_t keys, int64_t d);
int64_t mtlm_attention_bwd_scratch(int64_t keys, int64_t d);

/* y [queries, d] = dropout(softmax(scores)) v, lse [queries] = the logarithms
 * of the sums of exponentials.  merge: y and lse hold the result over other
 * keys already, and become that over both. */
void mtlm_attention_forward(const struct mtlm_head *head, bool merge,
                            mtlm_real *y, mtlm_real *lse, mtlm_real *scratch);

/* Writes dq, dk, dv (each with ld), or adds to them.  y and lse are over all
 * keys that the queries see, whether here or elsewhere. */
void mtlm_attention_backward(const struct mtlm_head *head, bool add,
                             const mtlm_real *y, const mtlm_real *lse,
                             const mtlm_real *dy, mtlm_real *dq, mtlm_real *dk,
                             mtlm_real *dv, mtlm_real *scratch);

#endif /* MTLM_ATTENTION_H */
