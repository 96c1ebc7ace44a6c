/* Copies bf16 matrices to blocks.  A pair of numbers that lie below each other
 * in B is one 32-bit number of a block. */

#include "config.h"

#include <string.h>

#include "codelets/bf16_blocks.h"

/* Who has AVX512_BF16 has these, whatever the build is for. */
#if __x86_64__
#pragma GCC target("avx512f,avx512bw")
#endif

enum { PAIRS = MTLM_BLOCK_ROWS / 2, COLS = MTLM_BLOCK_COLS, WIDTH = 16 };

typedef uint32_t vector __attribute__((vector_size(4 * WIDTH)));

/* Interleaves the rows of a block of row-major B, which are ld apart. */
static void interleave(const uint16_t *b, int64_t ld, uint32_t *restrict to)
{
    for (int i = 0; i < PAIRS; i++, b += 2 * ld, to += COLS) {
#pragma omp simd
        for (int j = 0; j < COLS; j++)
            to[j] = b[j] | (uint32_t) b[j + ld] << 16;
    }
}

#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#ifndef SHUFFLE /* GCC before 12 */
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (vector){__VA_ARGS__})
#endif

/* Transposes 16 x 16 numbers.  Rows i and i + 8 interleave to rows 2 i and
 * 2 i + 1; that rotates the eight bits of (row, column) by one.  Four times
 * exchange row and column. */
static inline void transpose(vector row[WIDTH])
{
    enum { HALF = WIDTH / 2 };
    vector next[WIDTH];

    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < HALF; i++) {
            next[2 * i] = SHUFFLE(row[i], row[i + HALF], 0, 16, 1, 17, 2, 18, 3,
                                  19, 4, 20, 5, 21, 6, 22, 7, 23);
            next[2 * i + 1] =
                SHUFFLE(row[i], row[i + HALF], 8, 24, 9, 25, 10, 26, 11, 27, 12,
                        28, 13, 29, 14, 30, 15, 31);
        }
        memcpy(row, next, sizeof(next));
    }
}

/* Transposes the pairs of a block of transposed B, whose rows are ld pairs
 * apart. */
static void transpose_pairs(const uint16_t *b, int64_t ld, uint32_t *to)
{
    vector row[WIDTH];

    for (int j = 0; j < COLS; j += WIDTH, b += WIDTH * 2 * ld) {
        for (int i = 0; i < WIDTH; i++)
            memcpy(&row[i], b + i * 2 * ld, sizeof(row[i]));
        transpose(row);
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
