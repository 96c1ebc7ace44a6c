/* Limits of the search for orders, tested on each kind of stages. */

#include "config.h"

#include "graph/predict/search_limit.h"
#include "graph/predict/stage_kind.h"

/* Returns whether orders of that pipeline are searched if it is small. */
static bool has_orders(const struct mtlm_program_config *config)
{
    return config->layout.pp > 1 && config->layout.workers == 1
           && config->layout.placement != MTLM_PLACEMENT_POLICY;
}

static bool is_small(const struct mtlm_program_config *config)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);

    return mtlm_boxes_count(&boxes) <= MTLM_SEARCH_LIMIT_BOXES;
}

bool mtlm_search_limit_takes(const struct mtlm_program_config *config)
{
    return has_orders(config) && is_small(config);
}

static bool skips(const struct mtlm_program_config *config)
{
    return has_orders(config) && !is_small(config);
}

/* Returns whether any of the kinds has the property, and sets *one to config
 * with the stages of the first such kind. */
static bool find_kind(const struct mtlm_program_config *config, unsigned kinds,
                      bool (*has)(const struct mtlm_program_config *config),
                      struct mtlm_program_config *one)
{
    *one = *config;
    if (kinds == MTLM_KINDS_GIVEN)
        return has(one);
    for (int i = 0; i < MTLM_STAGE_KINDS; i++)
        if ((kinds >> i & 1)
            && mtlm_stage_kind_place(config, &mtlm_stage_kinds[i], one)
            && has(one))
            return true;
    return false;
}

bool mtlm_search_limit_takes_any(const struct mtlm_program_config *config,
                                 unsigned kinds)
{
    struct mtlm_program_config one;

    return find_kind(config, kinds, mtlm_search_limit_takes, &one);
}

bool mtlm_search_limit_skips(const struct mtlm_program_config *config,
                             unsigned kinds, struct mtlm_program_config *one)
{
    return find_kind(config, kinds, skips, one);
}
