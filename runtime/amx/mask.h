#ifndef MTLM_AMX_MASK_H
#define MTLM_AMX_MASK_H

/* Masks of vectors; include with AVX-512 allowed. */

#include <immintrin.h>
#include <stdint.h>

/* Returns a mask of the first n of 16 numbers. */
static inline __attribute__((always_inline)) __mmask16 mtlm_mask_first(
    int64_t n)
{
    return n <= 0 ? 0 : n < 16 ? (1u << n) - 1 : ~0u;
}

#endif /* MTLM_AMX_MASK_H */
