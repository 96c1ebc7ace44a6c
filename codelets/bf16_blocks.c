/* Copies bf16 matrices to blocks.  A pair of numbers that lie below each other
 * in B is one 32-bit number of a block. */

#include "config.h"

#include <string.h>

#include "codelets/bf16_blocks.h"

/* Who has AVX512_BF16 has these, whatever the build is for. */
#if __x86_64__
#pragma GCC target("avx512f,avx512bw")
#endif

#include "runtime/amx/transpose.h" /* for these instructions */

enum {
    PAIRS = MTLM_BLOCK_ROWS / 2,
    COLS = MTLM_BLOCK_COLS,
    WIDTH = MTLM_TRANSPOSE_SIDE
};

/* Interleaves the rows of a block of row-major B, which are ld apart. */
static void interleave(const uint16_t *b, int64_t ld, uint32_t *restrict to)
{
    for (int i = 0; i < PAIRS; i++, b += 2 * ld, to += COLS) {
#pragma omp simd
        for (int j = 0; j < COLS; j++)
            to[j] = b[j] | (uint32_t) b[j + ld] << 16;
    }
}

/* Transposes the pairs of a block of transposed B, whose rows are ld pairs
 * apart. */
static void transpose_pairs(const uint16_t *b, int64_t ld, uint32_t *to)
{
    mtlm_transpose_row row[WIDTH];

    for (int j = 0; j < COLS; j += WIDTH, b += WIDTH * 2 * ld) {
        for (int i = 0; i < WIDTH; i++)
            memcpy(&row[i], b + i * 2 * ld, sizeof(row[i]));
        mtlm_transpose(row);
        for (int i = 0; i < PAIRS; i++)
            memcpy(to + i * COLS + j, &row[i], sizeof(row[i]));
    }
}

void mtlm_bf16_blocks_pack(bool trans, int64_t k, int64_t n, const uint16_t *b,
                           uint16_t *packed)
{
    uint32_t *to = (void *) packed;

    for (int64_t col = 0; col < n; col += COLS)
        for (int64_t row = 0; row < k;
             row += MTLM_BLOCK_ROWS, to += PAIRS * COLS)
            if (trans)
                transpose_pairs(b + col * k + row, k / 2, to);
            else
                interleave(b + row * n + col, n, to);
}
