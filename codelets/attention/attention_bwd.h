#ifndef MTLM_ATTENTION_BWD_H
#define MTLM_ATTENTION_BWD_H

/* Gradient of attention of one head on the CPU. */

#include "codelets/attention/attention_block.h"

/* Returns the elements of scratch that mtlm_attention_bwd_head() needs for
 * `keys` keys of d elements. */
int64_t mtlm_attention_bwd_scratch(int64_t keys, int64_t d);

/* Computes a head: bwd of struct mtlm_attention_way. */
void mtlm_attention_bwd_head(const struct mtlm_head *head, bool add,
                             const void *y, const mtlm_real *lse,
                             const void *dy, void *dq, void *dk, void *dv,
                             mtlm_real *scratch);

#endif /* MTLM_ATTENTION_BWD_H */
