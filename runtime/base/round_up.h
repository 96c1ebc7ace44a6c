#ifndef MTLM_ROUND_UP_H
#define MTLM_ROUND_UP_H

#include <stdint.h>

/* Returns the least multiple of `multiple` that is no less than n, for n >= 0.
 */
static inline int64_t mtlm_round_up(int64_t n, int64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

#endif /* MTLM_ROUND_UP_H */
