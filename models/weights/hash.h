#ifndef MTLM_HASH_H
#define MTLM_HASH_H

#include <stdint.h>

#include <xxhash.h>

/* XXH3-64 of data that comes piece by piece. */

/* Returns a state for XXH3_64bits_update(); the caller passes it to
 * mtlm_hash_end().  Running out of memory ends the job. */
XXH3_state_t *mtlm_hash_begin(void);

/* Returns the hash of all data; frees the state. */
uint64_t mtlm_hash_end(XXH3_state_t *state);

#endif /* MTLM_HASH_H */
