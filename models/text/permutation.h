#ifndef MTLM_PERMUTATION_H
#define MTLM_PERMUTATION_H

#include <stdint.h>

/* Returns the image of i in the random permutation of 0 .. n - 1 for (seed,
 * stream); 0 <= i < n.  Stores nothing; takes about 0.1 us. */
int64_t mtlm_permutation_apply(uint64_t seed, uint64_t stream, int64_t n,
                               int64_t i);

#endif /* MTLM_PERMUTATION_H */
