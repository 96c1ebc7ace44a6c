/* Writes blocks of sums to C. */

#include "config.h"

#include "runtime/amx/amx_block.h"

void mtlm_amx_block_fetch(const struct mtlm_amx_block *block, int64_t steps,
                          struct mtlm_amx_ahead *ahead)
{
    ahead->at = block->c;
    ahead->rows = (block->m + steps - 1) / steps;
    ahead->lines = block->single && block->n > MTLM_AMX_ROWS ? 2 : 1;
    ahead->stride = block->ldc * (block->single ? 4 : 2);
    ahead->step = ahead->rows * ahead->stride;
}

#if HAVE_AMX

#include <immintrin.h>

#pragma GCC target("avx512f,avx512bw,avx512vl,avx512bf16")

#include "runtime/amx/mask.h"      /* for these instructions */
#include "runtime/amx/transpose.h" /* for these instructions */

enum { HALF = MTLM_AMX_ROWS }; /* of a row: a vector of fp32 numbers */

/* Reads bf16 numbers as floats. */
static __m512 widen(__mmask16 mask, const uint16_t *from)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(
        _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from)), 16));
}

static void write_bf16(const struct mtlm_amx_block *b, __mmask16 low,
                       __mmask16 high)
{
    const __mmask32 all = low | (__mmask32) high << HALF;
    __m512 low_bias = _mm512_setzero_ps(), high_bias = low_bias;
    const float *sums = b->sums;
    uint16_t *c = b->c;

    if (b->bias) {
        low_bias = widen(low, b->bias);
        high_bias = widen(high, b->bias + HALF);
    }
    for (int64_t i = 0; i < b->m; i++, sums += MTLM_AMX_SIDE, c += b->ldc) {
        __m512 first = _mm512_add_ps(_mm512_loadu_ps(sums), low_bias);
        __m512 second = _mm512_add_ps(_mm512_loadu_ps(sums + HALF), high_bias);

        if (b->add) {
            first = _mm512_add_ps(first, widen(low, c));
            second = _mm512_add_ps(second, widen(high, c + HALF));
        }
        _mm512_mask_storeu_epi16(c, all,
                                 (__m512i) _mm512_cvtne2ps_pbh(second, first));
    }
}

static void stream_fp32(const struct mtlm_amx_block *b)
{
    const float *sums = b->sums, *before = b->before;
    float *c = b->c;

    for (int64_t i = 0; i < b->m; i++, sums += MTLM_AMX_SIDE, c += b->ldc) {
        __m512 first = _mm512_loadu_ps(sums);
        __m512 second = _mm512_loadu_ps(sums + HALF);

        if (before) {
            first = _mm512_add_ps(_mm512_loadu_ps(before), first);
            second = _mm512_add_ps(_mm512_loadu_ps(before + HALF), second);
            before += MTLM_AMX_SIDE;
        }
        _mm512_stream_ps(c, first);
        _mm512_stream_ps(c + HALF, second);
    }
}

static void write_fp32(const struct mtlm_amx_block *b, __mmask16 low,
                       __mmask16 high)
{
    const float *sums = b->sums;
    float *c = b->c;

    for (int64_t i = 0; i < b->m; i++, sums += MTLM_AMX_SIDE, c += b->ldc) {
        __m512 first = _mm512_loadu_ps(sums);
        __m512 second = _mm512_loadu_ps(sums + HALF);

        if (b->add) {
            first = _mm512_add_ps(first, _mm512_maskz_loadu_ps(low, c));
            second =
                _mm512_add_ps(second, _mm512_maskz_loadu_ps(high, c + HALF));
        }
        _mm512_mask_storeu_ps(c, low, first);
        _mm512_mask_storeu_ps(c + HALF, high, second);
    }
}

static void read_tile(const float *sums, mtlm_transpose_row row[HALF])
{
    for (int i = 0; i < HALF; i++)
        memcpy(&row[i], sums + i * MTLM_AMX_SIDE, sizeof(row[i]));
    mtlm_transpose(row);
}

static void write_tile(const mtlm_transpose_row row[HALF], float *sums)
{
    for (int i = 0; i < HALF; i++)
        memcpy(sums + i * MTLM_AMX_SIDE, &row[i], sizeof(row[i]));
}

void mtlm_amx_block_transpose(float *sums)
{
    float *low = sums + HALF * MTLM_AMX_SIDE;
    mtlm_transpose_row row[HALF], other[HALF];

    read_tile(sums, row);
    write_tile(row, sums);
    read_tile(low + HALF, row);
    write_tile(row, low + HALF);
    read_tile(sums + HALF, row);
    read_tile(low, other);
    write_tile(row, low);
    write_tile(other, sums + HALF);
}

void mtlm_amx_block_write(const struct mtlm_amx_block *block)
{
    const __mmask16 low = mtlm_mask_first(block->n),
                    high = mtlm_mask_first(block->n - HALF);

    if (block->streams)
        stream_fp32(block);
    else if (block->single)
        write_fp32(block, low, high);
    else
        write_bf16(block, low, high);
}

#else

/* Never called. */
void mtlm_amx_block_transpose(float *sums)
{
    (void) sums;
}

/* Never called. */
void mtlm_amx_block_write(const struct mtlm_amx_block *block)
{
    (void) block;
}

#endif
