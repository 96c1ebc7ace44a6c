#ifndef MTLM_HASH_H
#define MTLM_HASH_H

#include <stdint.h>

#include <xxhash.h>

/* XXH3-64 of what comes piece by piece: a state to XXH3_64bits_update(), which
 * the caller owns until mtlm_hash_end().  Without memory the program ends. */
XXH3_state_t *mtlm_hash_begin(void);

/* Of all that came; frees the state. */
uint64_t mtlm_hash_end(XXH3_state_t *state);

#endif /* MTLM_HASH_H */
