/* Conversions between float and the 16-bit types bf16 and fp16, on the host. */

#include "config.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/value16.h"

static inline uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline float from_bf16(uint16_t x)
{
    return float_of((uint32_t) x << 16);
}

static inline uint16_t to_bf16(float x)
{
    const uint32_t u = bits_of(x);
    const uint32_t nearest = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    const uint32_t quiet = u >> 16 | 0x40;

    return (uint16_t) ((u & 0x7fffffff) > 0x7f800000 ? quiet : nearest);
}

/* Both conversions compute all cases and select one, so that loops vectorise. A
 * normal number moves to the other type's bits and exponent; for numbers below
 * 2^-14 a product does that. */
static inline float from_f16(uint16_t x)
{
    const uint32_t rest = (uint32_t) (x & 0x7fff) << 13;
    const uint32_t finite = bits_of(float_of(rest) * 0x1p112f);
    const uint32_t other = rest | 0x7f800000;
    const uint32_t size = rest < 0x7c00u << 13 ? finite : other;

    return float_of(size | (uint32_t) (x & 0x8000) << 16);
}

/* Below 2^-14 fp16 numbers are 2^-24 apart, like floats from 0.5 on: adding 0.5
 * rounds. */
static inline uint16_t to_f16(float x)
{
    const uint32_t u = bits_of(x), size = u & 0x7fffffff;
    const uint32_t small = bits_of(float_of(size) + 0.5f) - bits_of(0.5f);
    const uint32_t normal =
        (size + 0xfff + (size >> 13 & 1) - (112u << 23)) >> 13;
    const uint32_t quiet = 0x7e00 | (size >> 13 & 0x3ff);
    uint32_t to = size < 0x38800000 ? small : normal; /* 2^-14 */

    to = size >= 0x47800000 ? 0x7c00 : to; /* 2^16 */
    to = size > 0x7f800000 ? quiet : to;
    return (uint16_t) (to | (u >> 16 & 0x8000));
}

void mtlm_value16_widen(enum mtlm_dtype type, const uint16_t *restrict from,
                        int64_t n, float *restrict to)
{
    assert(mtlm_dtype_is_16_bit(type));
    if (type == MTLM_BF16) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            to[i] = from_bf16(from[i]);
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            to[i] = from_f16(from[i]);
    }
}

void mtlm_value16_round(enum mtlm_dtype type, const float *restrict from,
                        int64_t n, uint16_t *restrict to)
{
    assert(mtlm_dtype_is_16_bit(type));
    if (type == MTLM_BF16) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            to[i] = to_bf16(from[i]);
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            to[i] = to_f16(from[i]);
    }
}

void mtlm_value16_add(enum mtlm_dtype type, const uint16_t *restrict from,
                      int64_t n, uint16_t *restrict to)
{
    assert(mtlm_dtype_is_16_bit(type));
    if (type == MTLM_BF16) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            to[i] = to_bf16(from_bf16(to[i]) + from_bf16(from[i]));
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            to[i] = to_f16(from_f16(to[i]) + from_f16(from[i]));
    }
}

bool mtlm_value16_finite(enum mtlm_dtype type, const uint16_t *values,
                         int64_t n)
{
    const uint16_t exponent = type == MTLM_BF16 ? 0x7f80 : 0x7c00;
    int found = 0;

    assert(mtlm_dtype_is_16_bit(type));
#pragma omp simd reduction(| : found)
    for (int64_t i = 0; i < n; i++)
        found |= (values[i] & exponent) == exponent;
    return !found;
}
