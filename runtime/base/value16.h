#ifndef MTLM_VALUE16_H
#define MTLM_VALUE16_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The 16-bit element types on the host: MTLM_BF16 and MTLM_F16.
 *
 * Every 16-bit number is a float.  Of a float the nearest 16-bit number is
 * taken, of two equally near ones that whose last bit is 0; what is nearer to
 * twice the greatest power of two than to the greatest number becomes infinite;
 * a NaN stays a NaN, made quiet, with its sign and leading bits. */

/* to[i] = from[i], n of them; type is that of the 16-bit side.  The two do not
 * overlap. */
void mtlm_value16_widen(enum mtlm_dtype type, const uint16_t *from, int64_t n,
                        float *to);
void mtlm_value16_round(enum mtlm_dtype type, const float *from, int64_t n,
                        uint16_t *to);

/* Whether all of them are finite. */
bool mtlm_value16_finite(enum mtlm_dtype type, const uint16_t *values,
                         int64_t n);

/* to[i] += from[i], in float and rounded. */
void mtlm_value16_add(enum mtlm_dtype type, const uint16_t *from, int64_t n,
                      uint16_t *to);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_VALUE16_H */
