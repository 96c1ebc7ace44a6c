#ifndef MTLM_GELU_H
#define MTLM_GELU_H

/* GELU and its derivative on the CPU.  Compilers can vectorise loops over these
 * functions.  The GPU uses gelu.cuh. */

#include "codelets/vector_math.h"

/* Exact form (attr.gelu.exact), as torch.nn.functional.gelu:
 *
 *   gelu(v) = v P(v),  P(v) = (1 + erf(v / sqrt(2))) / 2
 *
 * Megatron-LM uses the exact form in the MLP without --bias-gelu-fusion, and in
 * BERT's head without --openai-gelu.
 *
 * Tanh form, as Megatron-LM's fused kernel and cuBLASLt:
 *
 *   gelu(v) = v / 2 (1 + tanh(u)) = v / (1 + e^(-2u))
 *   u = sqrt(2 / pi) (v + 0.044715 v^3) */
#define MTLM_GELU_SCALE 0.79788456080286535588
#define MTLM_GELU_CUBIC 0.044715

/* 1 / sqrt(2), and the normal density at 0. */
#define MTLM_SQRT_HALF 0.70710678118654752440
#define MTLM_NORMAL_0 0.39894228040143267794

/* Returns e^(-2u), u as above.  Caps the exponent of 2 at 126: beyond, GELU
 * does not change. */
static inline mtlm_real mtlm_gelu_tail(mtlm_real v)
{
    const mtlm_real scale = -2 * MTLM_GELU_SCALE * MTLM_LOG2_E;
    const mtlm_real cubic = MTLM_GELU_CUBIC * scale, most = 126;
    const mtlm_real x = v * (scale + cubic * v * v);

    return mtlm_exp2(x > most ? most : x);
}

/* Returns e^(-v^2 / 2). */
static inline mtlm_real mtlm_gelu_bell(mtlm_real v)
{
    return mtlm_exp2(v * v * ((mtlm_real) -0.5 * MTLM_LOG2_E));
}

/* Returns gelu(v) in the tanh form. */
static inline mtlm_real mtlm_gelu(mtlm_real v)
{
    return v / (1 + mtlm_gelu_tail(v));
}

/* Returns gelu(v) in the exact form. */
static inline mtlm_real mtlm_gelu_exact(mtlm_real v)
{
    return v * mtlm_normal_cdf(v, mtlm_gelu_bell(v));
}

/* Returns the derivative of the tanh form:
 *
 *   g + v g (1 - g) 2u',  g = 1 / (1 + e^(-2u))
 *
 * Caps v at +-64 in v 2u'.  Beyond, g (1 - g) is 0, or 2^-126 for want of a
 * smaller number, and must not meet a huge factor. */
static inline mtlm_real mtlm_gelu_slope(mtlm_real v)
{
    const mtlm_real scale = 2 * MTLM_GELU_SCALE, cubic = MTLM_GELU_CUBIC;
    const mtlm_real most = 64, least = -most;
    const mtlm_real g = 1 / (1 + mtlm_gelu_tail(v));
    const mtlm_real above = v < least ? least : v;
    const mtlm_real x = above > most ? most : above;
    const mtlm_real slope = x * (scale + 3 * cubic * scale * x * x);

    return g + g * (1 - g) * slope;
}

/* Returns the derivative of the exact form, P(v) + v P'(v).  P' is the standard
 * normal density. */
static inline mtlm_real mtlm_gelu_exact_slope(mtlm_real v)
{
    const mtlm_real e = mtlm_gelu_bell(v);

    return mtlm_normal_cdf(v, e) + v * e * (mtlm_real) MTLM_NORMAL_0;
}

#endif /* MTLM_GELU_H */
