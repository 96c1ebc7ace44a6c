#ifndef MTLM_BF16_BLOCKS_H
#define MTLM_BF16_BLOCKS_H

/* Copies bf16 matrices to blocks for AVX512_BF16, whose instructions multiply
 * pairs of numbers.  oneDNN copies, too: 8 to 16 GB/s where this does 28 to 34
 * GB/s (oneDNN 2.6.3, one Zen 5 core, weights of GPT-2 124M, bytes read and
 * written). */

#include <stdbool.h>
#include <stdint.h>

/* A block has MTLM_BLOCK_ROWS x MTLM_BLOCK_COLS numbers. */
enum { MTLM_BLOCK_ROWS = 32, MTLM_BLOCK_COLS = 64 };

/* Returns whether a matrix [k, n] consists of whole blocks. */
static inline bool mtlm_bf16_blocks_fit(int64_t k, int64_t n)
{
    return k % MTLM_BLOCK_ROWS == 0 && n % MTLM_BLOCK_COLS == 0;
}

/* Writes B [k, n], row-major, or stored as its transpose if trans, to
 * packed [n / 64, k / 32, 16, 64, 2].  Element [c, r, i, j, p] is number
 * [32 r + 2 i + p, 64 c + j] of B.  oneDNN calls the layout BA16a64b2a.  packed
 * is aligned to 4 bytes.  Only for processors with AVX-512. */
void mtlm_bf16_blocks_pack(bool trans, int64_t k, int64_t n, const uint16_t *b,
                           uint16_t *packed);

#endif /* MTLM_BF16_BLOCKS_H */
