/* XXH3-64 piece by piece. */

#include "config.h"

#include "models/weights/hash.h"
#include "runtime/base/error.h"

XXH3_state_t *mtlm_hash_begin(void)
{
    enum { ABOUT = 576 }; /* bytes of a state, which the library hides */
    XXH3_state_t *state = XXH3_createState();

    if (!state)
        mtlm_out_of_memory(ABOUT);
    XXH3_64bits_reset(state);
    return state;
}

uint64_t mtlm_hash_end(XXH3_state_t *state)
{
    const uint64_t hash = XXH3_64bits_digest(state);

    XXH3_freeState(state);
    return hash;
}
