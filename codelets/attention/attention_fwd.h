#ifndef MTLM_ATTENTION_FWD_H
#define MTLM_ATTENTION_FWD_H

/* Attention of one head on the CPU, forward. */

#include "codelets/attention/attention_block.h"

/* Returns the elements of scratch that a call with so many keys needs. */
int64_t mtlm_attention_fwd_scratch(int64_t keys, int64_t d);

/* Computes a head: fwd of struct mtlm_attention_way. */
void mtlm_attention_fwd_head(const struct mtlm_head *head, bool merge, void *y,
                             mtlm_real *lse, mtlm_real *scratch);

#endif /* MTLM_ATTENTION_FWD_H */
