#ifndef MTLM_ATTENTION_BWD_H
#define MTLM_ATTENTION_BWD_H

/* Gradient of attention of one head on the CPU. */

#include "codelets/attention/attention_block.h"

/* Returns the elements of scratch that mtlm_attention_bwd_head() needs for
 * `keys` keys of d elements. */
int64_t mtlm_attention_bwd_scratch(int64_t keys, int64_t d);

/* Writes the gradients dq [queries, d], dk and dv [keys, d].  add: adds to the
 * gradients instead.  Rows of gradients are head->ld elements apart.
 *
 * y, dy [queries, d], rows head->ld_y elements apart; lse [queries].  y and lse
 * are final: the results over all keys that the queries see, also keys of other
 * calls. */
void mtlm_attention_bwd_head(const struct mtlm_head *head, bool add,
                             const mtlm_real *y, const mtlm_real *lse,
                             const mtlm_real *dy, mtlm_real *dq, mtlm_real *dk,
                             mtlm_real *dv, mtlm_real *scratch);

#endif /* MTLM_ATTENTION_BWD_H */
