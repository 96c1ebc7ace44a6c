/* Products of small matrices, a row of tiles at a time. */

#include "config.h"

#include <string.h>

#include "codelets/tile.h"

typedef mtlm_real vector
    __attribute__((vector_size(MTLM_VECTOR_BYTES), may_alias));
/* The same at any address of an element. */
typedef mtlm_real loose __attribute__((vector_size(MTLM_VECTOR_BYTES),
                                       may_alias, aligned(sizeof(mtlm_real))));

enum { LANES = MTLM_LANES, ROWS = MTLM_TILE_ROWS };

/* Computes one tile of nv vectors; nv is constant in each inlined copy. */
static inline __attribute__((always_inline)) void tile(
    int nv, int64_t k, const mtlm_real *a, int64_t rs, int64_t cs,
    const mtlm_real *b, int64_t ldb, bool add, mtlm_real *c, int64_t ldc)
{
    vector sum[ROWS][MTLM_TILE_VECTORS];

#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 8
        for (int j = 0; j < nv; j++)
            sum[i][j] =
                add ? *(const vector *) &c[i * ldc + j * LANES] : (vector){0};
    for (int64_t p = 0; p < k; p++, a += cs, b += ldb) {
        vector row[MTLM_TILE_VECTORS];

#pragma GCC unroll 8
        for (int j = 0; j < nv; j++)
            row[j] = *(const vector *) &b[j * LANES];
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 8
            for (int j = 0; j < nv; j++)
                sum[i][j] += a[i * rs] * row[j];
    }
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 8
        for (int j = 0; j < nv; j++)
            *(vector *) &c[i * ldc + j * LANES] = sum[i][j];
}

/* The last tile of a row may be narrow. */
static inline __attribute__((always_inline)) void row_of_tiles(
    int64_t k, const mtlm_real *a, int64_t rs, int64_t cs, const mtlm_real *b,
    int64_t ldb, int64_t n, bool add, mtlm_real *c, int64_t ldc)
{
    for (; n >= MTLM_TILE_COLS;
         n -= MTLM_TILE_COLS, b += MTLM_TILE_COLS, c += MTLM_TILE_COLS)
        tile(MTLM_TILE_VECTORS, k, a, rs, cs, b, ldb, add, c, ldc);
    for (; n >= 2 * LANES; n -= 2 * LANES, b += 2 * LANES, c += 2 * LANES)
        tile(2, k, a, rs, cs, b, ldb, add, c, ldc);
    if (n > 0)
        tile(1, k, a, rs, cs, b, ldb, add, c, ldc);
}

void mtlm_tile_row(int64_t k, struct mtlm_factor a, const mtlm_real *b,
                   int64_t ldb, int64_t n, bool add, mtlm_real *c, int64_t ldc)
{
    if (a.cs == 1)
        row_of_tiles(k, a.at, a.rs, 1, b, ldb, n, add, c, ldc);
    else
        row_of_tiles(k, a.at, 1, a.cs, b, ldb, n, add, c, ldc);
}

/* Copies vectors without memcpy(): a short row costs less than a call.
 */
void mtlm_tile_pack_rows(const mtlm_real *from, int64_t ld, int64_t rows,
                         int64_t cols, mtlm_real *to)
{
    const int64_t width = mtlm_tile_whole_vectors(cols);

    for (int64_t r = 0; r < rows; r++, from += ld, to += width) {
        int64_t c = 0;

        for (; c + LANES <= cols; c += LANES)
            *(vector *) &to[c] = *(const loose *) &from[c];
        for (; c < width; c++)
            to[c] = c < cols ? from[c] : 0;
    }
}

typedef int64_t mask64 __attribute__((vector_size(MTLM_VECTOR_BYTES)));
typedef int32_t mask32 __attribute__((vector_size(MTLM_VECTOR_BYTES)));
#if MTLM_DOUBLE
typedef mask64 mask;
#else
typedef mask32 mask;
#endif

/* Returns the lanes of a and b in turns: of the lower halves, or of the upper
 * halves. */
static inline vector turns(vector a, vector b, bool upper)
{
    mask m;

    for (int i = 0; i < LANES; i++)
        m[i] = (upper ? LANES / 2 : 0) + i / 2 + (i % 2 ? LANES : 0);
    return __builtin_shuffle(a, b, m);
}

/* Transposes LANES x LANES elements: row r becomes column r.  Each round
 * interleaves row i with row i + LANES / 2; after log2(LANES) rounds, rows have
 * become columns. */
static inline void transpose(vector x[LANES])
{
    for (int round = 1; round < LANES; round *= 2) {
        vector y[LANES];

#pragma GCC unroll 16
        for (int i = 0; i < LANES / 2; i++) {
            y[2 * i] = turns(x[i], x[i + LANES / 2], false);
            y[2 * i + 1] = turns(x[i], x[i + LANES / 2], true);
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            x[i] = y[i];
    }
}

/* Transposes n <= LANES rows of at most LANES columns into a panel; missing
 * rows become 0. */
static void transpose_block(const mtlm_real *from, int64_t ld, int64_t n,
                            int64_t cols, mtlm_real *to)
{
    vector x[LANES];

    if (n == LANES && cols >= LANES) {
#pragma GCC unroll 16
        for (int r = 0; r < LANES; r++)
            x[r] = *(const loose *) &from[r * ld];
        transpose(x);
#pragma GCC unroll 16
        for (int c = 0; c < LANES; c++)
            *(vector *) &to[c * MTLM_TILE_COLS] = x[c];
        return;
    }
    for (int64_t c = 0; c < cols && c < LANES; c++)
        for (int64_t r = 0; r < LANES; r++)
            to[c * MTLM_TILE_COLS + r] = r < n ? from[r * ld + c] : 0;
}

void mtlm_tile_pack_transposed(const mtlm_real *from, int64_t ld, int64_t rows,
                               int64_t cols, mtlm_real *to)
{
    const int64_t end = mtlm_tile_whole_tiles(rows);

    for (int64_t r = 0; r < end; r += LANES) {
        const int64_t left = rows - r;
        const int64_t n = left < 0 ? 0 : left < LANES ? left : LANES;
        mtlm_real *panel = to + r / MTLM_TILE_COLS * MTLM_TILE_COLS * cols
                           + r % MTLM_TILE_COLS;

        for (int64_t c = 0; c < cols; c += LANES)
            transpose_block(from + r * ld + c, ld, n, cols - c,
                            panel + c * MTLM_TILE_COLS);
    }
}
