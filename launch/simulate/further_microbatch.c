/* How many microbatches show the pace of an iteration of many. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/ring.h"
#include "launch/simulate/further_microbatch.h"
#include "runtime/base/round_up.h"

enum { FIRST = 64, FURTHER = 32 };

struct mtlm_further_microbatch mtlm_further_microbatch_of(int p)
{
    const int64_t fill = 2 * p;
    const int64_t less = mtlm_round_up(fill > FIRST ? fill : FIRST, p);

    return (struct mtlm_further_microbatch){less,
                                            less + mtlm_round_up(FURTHER, p)};
}

bool mtlm_further_microbatch_shows(const struct mtlm_program_config *config)
{
    const int64_t less = mtlm_further_microbatch_of(config->layout.pp).less;
    struct mtlm_window *window = mtlm_ring_windows(config);
    bool fills = true, keeps_all = true;

    for (int k = 0; k < mtlm_layout_stages(&config->layout); k++) {
        const int64_t kept = window[k].w + window[k].q;

        fills = fills && kept <= less;
        keeps_all = keeps_all && kept >= config->microbatches;
    }
    free(window);
    return fills || keeps_all;
}
