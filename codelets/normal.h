#ifndef MTLM_NORMAL_H
#define MTLM_NORMAL_H

/* Normally distributed random numbers. */

#include <math.h>
#include <stdint.h>

#include "runtime/base/host_device.h"

/* Writes two independent numbers of N(0, 1), made from two random words by Box
 * and Muller's method. */
static inline MTLM_HOST_DEVICE void mtlm_normal_pair(const uint32_t word[2],
                                                     double out[2])
{
    const double two_pi = 6.283185307179586;
    const double radius = sqrt(-2 * log((word[0] + 1.0) / 4294967296.0));
    const double angle = two_pi / 4294967296.0 * word[1];

    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

#endif /* MTLM_NORMAL_H */
