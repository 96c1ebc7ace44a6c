#ifndef MTLM_LEAST_H
#define MTLM_LEAST_H

#include <stdint.h>

/* Returns the smaller number. */
static inline int64_t mtlm_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif /* MTLM_LEAST_H */
