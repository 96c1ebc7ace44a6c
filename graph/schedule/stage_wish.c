/* Virtual stages per rank, from what is asked for and the pipeline size. */

#include "config.h"

#include <limits.h>
#include <stdbool.h>

#include "graph/schedule/stage_wish.h"

static int64_t wished_chunks(const struct mtlm_stage_wish *wish,
                             int64_t num_layers, int pp)
{
    if (wish->layers)
        return wish->n % pp == 0 ? wish->n / pp : 0;
    if (wish->layers_per_stage > 0) {
        const int64_t stages =
            (num_layers - 1) / wish->layers_per_stage + 1; /* at least */

        return (stages - 1) / pp + 1;
    }
    return wish->virtual_stages > 0 ? wish->virtual_stages : 1;
}

int mtlm_stage_wish_chunks(const struct mtlm_stage_wish *wish,
                           int64_t num_layers, int pp)
{
    const int64_t v = wished_chunks(wish, num_layers, pp);

    if (wish->pipeline > 0) {
        const bool listed = !wish->layers || wish->n == wish->pipeline;

        return pp == 1 && (wish->layers || wish->pipeline <= num_layers)
                       && listed
                   ? wish->pipeline
                   : 0;
    }
    if (wish->layers && wish->virtual_stages > 0 && v != wish->virtual_stages)
        return 0;
    return (wish->layers || v * pp <= num_layers) && v <= INT_MAX ? v : 0;
}

int64_t mtlm_stage_wish_most_ranks(const struct mtlm_stage_wish *wish,
                                   int64_t num_layers)
{
    return wish->layers ? wish->n : num_layers;
}
