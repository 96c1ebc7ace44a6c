#ifndef MTLM_DROPOUT_H
#define MTLM_DROPOUT_H

#include "codelets/op.h"

/* What dropout multiplies elements first .. first + n - 1 of a sample with: 0
 * where dropped, else 1 / (1 - p), with p as mtlm_dropout_threshold() has
 * it. */
void mtlm_dropout_factors(const struct mtlm_dropout *dropout, int64_t sample,
                          int64_t first, int64_t n, mtlm_real *factors);

#endif /* MTLM_DROPOUT_H */
