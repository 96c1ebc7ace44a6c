#ifndef MTLM_ATTENTION_BLOCK_BF16_H
#define MTLM_ATTENTION_BLOCK_BF16_H

/* What attention of one head on bf16 values shares between forward and
 * backward. */

#include "codelets/attention/attention_block.h"

/* Sizes of a block.  Larger blocks multiply faster, but compute more scores
 * that no causal query sees. */
enum {
    MTLM_BF16_QUERIES = 96,
    MTLM_BF16_KEYS = 192,
    /* Elements between rows of a block, with room for
     * mtlm_block_hide_unseen(). */
    MTLM_BF16_LD = MTLM_BF16_KEYS + 32,
};

/* Returns the head with scale 1: products q k^T need no factor then.  The
 * factor is in slope and coefficient. */
struct mtlm_head mtlm_attention_bf16_unscaled(const struct mtlm_head *head);

/* Rounds a query's row of the block to `to`: the first n numbers, and 0 for the
 * block's other keys. */
void mtlm_attention_bf16_round_row(const struct mtlm_block *b, const float *row,
                                   int64_t n, uint16_t *to);

#endif /* MTLM_ATTENTION_BLOCK_BF16_H */
