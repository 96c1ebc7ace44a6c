#include "config.h"

#include "launch/options/options_stages_wish.h"

struct mtlm_stage_wish mtlm_options_stages_wish(
    const struct mtlm_options *options)
{
    const bool alone = !options->layers_per_stage && !options->stage_layers;
    struct mtlm_stage_wish wish = {.virtual_stages = options->virtual_stages,
                                   .layers_per_stage =
                                       options->layers_per_stage,
                                   .layers = options->layers_of_stage,
                                   .n = options->n_layers_of_stage};

    /* Placement v needs a second pass through the ranks. */
    if (!wish.virtual_stages && alone && options->placement == MTLM_PLACEMENT_V)
        wish.virtual_stages = 2;
    if (options->placement == MTLM_PLACEMENT_POLICY)
        wish.pipeline = options->pipeline_parallel;
    return wish;
}
