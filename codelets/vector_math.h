#ifndef MTLM_VECTOR_MATH_H
#define MTLM_VECTOR_MATH_H

/* Mathematical functions that compilers can vectorise inside a loop; calls of
 * the C library prevent vectorisation.  Double precision calls the C library,
 * because accuracy matters more than speed there. */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/dtype.h"
#include "runtime/base/host_device.h"

/* log2(e) and ln(2): e^x = 2^(x log2(e)). */
#define MTLM_LOG2_E ((mtlm_real) 1.4426950408889634074)
#define MTLM_LN_2 0.69314718055994530942

#if MTLM_DOUBLE

/* The maximum over no elements: finite, because kernels subtract maxima. */
#define MTLM_LOWEST (-DBL_MAX)

/* Returns 2^x. */
static inline double mtlm_exp2(double x)
{
    return exp2(x);
}

static inline double mtlm_sqrt(double x)
{
    return sqrt(x);
}

/* Returns the standard normal distribution function of x; ignores e. */
static inline double mtlm_normal_cdf(double x, double e)
{
    (void) e;
    return 0.5 * erfc(-0x1.6a09e667f3bcdp-1 * x);
}

#else

#define MTLM_LOWEST (-FLT_MAX)

/* Returns 2^x within one unit in the last place, for x up to 127.  Returns 0
 * for x below -126, where floats become subnormal.  NaN stays NaN.
 *
 * 2^x = 2^n 2^f with an integer n and |f| <= 1/2.  A polynomial gives 2^f with
 * a relative error of 2e-9. */
static inline float mtlm_exp2(float x)
{
    /* Adding the shifter rounds x to n, and leaves n + 127, the exponent of
     * 2^n, in the lowest bits of the sum. */
    const float shifter = 0x1.8p23f + 127;
    const float shifted = x + shifter;
    const float f = x - (shifted - shifter);
    float power = 0x1.41d334p-13f, two_n;
    uint32_t bits;

    power = power * f + 0x1.5f456ap-10f;
    power = power * f + 0x1.3b2dbcp-7f;
    power = power * f + 0x1.c6aed4p-5f;
    power = power * f + 0x1.ebfbdap-3f;
    power = power * f + 0x1.62e430p-1f;
    power = power * f + 1;
    memcpy(&bits, &shifted, sizeof(bits));
    bits <<= 23;
    memcpy(&two_n, &bits, sizeof(two_n));
    return x < -126 ? 0 : power * two_n; /* a product keeps every NaN */
}

static inline MTLM_HOST_DEVICE float mtlm_sqrt(float x)
{
    return sqrtf(x);
}

/* Returns the standard normal distribution function P(x), within 2 units in the
 * last place of 1.  The caller gives e = e^(-x^2 / 2).
 *
 *   P(x) = (1 + erf(x / sqrt(2))) / 2,  P(|x|) = 1 - P(-|x|)
 *
 * P(-|x|) is e times a polynomial in t = 1 / (1 + 0.37 |x| / sqrt(2)).  Remez'
 * algorithm gives the polynomial, with a relative error of 2e-8. */
static inline float mtlm_normal_cdf(float x, float e)
{
    const float t = 1 / (1 + 0x1.0be89cp-2f * fabsf(x));
    float q = 0x1.fcf58cp-6f;

    q = q * t - 0x1.37941ep-3f;
    q = q * t + 0x1.f4a868p-3f;
    q = q * t - 0x1.269d70p-3f;
    q = q * t + 0x1.3ff982p-3f;
    q = q * t + 0x1.b158d6p-5f;
    q = q * t + 0x1.a6cb48p-4f;
    q = q * t + 0x1.a8c2cap-4f;
    q = q * t + 0x1.aba766p-4f;
    q *= e * t;

    return x < 0 ? q : 1 - q;
}

#endif

#endif /* MTLM_VECTOR_MATH_H */
