#ifndef MTLM_XENT_BLOCK_H
#define MTLM_XENT_BLOCK_H

/* Logits block after block, and their exponentials, for xent.c and
 * xent_stats.c. */

#include "codelets/vector_math.h"
#include "codelets/xent.h"

/* Columns of a block, a partial sum in mtlm_real; partial sums are added in
 * double.  The blocks that are read at a time stay in the first-level cache. */
enum { MTLM_XENT_BLOCK = 2048, MTLM_XENT_BLOCKS_READ = 2 };
enum { MTLM_XENT_BUFFER = MTLM_XENT_BLOCKS_READ * MTLM_XENT_BLOCK };

/* Logits [rows, cols], of which columns 0 .. n - 1 count. */
struct mtlm_xent_logits {
    enum mtlm_dtype type;
    void *values;
    int64_t rows, cols, n;
};

/* Logits of a row from a column on; `number` blocks came before.  max: for the
 * caller, who may keep their maximum there. */
struct mtlm_xent_block {
    int64_t row, column, n, number;
    mtlm_real *logits, max;
};

/* Returns the first block of the logits.  buffer [MTLM_XENT_BUFFER] holds
 * widened logits: the blocks of the last MTLM_XENT_BLOCKS_READ calls are
 * valid. */
struct mtlm_xent_block mtlm_xent_block_first(
    const struct mtlm_xent_logits *logits, mtlm_real *buffer);

/* Returns the block after `block`; behind the last row, one without logits. */
struct mtlm_xent_block mtlm_xent_block_next(
    const struct mtlm_xent_logits *logits, struct mtlm_xent_block block,
    mtlm_real *buffer);

/* e^(logit - max) = factor 2^(logit log2(e) - by), by = max log2(e) rounded.
 * A fused multiply-add rounds the exponent once; a difference and a product are
 * two operations.  factor undoes the rounding of by. */
struct mtlm_xent_shift {
    mtlm_real by;
    double factor;
};

/* Without logits the maximum is MTLM_LOWEST, and both numbers stay finite. */
static inline struct mtlm_xent_shift mtlm_xent_shift_of(mtlm_real max)
{
    const mtlm_real by = max * MTLM_LOG2_E;
    const double rounding = (double) by - (double) max * (double) MTLM_LOG2_E;

    if (max < MTLM_LOWEST / 2)
        return (struct mtlm_xent_shift){MTLM_LOWEST, 1};
    return (struct mtlm_xent_shift){by, 1 + MTLM_LN_2 * rounding};
}

static inline mtlm_real mtlm_xent_shifted_exp(mtlm_real logit, mtlm_real by)
{
    return mtlm_exp2(logit * MTLM_LOG2_E - by);
}

#endif /* MTLM_XENT_BLOCK_H */
