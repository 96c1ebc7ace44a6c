#ifndef MTLM_AMX_TRANSPOSE_H
#define MTLM_AMX_TRANSPOSE_H

/* Transposes in registers; include with AVX-512 allowed. */

#include <stdint.h>
#include <string.h>

enum { MTLM_TRANSPOSE_SIDE = 16 };

typedef uint32_t mtlm_transpose_row
    __attribute__((vector_size(4 * MTLM_TRANSPOSE_SIDE)));

#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define MTLM_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#ifndef MTLM_SHUFFLE /* GCC before 12 */
#define MTLM_SHUFFLE(a, b, ...)                                                \
    __builtin_shuffle(a, b, (mtlm_transpose_row){__VA_ARGS__})
#endif

/* Returns the first eight numbers of a and b in turn. */
static inline __attribute__((always_inline)) mtlm_transpose_row
mtlm_interleave_low(mtlm_transpose_row a, mtlm_transpose_row b)
{
    return MTLM_SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22,
                        7, 23);
}

/* Returns the last eight numbers of a and b in turn. */
static inline __attribute__((always_inline)) mtlm_transpose_row
mtlm_interleave_high(mtlm_transpose_row a, mtlm_transpose_row b)
{
    return MTLM_SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14,
                        30, 15, 31);
}

/* Transposes 16 x 16 numbers.  Rows i and i + 8 interleave to rows 2 i and
 * 2 i + 1; that rotates the eight bits of (row, column) by one.  Four times
 * exchange row and column. */
static inline __attribute__((always_inline)) void mtlm_transpose(
    mtlm_transpose_row row[MTLM_TRANSPOSE_SIDE])
{
    enum { HALF = MTLM_TRANSPOSE_SIDE / 2 };
    mtlm_transpose_row next[MTLM_TRANSPOSE_SIDE];

    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < HALF; i++) {
            next[2 * i] = mtlm_interleave_low(row[i], row[i + HALF]);
            next[2 * i + 1] = mtlm_interleave_high(row[i], row[i + HALF]);
        }
        memcpy(row, next, sizeof(next));
    }
}

#endif /* MTLM_AMX_TRANSPOSE_H */
