/* Copies matrices to panels.  A tile of A has 16 rows of 16 pairs of terms; a
 * tile of B has 16 pairs of terms of 16 columns.  So a tile of B is a
 * transposed tile of pairs. */

#include "config.h"

#include "runtime/amx/amx_pack.h"

#if HAVE_AMX

#include <immintrin.h>

#pragma GCC target("avx512f,avx512bw,avx512vl")

#include "runtime/amx/transpose.h" /* for these instructions */

enum { ROWS = MTLM_AMX_ROWS, TERMS = MTLM_AMX_TERMS };

/* Reads n rows of k numbers, ld apart, and zeros behind them. */
static inline void read_rows(const uint16_t *from, int64_t ld, int64_t n,
                             int64_t k, mtlm_transpose_row row[ROWS])
{
    const __mmask32 mask = k < TERMS ? (1u << k) - 1 : ~0u;

    for (int i = 0; i < ROWS; i++)
        row[i] = (mtlm_transpose_row) _mm512_maskz_loadu_epi16(i < n ? mask : 0,
                                                               from + i * ld);
}

/* Reads pairs of n columns of k numbers, which are ld apart, and zeros behind
 * them: row i gets numbers 2 i and 2 i + 1 of each of 16 columns; low has the
 * first 16, high the others. */
static inline void read_pairs(const uint16_t *from, int64_t ld, int64_t n,
                              int64_t k, mtlm_transpose_row low[ROWS],
                              mtlm_transpose_row high[ROWS])
{
    const __mmask32 mask = n < 2 * ROWS ? (1u << n) - 1 : ~0u;
    const __mmask32 odd = 0xaaaaaaaa;

    for (int i = 0; i < ROWS; i++, from += 2 * ld) {
        const __m512i first =
            _mm512_maskz_loadu_epi16(2 * i < k ? mask : 0, from);
        const __m512i second =
            _mm512_maskz_loadu_epi16(2 * i + 1 < k ? mask : 0, from + ld);
        const mtlm_transpose_row even_columns =
            (mtlm_transpose_row) _mm512_mask_blend_epi16(
                odd, first, _mm512_slli_epi32(second, 16));
        const mtlm_transpose_row odd_columns =
            (mtlm_transpose_row) _mm512_mask_blend_epi16(
                odd, _mm512_srli_epi32(first, 16), second);

        low[i] = mtlm_interleave_low(even_columns, odd_columns);
        high[i] = mtlm_interleave_high(even_columns, odd_columns);
    }
}

/* Writes a tile, transposed or not. */
static inline void write_tile(bool transpose, mtlm_transpose_row row[ROWS],
                              uint16_t *to)
{
    if (transpose)
        mtlm_transpose(row);
    __builtin_memcpy(to, row, ROWS * sizeof(*row));
}

/* Writes the tiles of a step from term `term` on.  pairs: the terms are ld
 * apart, else the rows or columns are. */
static inline void pack_step(bool pairs, bool transpose, const uint16_t *from,
                             int64_t ld, int64_t n, int64_t terms, uint16_t *to)
{
    mtlm_transpose_row low[ROWS], high[ROWS];

    if (pairs) {
        read_pairs(from, ld, n, terms, low, high);
    } else {
        read_rows(from, ld, n, terms, low);
        read_rows(from + ROWS * ld, ld, n - ROWS, terms, high);
    }
    write_tile(transpose, low, to);
    write_tile(transpose, high, to + MTLM_AMX_TILE);
}

/* Writes panels of rows or columns that are ld apart, one after the other. */
static inline void pack_by_rows(bool transpose, const uint16_t *from,
                                int64_t ld, int64_t n, int64_t k, uint16_t *to)
{
    for (int64_t i = 0; i < n; i += MTLM_AMX_SIDE, from += MTLM_AMX_SIDE * ld)
        for (int64_t term = 0; term < k; term += TERMS, to += MTLM_AMX_STEP)
            pack_step(false, transpose, from + term, ld, n - i, k - term, to);
}

/* Writes panels of terms that are ld apart, a step of all panels after the
 * other: so memory is read in its order. */
static inline void pack_by_terms(bool transpose, const uint16_t *from,
                                 int64_t ld, int64_t n, int64_t k, uint16_t *to)
{
    for (int64_t term = 0; term < k; term += TERMS, to += MTLM_AMX_STEP)
        for (int64_t i = 0; i < n; i += MTLM_AMX_SIDE)
            pack_step(true, transpose, from + term * ld + i, ld, n - i,
                      k - term, to + i / MTLM_AMX_SIDE * mtlm_amx_panel(k));
}

static void pack(bool by_terms, bool transpose, const uint16_t *from,
                 int64_t ld, int64_t n, int64_t k, uint16_t *panels)
{
    if (by_terms)
        pack_by_terms(transpose, from, ld, n, k, panels);
    else
        pack_by_rows(transpose, from, ld, n, k, panels);
}

void mtlm_amx_pack_a(bool trans, const uint16_t *a, int64_t ld, int64_t n,
                     int64_t k, uint16_t *panels)
{
    pack(trans, trans, a, ld, n, k, panels);
}

void mtlm_amx_pack_b(bool trans, const uint16_t *b, int64_t ld, int64_t n,
                     int64_t k, uint16_t *panels)
{
    pack(!trans, trans, b, ld, n, k, panels);
}

#else

/* Never called. */
void mtlm_amx_pack_a(bool trans, const uint16_t *a, int64_t ld, int64_t n,
                     int64_t k, uint16_t *panels)
{
    (void) trans, (void) a, (void) ld, (void) n, (void) k, (void) panels;
}

/* Never called. */
void mtlm_amx_pack_b(bool trans, const uint16_t *b, int64_t ld, int64_t n,
                     int64_t k, uint16_t *panels)
{
    (void) trans, (void) b, (void) ld, (void) n, (void) k, (void) panels;
}

#endif
