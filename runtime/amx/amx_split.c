/* Splits fp32 numbers to three bf16 numbers.  A tile of the first factor has 16
 * rows of 16 pairs of terms; a tile of the second factor has 16 pairs of terms
 * of 16 columns, and is a transposed tile of pairs. */

#include "config.h"

#include "runtime/amx/amx_pack.h"
#include "runtime/amx/amx_split.h"

#if HAVE_AMX

#include <immintrin.h>

#pragma GCC target("avx512f,avx512bw,avx512vl")

#include "runtime/amx/mask.h"      /* for these instructions */
#include "runtime/amx/transpose.h" /* for these instructions */

enum { ROWS = MTLM_AMX_ROWS, TERMS = MTLM_AMX_TERMS, PARTS = MTLM_AMX_PARTS };

/* A tile of each part of some numbers. */
struct tiles {
    mtlm_transpose_row row[PARTS][ROWS];
};

/* Returns the numbers rounded to bf16, as floats.  NaN may become a number: the
 * rest that is left is NaN then. */
static inline __m512 round_to_bf16(__m512 x)
{
    const __m512i half = _mm512_set1_epi32(0x8000);
    const __m512i high = _mm512_set1_epi32((int) 0xffff0000);

    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), half), high));
}

/* Returns the parts of 16 numbers, as floats. */
static inline void split(__m512 x, __m512 part[PARTS])
{
    part[0] = round_to_bf16(x);
    x = _mm512_sub_ps(x, part[0]);
    part[1] = round_to_bf16(x);
    part[2] = _mm512_sub_ps(x, part[1]);
}

/* Splits n rows of k numbers, ld apart, and zeros behind them: to rows of pairs
 * of terms. */
static inline void split_rows(const float *from, int64_t ld, int64_t n,
                              int64_t k, struct tiles *tiles)
{
    const __m512i halves = _mm512_set_epi16(
        63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29,
        27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    const __mmask16 low = mtlm_mask_first(k), high = mtlm_mask_first(k - ROWS);

    for (int i = 0; i < ROWS; i++, from += ld) {
        __m512 first[PARTS], second[PARTS];

        split(_mm512_maskz_loadu_ps(i < n ? low : 0, from), first);
        split(_mm512_maskz_loadu_ps(i < n ? high : 0, from + ROWS), second);
        for (int p = 0; p < PARTS; p++)
            tiles->row[p][i] = (mtlm_transpose_row) _mm512_permutex2var_epi16(
                _mm512_castps_si512(first[p]), halves,
                _mm512_castps_si512(second[p]));
    }
}

/* Splits k terms of n columns, the terms ld apart, and zeros behind them: row i
 * gets terms 2 i and 2 i + 1 of each column. */
static inline void split_pairs(const float *from, int64_t ld, int64_t n,
                               int64_t k, struct tiles *tiles)
{
    const __m512i high = _mm512_set1_epi32((int) 0xffff0000);
    const __mmask16 mask = mtlm_mask_first(n);

    for (int i = 0; i < ROWS; i++, from += 2 * ld) {
        __m512 even[PARTS], odd[PARTS];

        split(_mm512_maskz_loadu_ps(2 * i < k ? mask : 0, from), even);
        split(_mm512_maskz_loadu_ps(2 * i + 1 < k ? mask : 0, from + ld), odd);
        for (int p = 0; p < PARTS; p++)
            tiles->row[p][i] = (mtlm_transpose_row) _mm512_or_si512(
                _mm512_srli_epi32(_mm512_castps_si512(even[p]), 16),
                _mm512_and_si512(_mm512_castps_si512(odd[p]), high));
    }
}

/* Writes a tile of each part, transposed or not; parts are `apart` numbers
 * apart. */
static inline void write_tiles(bool transpose, struct tiles *tiles,
                               uint16_t *to, int64_t apart)
{
    for (int p = 0; p < PARTS; p++, to += apart) {
        if (transpose)
            mtlm_transpose(tiles->row[p]);
        __builtin_memcpy(to, tiles->row[p], sizeof(tiles->row[p]));
    }
}

/* Writes the two tiles of a step to each part of a panel. */
static void split_step(bool by_terms, bool transpose, const float *from,
                       int64_t ld, int64_t n, int64_t k, uint16_t *to,
                       int64_t apart)
{
    struct tiles tiles;

    for (int half = 0; half < 2; half++, n -= ROWS, to += MTLM_AMX_TILE) {
        if (by_terms)
            split_pairs(from, ld, n, k, &tiles);
        else
            split_rows(from, ld, n, k, &tiles);
        write_tiles(transpose, &tiles, to, apart);
        from += by_terms ? ROWS : ROWS * ld;
    }
}

/* Writes panels in the order in which memory has the numbers: one after the
 * other, or a step of all. */
static void split_panels(bool by_terms, bool transpose, const float *from,
                         int64_t ld, int64_t n, int64_t k, uint16_t *panels)
{
    const int64_t apart = mtlm_amx_panel(k), panel = PARTS * apart;
    const int64_t steps = mtlm_amx_steps(k);
    const int64_t all = (n + MTLM_AMX_SIDE - 1) / MTLM_AMX_SIDE;
    const int64_t outer = by_terms ? steps : all;
    const int64_t inner = by_terms ? all : steps;

    for (int64_t i = 0; i < outer; i++)
        for (int64_t j = 0; j < inner; j++) {
            const int64_t row = (by_terms ? j : i) * MTLM_AMX_SIDE;
            const int64_t s = by_terms ? i : j, term = s * TERMS;

            split_step(by_terms, transpose,
                       from + (by_terms ? term * ld + row : row * ld + term),
                       ld, n - row, k - term,
                       panels + row / MTLM_AMX_SIDE * panel + s * MTLM_AMX_STEP,
                       apart);
        }
}

void mtlm_amx_split_first(bool by_terms, const float *from, int64_t ld,
                          int64_t n, int64_t k, uint16_t *panels)
{
    split_panels(by_terms, by_terms, from, ld, n, k, panels);
}

void mtlm_amx_split_second(bool by_terms, const float *from, int64_t ld,
                           int64_t n, int64_t k, uint16_t *panels)
{
    split_panels(by_terms, !by_terms, from, ld, n, k, panels);
}

#else

/* Never called. */
void mtlm_amx_split_first(bool by_terms, const float *from, int64_t ld,
                          int64_t n, int64_t k, uint16_t *panels)
{
    (void) by_terms, (void) from, (void) ld, (void) n, (void) k, (void) panels;
}

/* Never called. */
void mtlm_amx_split_second(bool by_terms, const float *from, int64_t ld,
                           int64_t n, int64_t k, uint16_t *panels)
{
    (void) by_terms, (void) from, (void) ld, (void) n, (void) k, (void) panels;
}

#endif
