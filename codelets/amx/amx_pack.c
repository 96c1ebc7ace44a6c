/* Copies matrices to panels.  A tile of A has 16 rows of 16 pairs of terms; a
 * tile of B has 16 pairs of terms of 16 columns.  So a tile of B is a
 * transposed tile of pairs. */

#include "config.h"

#include "codelets/amx/amx_pack.h"
#include "codelets/amx/transpose.h"
#include "runtime/base/least.h"

#if __x86_64__

#include <immintrin.h>

#pragma GCC target("avx512f,avx512bw,avx512vl")

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
 * them: row i gets numbers 2 i and 2 i + 1 of each column. */
static inline void read_pairs(const uint16_t *from, int64_t ld, int64_t n,
                              int64_t k, mtlm_transpose_row row[ROWS])
{
    const __mmask16 mask = n <= 0 ? 0 : n < ROWS ? (1u << n) - 1 : ~0u;

    for (int i = 0; i < ROWS; i++, from += 2 * ld) {
        const __m256i first =
            _mm256_maskz_loadu_epi16(2 * i < k ? mask : 0, from);
        const __m256i second =
            _mm256_maskz_loadu_epi16(2 * i + 1 < k ? mask : 0, from + ld);

        row[i] = (mtlm_transpose_row) _mm512_or_si512(
            _mm512_cvtepu16_epi32(first),
            _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16));
    }
}

/* Writes a panel.  pairs: the numbers of a row or column are ld apart, else
 * the rows or columns are. */
static inline void pack(bool pairs, bool transpose, const uint16_t *from,
                        int64_t ld, int64_t n, int64_t k, uint16_t *panel)
{
    for (int64_t done = 0; done < k; done += TERMS)
        for (int half = 0; half < 2; half++, panel += MTLM_AMX_TILE) {
            const int64_t first = half * ROWS;
            mtlm_transpose_row row[ROWS];

            if (pairs)
                read_pairs(from + done * ld + first, ld, n - first, k - done,
                           row);
            else
                read_rows(from + first * ld + done, ld, n - first, k - done,
                          row);
            if (transpose)
                mtlm_transpose(row);
            __builtin_memcpy(panel, row, sizeof(row));
        }
}

void mtlm_amx_pack_a(bool trans, const uint16_t *a, int64_t ld, int64_t n,
                     int64_t k, uint16_t *panel)
{
    if (trans)
        pack(true, true, a, ld, n, k, panel);
    else
        pack(false, false, a, ld, n, k, panel);
}

void mtlm_amx_pack_b(bool trans, const uint16_t *b, int64_t ld, int64_t n,
                     int64_t k, uint16_t *panel)
{
    if (trans)
        pack(false, true, b, ld, n, k, panel);
    else
        pack(true, false, b, ld, n, k, panel);
}

#else

/* Never called. */
void mtlm_amx_pack_a(bool trans, const uint16_t *a, int64_t ld, int64_t n,
                     int64_t k, uint16_t *panel)
{
    (void) trans, (void) a, (void) ld, (void) n, (void) k, (void) panel;
}

/* Never called. */
void mtlm_amx_pack_b(bool trans, const uint16_t *b, int64_t ld, int64_t n,
                     int64_t k, uint16_t *panel)
{
    (void) trans, (void) b, (void) ld, (void) n, (void) k, (void) panel;
}

#endif
