#ifndef MTLM_AMX_BLOCK_H
#define MTLM_AMX_BLOCK_H

/* Writes blocks of sums [32, 32] to C. */

#include "runtime/amx/amx_kernel.h"

/* A block of sums, whose first m rows and n columns belong to C.  Rows of C are
 * ldc elements apart.  C is fp32 if single, else bf16.  bias: [n] for a bf16 C,
 * or NULL.  add: adds to C, else sets C.  streams: sets an fp32 C past the
 * caches, to before + sums; before is [32, 32], or NULL: 0.  Then n is 32, and
 * rows of the block are whole cache lines. */
struct mtlm_amx_block {
    const float *sums;
    int64_t m, n;
    const uint16_t *bias;
    void *c;
    int64_t ldc;
    bool single, add, streams;
    const float *before;
};

/* Sets how to fetch the block's part of C during a product of so many steps.
 * Without fetching the block's stores would wait for memory.  Loads of the next
 * product, from the same places of other pages, would wait for these stores. */
void mtlm_amx_block_fetch(const struct mtlm_amx_block *block, int64_t steps,
                          struct mtlm_amx_ahead *ahead);

/* Transposes sums [32, 32]. */
void mtlm_amx_block_transpose(float *sums);

/* Writes C. */
void mtlm_amx_block_write(const struct mtlm_amx_block *block);

#endif /* MTLM_AMX_BLOCK_H */
