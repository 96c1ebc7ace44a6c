#include "config.h"

#include "graph/layout.h"

void mtlm_layout_place(struct mtlm_layout *layout, int rank)
{
    layout->tp_rank = rank % layout->tp;
    layout->dp_rank = rank / layout->tp % layout->dp;
    layout->pp_rank = rank / layout->tp / layout->dp;
}

int mtlm_layout_ranks(const struct mtlm_layout *layout)
{
    return layout->tp * layout->pp * layout->dp;
}

int mtlm_layout_stages(const struct mtlm_layout *layout)
{
    return layout->pp * layout->virtual_stages;
}

int mtlm_layout_rank_of_stage(const struct mtlm_layout *layout, int stage)
{
    return layout->tp_rank
           + layout->tp * (layout->dp_rank + layout->dp * (stage % layout->pp));
}

int mtlm_layout_stage(const struct mtlm_layout *layout, int chunk)
{
    return chunk * layout->pp + layout->pp_rank;
}

void mtlm_layout_layers(const struct mtlm_layout *layout, int64_t num_layers,
                        int stage, int64_t *first, int64_t *count)
{
    const int64_t stages = mtlm_layout_stages(layout);
    const int64_t each = num_layers / stages, more = num_layers % stages;

    *first = stage * each + (stage < more ? stage : more);
    *count = each + (stage < more);
}
