#ifndef MTLM_DRAW_H
#define MTLM_DRAW_H

#include <stdbool.h>

#include "runtime/base/philox.h"

/* The sequence of random numbers of (seed, stream) (runtime/base/philox.h). */
struct mtlm_draw {
    uint64_t seed, stream, block;
    uint32_t word[4];
    int left; /* unused entries of word, taken from its end */
};

/* Returns a sequence at its beginning. */
static inline struct mtlm_draw mtlm_draw_start(uint64_t seed, uint64_t stream)
{
    return (struct mtlm_draw){.seed = seed, .stream = stream};
}

/* Draws 32 bits. */
static inline uint32_t mtlm_draw_word(struct mtlm_draw *draw)
{
    if (draw->left == 0) {
        mtlm_philox(draw->seed, draw->stream, draw->block++, draw->word);
        draw->left = 4;
    }
    return draw->word[--draw->left];
}

/* Draws one of 0 .. n - 1; 1 <= n < 2^31. */
static inline int64_t mtlm_draw_below(struct mtlm_draw *draw, int64_t n)
{
    return (int64_t) ((uint64_t) mtlm_draw_word(draw) * (uint64_t) n >> 32);
}

/* Returns true with probability p. */
static inline bool mtlm_draw_chance(struct mtlm_draw *draw, double p)
{
    return mtlm_draw_word(draw) < p * 4294967296.0;
}

#endif /* MTLM_DRAW_H */
