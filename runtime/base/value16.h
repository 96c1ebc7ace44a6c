#ifndef MTLM_VALUE16_H
#define MTLM_VALUE16_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 16-bit element types on the host: MTLM_BF16 and MTLM_F16.
 *
 * Every 16-bit number is exact in float.  Rounding takes the nearest 16-bit
 * number; of two equally near, the one whose last bit is 0.  Rounding overflows
 * to infinity from halfway between the largest number and the next power of two
 * on.  A NaN stays a NaN, made quiet, with its sign and leading bits. */

/* Converts from [n] of `type` to to [n] in float.  The arrays do not
 * overlap. */
void mtlm_value16_widen(enum mtlm_dtype type, const uint16_t *from, int64_t n,
                        float *to);

/* Rounds from [n] in float to to [n] of `type`.  The arrays do not overlap. */
void mtlm_value16_round(enum mtlm_dtype type, const float *from, int64_t n,
                        uint16_t *to);

/* Returns whether all values [n] are finite. */
bool mtlm_value16_finite(enum mtlm_dtype type, const uint16_t *values,
                         int64_t n);

/* Adds from [n] to to [n]: sums in float, rounded to `type`. */
void mtlm_value16_add(enum mtlm_dtype type, const uint16_t *from, int64_t n,
                      uint16_t *to);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_VALUE16_H */
