/* Reads the pace of microbatches from a simulation. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/ring.h"
#include "launch/simulate/further_microbatch.h"

/* When the rank of a program works on a microbatch. */
struct extent {
    int64_t begin_ns, end_ns;
};

static struct extent find_extent(const struct mtlm_execution *run, int program,
                                 int64_t microbatch)
{
    struct extent found = {INT64_MAX, INT64_MIN};

    for (int i = 0; i < run->n; i++) {
        const struct mtlm_executed *x = &run->node[i];

        if (x->program != program || x->microbatch != microbatch)
            continue;
        found.begin_ns =
            x->start_ns < found.begin_ns ? x->start_ns : found.begin_ns;
        found.end_ns = x->end_ns > found.end_ns ? x->end_ns : found.end_ns;
    }
    return found;
}

bool mtlm_further_microbatch_phased(const struct mtlm_program_config *config,
                                    const struct mtlm_published *published)
{
    const struct mtlm_published_size size = {.p = config->layout.pp,
                                             .v = config->layout.virtual_stages,
                                             .m = config->microbatches};
    struct mtlm_window *window;
    bool phased;

    if (published)
        return published->memory(&size) >= size.m;
    window = mtlm_ring_windows(config);
    phased = true;
    for (int k = 0; k < mtlm_layout_stages(&config->layout); k++)
        phased = phased && window[k].w >= size.m;
    free(window);
    return phased;
}

double mtlm_further_microbatch_seconds(const struct mtlm_execution *run,
                                       const struct mtlm_layout *layout,
                                       int64_t microbatches, bool phased)
{
    const int64_t first = microbatches / 3, last = 2 * microbatches / 3;
    const int64_t forward = find_extent(run, layout->pp - 1, last).begin_ns
                            - find_extent(run, layout->pp - 1, first).begin_ns;
    const double step = 1e-9 / (last - first);

    if (!phased)
        return step * forward;
    return step * layout->virtual_stages
           * (forward + find_extent(run, 0, last).end_ns
              - find_extent(run, 0, first).end_ns);
}
