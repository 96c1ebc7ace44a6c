/* Places the stages of each kind. */

#include "config.h"

#include "graph/build/ring.h"
#include "graph/predict/stage_kind.h"

const struct mtlm_stage_kind mtlm_stage_kinds[MTLM_STAGE_KINDS] = {
    {1, MTLM_PLACEMENT_LOOP}, {2, MTLM_PLACEMENT_V}, {2, MTLM_PLACEMENT_LOOP}};

bool mtlm_stage_kind_place(const struct mtlm_program_config *config,
                           const struct mtlm_stage_kind *kind,
                           struct mtlm_program_config *one)
{
    *one = *config;
    one->layout.virtual_stages = kind->chunks;
    one->layout.placement = kind->placement;
    if (config->times && !mtlm_ring_times(one))
        return false;
    return kind->chunks == 1
           || (config->layout.pp > 1
               && mtlm_layout_stages(&one->layout) <= config->model.num_layers);
}

void mtlm_stage_kind_deeper(const struct mtlm_program_config *config,
                            void (*try)(void *arg,
                                        const struct mtlm_program_config *one),
                            void *arg)
{
    const int64_t layers = config->model.num_layers;
    struct mtlm_stage_kind kind = {3, MTLM_PLACEMENT_LOOP};
    struct mtlm_program_config one;

    for (; mtlm_stage_kind_place(config, &kind, &one); kind.chunks++)
        if (layers % mtlm_layout_stages(&one.layout) == 0)
            try(arg, &one);
}
