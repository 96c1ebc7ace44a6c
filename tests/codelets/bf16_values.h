#ifndef MTLM_TESTS_BF16_VALUES_H
#define MTLM_TESTS_BF16_VALUES_H

#include <stdint.h>

/* Returns n values of N(0, 1) in bf16, the same for the same seed, and the same
 * numbers in *wide.  Both are the caller's to free. */
uint16_t *new_bf16(int64_t n, uint64_t seed, float **wide);

#endif /* MTLM_TESTS_BF16_VALUES_H */
