/* Rows of Philox numbers: the same as runtime/base/philox.h one by one, but
 * many blocks side by side, one in each 64-bit lane of a vector.  Only the
 * lower half of a lane counts; what products leave in the upper one is never
 * read, which saves taking the halves apart in every round. */

#include "config.h"

#include <string.h>
#if __SSE2__
#include <immintrin.h>
#endif

#include "codelets/dropout.h"
#include "runtime/base/least.h"
#include "runtime/base/philox.h"

#if __AVX512F__
#define VECTOR_BYTES 64
#elif __AVX2__
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

typedef uint64_t vector __attribute__((vector_size(VECTOR_BYTES)));

/* Several vectors at a time: a product's latency exceeds the interval at which
 * products start.  More would not fit into registers. */
enum {
    LANES = VECTOR_BYTES / 8,
    VECTORS = 4,
    BLOCKS = VECTORS * LANES,
    HALVES = 8 * BLOCKS /* 16 bits each */
};

static inline vector splat(uint64_t x)
{
    return (vector){} + x;
}

/* Returns the 64-bit products of the lower halves, by an instruction that
 * compilers do not find by themselves. */
static inline vector multiply(vector a, uint32_t b)
{
#if __AVX512F__
    return (vector) _mm512_mul_epu32((__m512i) a, (__m512i) splat(b));
#elif __AVX2__
    return (vector) _mm256_mul_epu32((__m256i) a, (__m256i) splat(b));
#elif __SSE2__
    return (vector) _mm_mul_epu32((__m128i) a, (__m128i) splat(b));
#else
    return (a & 0xffffffffu) * b;
#endif
}

/* The numbers of BLOCKS blocks: number e of block i is half[8 * i + e].  The
 * low half of a pair must come first in memory. */
union numbers {
    uint64_t pair[2 * BLOCKS];
    uint16_t half[HALVES];
};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "see above");

/* Writes the numbers of BLOCKS blocks, from `block` on. */
static inline void philox_blocks(uint64_t seed, uint64_t stream, uint64_t block,
                                 union numbers *out)
{
    static const uint64_t lane[] = {0, 1, 2, 3, 4, 5, 6, 7};
    vector c0[VECTORS], c1[VECTORS], c2[VECTORS], c3[VECTORS];
    vector k0 = splat(seed), k1 = splat(seed >> 32), number;

    memcpy(&number, lane, sizeof(number));
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; v++) {
        c0[v] = number + (block + v * LANES);
        c1[v] = c0[v] >> 32;
        c2[v] = splat(stream);
        c3[v] = splat(stream >> 32);
    }
#pragma GCC unroll 8
    for (int round = 0; round < MTLM_PHILOX_DROPOUT_ROUNDS; round++) {
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++) {
            const vector p0 = multiply(c0[v], 0xD2511F53u);
            const vector p1 = multiply(c2[v], 0xCD9E8D57u);

            c0[v] = (p1 >> 32) ^ c1[v] ^ k0;
            c2[v] = (p0 >> 32) ^ c3[v] ^ k1;
            c1[v] = p1;
            c3[v] = p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; v++) {
        const vector low = (c0[v] & 0xffffffffu) | c1[v] << 32;
        const vector high = (c2[v] & 0xffffffffu) | c3[v] << 32;

        for (int i = 0; i < LANES; i++) {
            out->pair[2 * (v * LANES + i)] = low[i];
            out->pair[2 * (v * LANES + i) + 1] = high[i];
        }
    }
}

static inline void factors_of(const uint16_t *numbers, int64_t n,
                              uint32_t threshold, mtlm_real keep,
                              mtlm_real *factors)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        factors[i] = numbers[i] < threshold ? 0 : keep;
}

void mtlm_dropout_factors(const struct mtlm_dropout *dropout, int64_t sample,
                          int64_t first, int64_t n, mtlm_real *factors)
{
    const uint64_t stream =
        mtlm_philox_dropout_stream(sample, dropout->layer, dropout->site);
    const uint32_t threshold = mtlm_philox_dropout_threshold(dropout->p);
    const mtlm_real keep =
        threshold < 65536 ? 65536.0 / (65536 - threshold) : 0;
    uint64_t block = first / 8;

    if (dropout->p <= 0) {
        for (int64_t i = 0; i < n; i++)
            factors[i] = 1;
        return;
    }
    for (int64_t skip = first % 8; n > 0; skip = 0, block += BLOCKS) {
        union numbers numbers;
        const int64_t take = mtlm_least(n, HALVES - skip);

        philox_blocks(dropout->seed, stream, block, &numbers);
        if (take == HALVES) /* constant length: the compiler unrolls the loop */
            factors_of(numbers.half, HALVES, threshold, keep, factors);
        else
            factors_of(numbers.half + skip, take, threshold, keep, factors);
        factors += take, n -= take;
    }
}
