#ifndef MTLM_ORDER_H
#define MTLM_ORDER_H

#include <stdint.h>

/* Compares numbers for qsort(): below, equal to or above 0 as a is less than,
 * equal to or greater than b. */
static inline int mtlm_order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

#endif /* MTLM_ORDER_H */
