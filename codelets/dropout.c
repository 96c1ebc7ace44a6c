/* Rows of Philox numbers: the same as runtime/philox.h one by one, but many
 * blocks side by side in a form that compilers vectorise. */

#include "config.h"

#include <string.h>

#include "codelets/dropout.h"
#include "runtime/philox.h"

enum { BLOCKS = 32, WORDS = 4 * BLOCKS };

/* One round on every block; lo, hi: the halves of the 64-bit products. */
static inline void philox_round(uint32_t c[4][BLOCKS], uint32_t k0, uint32_t k1)
{
#pragma omp simd
    for (int i = 0; i < BLOCKS; i++) {
        const uint64_t p0 = (uint64_t) c[0][i] * 0xD2511F53u;
        const uint64_t p1 = (uint64_t) c[2][i] * 0xCD9E8D57u;

        c[0][i] = (uint32_t) (p1 >> 32) ^ c[1][i] ^ k0;
        c[2][i] = (uint32_t) (p0 >> 32) ^ c[3][i] ^ k1;
        c[1][i] = (uint32_t) p1;
        c[3][i] = (uint32_t) p0;
    }
}

/* The WORDS words from block on. */
static void philox_blocks(uint64_t seed, uint64_t stream, uint64_t block,
                          uint32_t *words)
{
    uint32_t c[4][BLOCKS];
    uint32_t k0 = (uint32_t) seed, k1 = (uint32_t) (seed >> 32);

    for (int i = 0; i < BLOCKS; i++) {
        c[0][i] = (uint32_t) (block + i);
        c[1][i] = (uint32_t) ((block + i) >> 32);
        c[2][i] = (uint32_t) stream;
        c[3][i] = (uint32_t) (stream >> 32);
    }
    for (int round = 0; round < 10; round++) {
        philox_round(c, k0, k1);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < BLOCKS; i++)
        for (int w = 0; w < 4; w++)
            words[4 * i + w] = c[w][i];
}

void mtlm_random_words(uint64_t seed, uint64_t stream, int64_t first, int64_t n,
                       uint32_t *words)
{
    uint64_t block = first / 4;
    int64_t skip = first % 4;

    while (n > 0) {
        uint32_t part[WORDS];
        const int64_t take = n < WORDS - skip ? n : WORDS - skip;

        philox_blocks(seed, stream, block, part);
        memcpy(words, part + skip, take * sizeof(*words));
        words += take, n -= take;
        block += BLOCKS, skip = 0;
    }
}

void mtlm_dropout_factors(const struct mtlm_dropout *dropout, int64_t sample,
                          int64_t first, int64_t n, mtlm_real *factors)
{
    const uint64_t stream =
        mtlm_stream_dropout(sample, dropout->layer, dropout->site);
    const uint32_t threshold = mtlm_dropout_threshold(dropout->p);
    const mtlm_real keep = mtlm_dropout_keep_scale(dropout);

    for (int64_t i = 0; i < n; i += WORDS) {
        uint32_t words[WORDS];
        const int64_t m = n - i < WORDS ? n - i : WORDS;

        mtlm_random_words(dropout->seed, stream, first + i, m, words);
#pragma omp simd
        for (int64_t j = 0; j < m; j++)
            factors[i + j] = words[j] < threshold ? 0 : keep;
    }
}
