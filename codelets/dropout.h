#ifndef MTLM_DROPOUT_H
#define MTLM_DROPOUT_H

/* Dropout factors on the CPU. */

#include "codelets/op.h"

/* Factors that are drawn at a time.  Kernels go through rows in parts of so
 * many elements: a part of every operand fits the nearest cache. */
enum { MTLM_DROPOUT_PART = 256 };

/* Writes factors [n]: the dropout factors of elements first .. first + n - 1 of
 * a sample.  The factor of a dropped element is 0, of any other element 1 / (1
 * - p).  p is first rounded to a multiple of 2^-16
 * (mtlm_philox_dropout_threshold()).  Without dropout, all are 1. */
void mtlm_dropout_factors(const struct mtlm_dropout *dropout, int64_t sample,
                          int64_t first, int64_t n, mtlm_real *factors);

#endif /* MTLM_DROPOUT_H */
