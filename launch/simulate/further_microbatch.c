/* How many microbatches show the pace of an iteration of many. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/ring.h"
#include "launch/simulate/further_microbatch.h"
#include "runtime/base/round_up.h"

/* Returns the most, or the least, microbatches that a stage keeps until W. */
static int64_t kept(const struct mtlm_program_config *config, bool most)
{
    struct mtlm_window *window = mtlm_ring_windows(config);
    int64_t found = window[0].w + window[0].q;

    for (int k = 1; k < mtlm_layout_stages(&config->layout); k++) {
        const int64_t n = window[k].w + window[k].q;

        if (most ? n > found : n < found)
            found = n;
    }
    free(window);
    return found;
}

bool mtlm_further_microbatch_phased(const struct mtlm_program_config *config,
                                    const struct mtlm_published *published)
{
    const struct mtlm_published_size size = {.p = config->layout.pp,
                                             .v = config->layout.virtual_stages,
                                             .m = config->microbatches};

    return (published ? published->memory(&size) : kept(config, false))
           >= size.m;
}

struct mtlm_further_microbatch mtlm_further_microbatch_take(
    const struct mtlm_program_config *config,
    const struct mtlm_published *published)
{
    enum { LEAST = 64, STEP = 32 };
    const int64_t p = config->layout.pp;
    const bool phased = mtlm_further_microbatch_phased(config, published);
    int64_t less = LEAST > 2 * p ? LEAST : 2 * p;

    if (!phased && !published && kept(config, true) > less)
        less = kept(config, true);
    less = mtlm_round_up(less, p);
    return (struct mtlm_further_microbatch){less,
                                            less + mtlm_round_up(STEP, p)};
}
