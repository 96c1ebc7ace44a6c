#ifndef MTLM_TILE_H
#define MTLM_TILE_H

/* Products of small matrices, for which a BLAS would spend its time on
 * packing.  A row of tiles is computed at a time; its sums stay in registers.
 * The caller lays the second factor out so that its rows are contiguous. */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/dtype.h"

#if __AVX512F__
#define MTLM_VECTOR_BYTES 64
#elif __AVX2__
#define MTLM_VECTOR_BYTES 32
#else
#define MTLM_VECTOR_BYTES 16
#endif

enum {
    MTLM_LANES = MTLM_VECTOR_BYTES / sizeof(mtlm_real),
    /* A tile uses 24 of AVX-512's 32 registers, or 12 of 16. */
    MTLM_TILE_ROWS = 6,
    MTLM_TILE_VECTORS = MTLM_VECTOR_BYTES == 64 ? 4 : 2,
    MTLM_TILE_COLS = MTLM_TILE_VECTORS * MTLM_LANES,
};

/* Returns n rounded up to whole vectors. */
static inline int64_t mtlm_tile_whole_vectors(int64_t n)
{
    return (n + MTLM_LANES - 1) / MTLM_LANES * MTLM_LANES;
}

/* Returns n rounded up to whole tiles of columns. */
static inline int64_t mtlm_tile_whole_tiles(int64_t n)
{
    return (n + MTLM_TILE_COLS - 1) / MTLM_TILE_COLS * MTLM_TILE_COLS;
}

/* One factor of a product: element (row, i) is at[row * rs + i * cs]; rs or cs
 * is 1. */
struct mtlm_factor {
    const mtlm_real *at;
    int64_t rs, cs;
};

/* Computes c [MTLM_TILE_ROWS, n] = a [MTLM_TILE_ROWS, k] b [k, n]; add: c += a
 * b.  Rows of b are ldb elements apart, rows of c ldc.  b and c are aligned to
 * vectors; ldb, ldc and n are whole vectors. */
void mtlm_tile_row(int64_t k, struct mtlm_factor a, const mtlm_real *b,
                   int64_t ldb, int64_t n, bool add, mtlm_real *c, int64_t ldc);

/* Copies from [rows, cols], rows ld apart, to `to` [rows,
 * whole_vectors(cols)].  Columns beyond cols become 0. */
void mtlm_tile_pack_rows(const mtlm_real *from, int64_t ld, int64_t rows,
                         int64_t cols, mtlm_real *to);

/* Transposes from [rows, cols] into panels of MTLM_TILE_COLS rows of from.
 * Each panel is [cols, MTLM_TILE_COLS]; panels are contiguous.  Rows beyond
 * rows become 0.  The number of panels is whole_tiles(rows) /
 * MTLM_TILE_COLS. */
void mtlm_tile_pack_transposed(const mtlm_real *from, int64_t ld, int64_t rows,
                               int64_t cols, mtlm_real *to);

#endif /* MTLM_TILE_H */
