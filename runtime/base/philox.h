#ifndef MTLM_PHILOX_H
#define MTLM_PHILOX_H

#include <stdint.h>

#include "runtime/base/host_device.h"

/* Counter-based random numbers: Philox4x32-10, for dropout Philox4x32-7.  The
 * number of an element is a pure function of (seed, stream, element).  So
 * dropout masks and initial weights are equal under every layout, schedule and
 * policy, and recomputation needs no stored state.  Source: Salmon, Moraes,
 * Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11.  By table 2
 * there, seven rounds pass all tests of BigCrush, too; ten have a margin of
 * safety. */

/* Return streams.  A dropout mask has the stream of (sample, layer, site);
 * samples are numbered over the whole run, so the number implies the iteration.
 * Initial weights have the stream of their parameter's number.  Generated
 * tokens have the stream of their sequence. */
static inline MTLM_HOST_DEVICE uint64_t
mtlm_philox_dropout_stream(int64_t sample, int layer, int site)
{
    return (uint64_t) sample << 20 | (uint64_t) (layer & 0xffff) << 4
           | (uint64_t) (site & 0x7) << 1;
}

static inline MTLM_HOST_DEVICE uint64_t
mtlm_philox_token_stream(int64_t sequence)
{
    return (uint64_t) sequence << 20 | 0x7 << 1;
}

static inline MTLM_HOST_DEVICE uint64_t mtlm_philox_param_stream(int64_t number)
{
    return (uint64_t) number << 1 | 1;
}

/* Writes the four 32-bit numbers of a block after so many rounds. */
static inline MTLM_HOST_DEVICE void mtlm_philox_rounds(
    int rounds, uint64_t seed, uint64_t stream, uint64_t block, uint32_t out[4])
{
    uint32_t c0 = (uint32_t) block, c1 = (uint32_t) (block >> 32);
    uint32_t c2 = (uint32_t) stream, c3 = (uint32_t) (stream >> 32);
    uint32_t k0 = (uint32_t) seed, k1 = (uint32_t) (seed >> 32);

    for (int round = 0; round < rounds; round++) {
        const uint64_t p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;

        c0 = (uint32_t) (p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t) (p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t) p1;
        c3 = (uint32_t) p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* Writes the numbers of elements 4 * block .. 4 * block + 3. */
static inline MTLM_HOST_DEVICE void mtlm_philox(uint64_t seed, uint64_t stream,
                                                uint64_t block, uint32_t out[4])
{
    mtlm_philox_rounds(10, seed, stream, block, out);
}

enum { MTLM_PHILOX_DROPOUT_ROUNDS = 7 };

/* Writes the numbers of dropout, see mtlm_philox_dropout_threshold(). */
static inline MTLM_HOST_DEVICE void mtlm_philox_dropout(uint64_t seed,
                                                        uint64_t stream,
                                                        uint64_t block,
                                                        uint32_t out[4])
{
    mtlm_philox_rounds(MTLM_PHILOX_DROPOUT_ROUNDS, seed, stream, block, out);
}

/* Returns the threshold of dropout with probability p: an element whose number
 * is below is dropped.  Dropout draws 16 bits per element, two elements from a
 * word: number e is the low (e even) or high half of word e % 8 / 2 of block e
 * / 8. So p is rounded to a multiple of 2^-16. */
static inline MTLM_HOST_DEVICE uint32_t mtlm_philox_dropout_threshold(double p)
{
    return p <= 0 ? 0 : p >= 1 ? 65536 : (uint32_t) (p * 65536 + 0.5);
}

#endif /* MTLM_PHILOX_H */
