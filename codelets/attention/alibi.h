#ifndef MTLM_ALIBI_H
#define MTLM_ALIBI_H

/* ALiBi (arXiv 2108.12409): a head adds slope (k - q) to the score of the query
 * at position q and the key at position k. */

#include <math.h>

#include "runtime/base/host_device.h"

/* Returns the slope of a head, numbered in its layer of `heads` heads; 0 heads:
 * 0.  With n, the greatest power of 2 up to heads: the first n slopes are
 * 2^(-8 / n), 2^(-16 / n), ...; the others are 2^(-4 / n), 2^(-12 / n), ...,
 * every second slope of 2n heads (build_alibi_tensor() of transformers). */
static inline MTLM_HOST_DEVICE double mtlm_alibi_slope(int head, int heads)
{
    int n = 1;

    if (heads == 0)
        return 0;
    while (2 * n <= heads)
        n *= 2;
    return head < n ? exp2(-8.0 * (head + 1) / n)
                    : exp2(-4.0 * (2 * (head - n) + 1) / n);
}

#endif /* MTLM_ALIBI_H */
