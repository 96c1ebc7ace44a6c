#ifndef MTLM_GREATEST_H
#define MTLM_GREATEST_H

/* The greatest logit of a row on a CPU. */

#include <math.h>
#include <stdint.h>

#include "runtime/base/dtype.h"

/* Returns the index of the greatest of n logits, of equal ones the first; -1 if
 * one is a NaN. */
static inline int64_t mtlm_greatest(const mtlm_real *logits, int64_t n)
{
    int64_t best = 0;

    for (int64_t i = 0; i < n; i++) {
        if (isnan(logits[i]))
            return -1;
        if (logits[i] > logits[best])
            best = i;
    }
    return best;
}

#endif /* MTLM_GREATEST_H */
