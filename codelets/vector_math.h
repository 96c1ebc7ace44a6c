#ifndef MTLM_VECTOR_MATH_H
#define MTLM_VECTOR_MATH_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "runtime/dtype.h"

/* Functions of one number that a compiler can vectorise inside a loop, which
 * it cannot do with the C library's.  In double precision they are the C
 * library's: there accuracy counts, not speed. */

#if MTLM_DOUBLE

/* The maximum over nothing: finite, for it meets others. */
#define MTLM_LOWEST (-DBL_MAX)

static inline double mtlm_exp(double x)
{
    return exp(x);
}

static inline double mtlm_exp2(double x)
{
    return exp2(x);
}

static inline double mtlm_sqrt(double x)
{
    return sqrt(x);
}

static inline double mtlm_normal_cdf(double x, double e)
{
    (void) e;
    return 0.5 * erfc(-0x1.6a09e667f3bcdp-1 * x);
}

#else

#define MTLM_LOWEST (-FLT_MAX)

/* e^x within 2 units in the last place: e^x = 2^n e^r with |r| <= ln(2) / 2,
 * e^r by a polynomial (relative error 1e-8).  0 below -87.3, where floats
 * become subnormal; stays finite above 88.3; NaN stays NaN. */
static inline float mtlm_exp(float x)
{
    const float low = -87.33f, high = 88.37f;
    /* Adding it rounds to an integer, held in the lowest bits. */
    const float shifter = 0x1.8p23f;
    const float clamped = x > high ? high : x < low ? low : x;
    const float shifted = clamped * 0x1.715476p+0f + shifter;
    const float n = shifted - shifter;
    /* ln 2 in two parts, the first short enough for an exact product. */
    const float r = clamped - n * 0x1.62e4p-1f - n * 0x1.7f7d1cp-20f;
    const float q =
        0x1.0000000p-1f
        + r
              * (0x1.5554dcp-3f
                 + r
                       * (0x1.555519p-5f
                          + r * (0x1.120b6ep-7f + r * 0x1.6d1109p-10f)));
    const float e_r = 1 + (r + r * r * q);
    uint32_t bits;
    float two_n;

    memcpy(&bits, &shifted, sizeof(bits));
    bits = (bits + 127) << 23;
    memcpy(&two_n, &bits, sizeof(two_n));
    return x < low ? 0 : e_r * two_n;
}

/* 2^x within 2 units in the last place, for x up to 127: 0 below -126; NaN
 * stays NaN.  Cheaper than mtlm_exp(): the polynomial, 2^f for |f| <= 1/2, is
 * right to 8e-8 only and nothing is done about great x. */
static inline float mtlm_exp2(float x)
{
    const float shifter = 0x1.8p23f; /* as above */
    const float shifted = x + shifter;
    const float f = x - (shifted - shifter);
    float power = 0x1.5c08e6p-10f, two_n;
    uint32_t bits;

    power = power * f + 0x1.3d0c52p-7f;
    power = power * f + 0x1.c6b6e4p-5f;
    power = power * f + 0x1.ebf918p-3f;
    power = power * f + 0x1.62e428p-1f;
    power = power * f + 0x1.000002p+0f;
    memcpy(&bits, &shifted, sizeof(bits));
    bits = (bits + 127) << 23;
    memcpy(&two_n, &bits, sizeof(two_n));
    return x < -126 ? 0 : power * two_n;
}

static inline float mtlm_sqrt(float x)
{
    return sqrtf(x);
}

/* The standard normal distribution function (1 + erf(x / sqrt(2))) / 2, given
 * e = e^(-x^2 / 2), within 2 units in the last place of 1: at -|x| it is e
 * times a polynomial in t = 1 / (1 + 0.37 |x| / sqrt(2)), by Remez' algorithm,
 * of relative error 2e-8, and the rest to 1 at |x|. */
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
