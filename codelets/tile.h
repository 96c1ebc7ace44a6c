#ifndef MTLM_TILE_H
#define MTLM_TILE_H

/* Products of small matrices, for which a BLAS would spend its time on
 * packing.  A call computes one row of tiles; the sums of a tile stay in
 * registers.  The caller packs the second factor into contiguous rows. */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/dtype.h"
#include "runtime/base/round_up.h"

#if __AVX512F__
#define MTLM_VECTOR_BYTES 64
#elif __AVX2__
#define MTLM_VECTOR_BYTES 32
#else
#define MTLM_VECTOR_BYTES 16
#endif

enum {
    MTLM_LANES = MTLM_VECTOR_BYTES / sizeof(mtlm_real),
    /* The sums of a tile take 24 of AVX-512's 32 registers, else 12 of 16. */
    MTLM_TILE_ROWS = 6,
    MTLM_TILE_VECTORS = MTLM_VECTOR_BYTES == 64 ? 4 : 2,
    MTLM_TILE_COLS = MTLM_TILE_VECTORS * MTLM_LANES,
};

/* Returns n rounded up to whole vectors. */
static inline int64_t mtlm_tile_whole_vectors(int64_t n)
{
    return mtlm_round_up(n, MTLM_LANES);
}

/* Returns n rounded up to whole tiles of columns. */
static inline int64_t mtlm_tile_whole_tiles(int64_t n)
{
    return mtlm_round_up(n, MTLM_TILE_COLS);
}

/* One factor of a product: element (row, i) is at[row * rs + i * cs]; rs or cs
 * is 1. */
struct mtlm_factor {
    const mtlm_real *at;
    int64_t rs, cs;
};

/* Computes c [MTLM_TILE_ROWS, n] = a [MTLM_TILE_ROWS, k] b [k, n], or c += a b
 * if add.  Rows of b are ldb elements apart, rows of c ldc elements.  b and c
 * must be aligned to vectors; ldb, ldc and n must be multiples of
 * MTLM_LANES. */
void mtlm_tile_row(int64_t k, struct mtlm_factor a, const mtlm_real *b,
                   int64_t ldb, int64_t n, bool add, mtlm_real *c, int64_t ldc);

/* Copies the matrix `from` [rows, cols], whose rows are ld elements apart. `to`
 * is [rows, mtlm_tile_whole_vectors(cols)]; columns beyond cols become 0. */
void mtlm_tile_pack_rows(const mtlm_real *from, int64_t ld, int64_t rows,
                         int64_t cols, mtlm_real *to);

/* Transposes the matrix `from` [rows, cols], whose rows are ld elements apart,
 * into panels.  A panel holds MTLM_TILE_COLS rows of the matrix as [cols,
 * MTLM_TILE_COLS].  Panels are contiguous; the last panel is filled up with
 * 0. */
void mtlm_tile_pack_transposed(const mtlm_real *from, int64_t ld, int64_t rows,
                               int64_t cols, mtlm_real *to);

#endif /* MTLM_TILE_H */
