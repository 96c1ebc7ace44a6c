#ifndef MTLM_COMPARE_H
#define MTLM_COMPARE_H

#include <stdint.h>
#include <string.h>

/* Compares numbers: below, equal to or above 0 as a is less than, equal to or
 * greater than b. */
static inline int mtlm_compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* As mtlm_compare(), of real numbers. */
static inline int mtlm_compare_real(double a, double b)
{
    return (a > b) - (a < b);
}

/* Compares two int64_t for qsort(): the least comes first. */
static inline int mtlm_compare_int64(const void *a, const void *b)
{
    return mtlm_compare(*(const int64_t *) a, *(const int64_t *) b);
}

/* Compares two doubles for qsort(): the least comes first. */
static inline int mtlm_compare_double(const void *a, const void *b)
{
    return mtlm_compare_real(*(const double *) a, *(const double *) b);
}

/* Compares two char * for qsort(), in the order of strcmp(). */
static inline int mtlm_compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

#endif /* MTLM_COMPARE_H */
