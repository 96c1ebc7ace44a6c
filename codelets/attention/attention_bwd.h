#ifndef MTLM_ATTENTION_BWD_H
#define MTLM_ATTENTION_BWD_H

/* Gradient of attention of one head on the CPU. */

#include "codelets/attention/attention_block.h"

/* Returns the elements of scratch that a call with so many keys needs. */
int64_t mtlm_attention_bwd_scratch(int64_t keys, int64_t d);

/* Writes dq [queries, d], dk and dv [keys, d], rows head->ld elements apart; or
 * adds to them (add).  y and lse are the results over all keys that the queries
 * see, those of other calls included. */
void mtlm_attention_bwd_head(const struct mtlm_head *head, bool add,
                             const mtlm_real *y, const mtlm_real *lse,
                             const mtlm_real *dy, mtlm_real *dq, mtlm_real *dk,
                             mtlm_real *dv, mtlm_real *scratch);

#endif /* MTLM_ATTENTION_BWD_H */
