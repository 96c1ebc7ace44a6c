#ifndef MTLM_ATTENTION_FWD_H
#define MTLM_ATTENTION_FWD_H

/* Attention of one head on the CPU, forward. */

#include "codelets/attention/attention_block.h"

/* Returns the elements of scratch that a call with so many keys needs. */
int64_t mtlm_attention_fwd_scratch(int64_t keys, int64_t d);

/* Writes y [queries, d] = dropout(softmax(scores)) v, rows ld_y elements apart,
 * and lse [queries] = log of each query's sum of exponentials.  merge: y and
 * lse already hold the result over other keys and become the result over
 * both. */
void mtlm_attention_fwd_head(const struct mtlm_head *head, bool merge,
                             mtlm_real *y, mtlm_real *lse, mtlm_real *scratch);

#endif /* MTLM_ATTENTION_FWD_H */
