#ifndef MTLM_DROPOUT_H
#define MTLM_DROPOUT_H

#include "codelets/op.h"

/* Random words of elements first .. first + n - 1 of a stream: word e % 4 of
 * mtlm_philox(seed, stream, e / 4), whatever first is. */
void mtlm_random_words(uint64_t seed, uint64_t stream, int64_t first, int64_t n,
                       uint32_t *words);

/* What dropout multiplies elements first .. first + n - 1 of a sample with: 0
 * where dropped, else 1 / (1 - p). */
void mtlm_dropout_factors(const struct mtlm_dropout *dropout, int64_t sample,
                          int64_t first, int64_t n, mtlm_real *factors);

#endif /* MTLM_DROPOUT_H */
