#ifndef MTLM_GELU_CUH
#define MTLM_GELU_CUH

/* GELU and its derivative on a GPU, exact or in the tanh form (gelu.h). */

#include "codelets/gelu.h"

/* Returns gelu(v) / v: the normal distribution function, or 1 / (1 +
 * e^(-2u)). */
template <bool exact> static inline __device__ float mtlm_gelu_gate(float v)
{
    if (exact)
        return 0.5f * erfcf(-(float) MTLM_SQRT_HALF * v);
    return 1
           / (1
              + expf(-(float) (2 * MTLM_GELU_SCALE)
                     * (v + (float) MTLM_GELU_CUBIC * v * v * v)));
}

/* Returns gelu(v). */
template <bool exact> static inline __device__ float mtlm_gelu_of(float v)
{
    return v * mtlm_gelu_gate<exact>(v);
}

/* Returns gelu'(v). */
template <bool exact> static inline __device__ float mtlm_gelu_slope_of(float v)
{
    const float g = mtlm_gelu_gate<exact>(v);

    if (exact)
        return g + v * ((float) MTLM_NORMAL_0 * expf(-0.5f * v * v));
    return g
           + v
                 * (g * (1 - g) * (float) (2 * MTLM_GELU_SCALE)
                    * (1 + (float) (3 * MTLM_GELU_CUBIC) * v * v));
}

#endif /* MTLM_GELU_CUH */
