#ifndef MTLM_DROPOUT_CUH
#define MTLM_DROPOUT_CUH

/* Dropout in CUDA kernels: the masks of dropout.h, bit for bit. */

#include "codelets/op.h"
#include "runtime/base/philox.h"

/* Parameters of a dropout mask. */
struct mtlm_mask {
    uint64_t seed;
    int64_t sample; /* the microbatch's first sample */
    int64_t first_row;
    uint32_t threshold; /* 0: no dropout */
    float keep;
    int layer, site;
};

/* Neighbouring elements of a thread in dropout kernels: one block of random
 * numbers. */
constexpr int MTLM_MASK_WIDTH = 8;

static inline struct mtlm_mask mtlm_mask_of(const struct mtlm_dropout *dropout,
                                            int64_t sample)
{
    const uint32_t threshold = mtlm_philox_dropout_threshold(dropout->p);
    const float keep =
        threshold < 65536 ? (float) (65536.0 / (65536 - threshold)) : 0;

    return {dropout->seed, sample,         dropout->first_row, threshold,
            keep,          dropout->layer, dropout->site};
}

/* Computes the factors of elements e .. e + V - 1 of a sample, numbered from
 * the microbatch's first.  e is a multiple of V, which is 8 or 1. */
template <int V>
static inline __device__ void mtlm_mask_factors(const struct mtlm_mask &mask,
                                                int64_t sample, int64_t e,
                                                float (&factor)[V])
{
    uint32_t word[4];

    static_assert(V == 1 || V == MTLM_MASK_WIDTH, "one or all of a block");
    mtlm_philox_dropout(
        mask.seed,
        mtlm_philox_dropout_stream(mask.sample + sample, mask.layer, mask.site),
        e / 8, word);
    if (V == 1) {
        const uint32_t low = e % 4 < 2 ? word[0] : word[1];
        const uint32_t high = e % 4 < 2 ? word[2] : word[3];

        word[0] = (e % 8 < 4 ? low : high) >> (e % 2 * 16);
    }
#ifdef __CUDACC__
#pragma unroll
#endif
    for (int i = 0; i < V; i++) {
        const uint32_t number = word[i / 2] >> (i % 2 * 16) & 0xffff;

        factor[i] = number < mask.threshold ? 0 : mask.keep;
    }
}

/* Computes the factors of columns c .. c + V - 1 of row r of an operand [s, b,
 * h]. */
template <int V>
static inline __device__ void mtlm_mask_row_factors(
    const struct mtlm_mask &mask, int64_t r, unsigned b, int64_t h, int64_t c,
    float (&factor)[V])
{
    const unsigned row = (unsigned) r;

    if (mask.threshold > 0)
        mtlm_mask_factors(mask, row % b, (mask.first_row + row / b) * h + c,
                          factor);
    else
        for (int i = 0; i < V; i++)
            factor[i] = 1;
}

#endif /* MTLM_DROPOUT_CUH */
