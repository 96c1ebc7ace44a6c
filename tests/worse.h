/* Errors that a test collects. */
#ifndef MTLM_TESTS_WORSE_H
#define MTLM_TESTS_WORSE_H

#include <math.h>

/* Returns the greater of two errors, and NaN if one is NaN: fmax() would lose
 * it. */
static inline double worse(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

#endif /* MTLM_TESTS_WORSE_H */
