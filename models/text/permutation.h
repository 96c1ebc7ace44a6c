#ifndef MTLM_PERMUTATION_H
#define MTLM_PERMUTATION_H

#include <stdint.h>

/* Where i goes in the permutation of 0 .. n - 1 that (seed, stream) choose:
 * for all i together each value once.  0 <= i < n.  A pure function that
 * stores nothing, about 0.1 us. */
int64_t mtlm_permutation_apply(uint64_t seed, uint64_t stream, int64_t n,
                               int64_t i);

#endif /* MTLM_PERMUTATION_H */
