/* Maps ranks to coordinates, virtual stages to ranks and layers to stages. */

#include "config.h"

#include "graph/layout.h"

const char *mtlm_placement_name(enum mtlm_placement placement)
{
    static const char *const name[] = {"loop", "v", "policy"};

    return name[placement];
}

void mtlm_layout_place(struct mtlm_layout *layout, int rank)
{
    layout->tp_rank = rank % layout->tp;
    layout->dp_rank = rank / layout->tp % layout->dp;
    layout->pp_rank = rank / layout->tp / layout->dp;
}

static int rank_at(const struct mtlm_layout *layout, int pp_rank)
{
    return layout->tp_rank
           + layout->tp * (layout->dp_rank + layout->dp * pp_rank);
}

int mtlm_layout_rank(const struct mtlm_layout *layout)
{
    return rank_at(layout, layout->pp_rank);
}

int mtlm_layout_ranks(const struct mtlm_layout *layout)
{
    return layout->tp * layout->pp * layout->dp;
}

int mtlm_layout_stages(const struct mtlm_layout *layout)
{
    return layout->pp * layout->virtual_stages;
}

int mtlm_layout_pipeline(const struct mtlm_layout *layout)
{
    return layout->placement == MTLM_PLACEMENT_POLICY ? layout->virtual_stages
                                                      : layout->pp;
}

int mtlm_layout_chunk(const struct mtlm_layout *layout, int stage)
{
    return stage / layout->pp;
}

int mtlm_layout_pp_rank(const struct mtlm_layout *layout, int stage)
{
    const int at = stage % layout->pp;
    const bool back = layout->placement == MTLM_PLACEMENT_V
                      && mtlm_layout_chunk(layout, stage) % 2 == 1;

    return back ? layout->pp - 1 - at : at;
}

bool mtlm_layout_same_rank(const struct mtlm_layout *layout, int a, int b)
{
    return mtlm_layout_pp_rank(layout, a) == mtlm_layout_pp_rank(layout, b);
}

int mtlm_layout_rank_of_stage(const struct mtlm_layout *layout, int stage)
{
    return rank_at(layout, mtlm_layout_pp_rank(layout, stage));
}

int mtlm_layout_stage(const struct mtlm_layout *layout, int chunk)
{
    const bool back = layout->placement == MTLM_PLACEMENT_V && chunk % 2 == 1;

    return chunk * layout->pp
           + (back ? layout->pp - 1 - layout->pp_rank : layout->pp_rank);
}

bool mtlm_layout_shares_embedding(const struct mtlm_layout *layout)
{
    const int first = mtlm_layout_pp_rank(layout, 0);
    const int last =
        mtlm_layout_pp_rank(layout, mtlm_layout_stages(layout) - 1);

    return first != last
           && (layout->pp_rank == first || layout->pp_rank == last);
}

void mtlm_layout_split(int64_t n, int64_t parts, int part, int64_t *first,
                       int64_t *count)
{
    const int64_t each = n / parts, more = n % parts;

    *first = part * each + (part < more ? part : more);
    *count = each + (part < more);
}

void mtlm_layout_layers(const struct mtlm_layout *layout, int64_t num_layers,
                        int stage, int64_t *first, int64_t *count)
{
    if (layout->stage_layers) {
        *first = 0;
        for (int k = 0; k < stage; k++)
            *first += layout->stage_layers[k];
        *count = layout->stage_layers[stage];
        return;
    }
    mtlm_layout_split(num_layers, mtlm_layout_stages(layout), stage, first,
                      count);
}

int64_t mtlm_layout_layer_count(const struct mtlm_layout *layout,
                                int64_t num_layers, int stage)
{
    int64_t first, count;

    mtlm_layout_layers(layout, num_layers, stage, &first, &count);
    return count;
}

bool mtlm_layout_meet(const struct mtlm_layout *a, const struct mtlm_layout *b,
                      enum mtlm_group group)
{
    switch (group) {
    case MTLM_GROUP_TP:
        return a->pp_rank == b->pp_rank && a->dp_rank == b->dp_rank;
    case MTLM_GROUP_DP:
        return a->pp_rank == b->pp_rank && a->tp_rank == b->tp_rank;
    case MTLM_GROUP_EMBEDDING:
        return a->tp_rank == b->tp_rank && a->dp_rank == b->dp_rank
               && mtlm_layout_shares_embedding(b);
    default:
        return true;
    }
}

int mtlm_layout_root(const struct mtlm_layout *layout, enum mtlm_group group)
{
    struct mtlm_layout root = *layout;

    switch (group) {
    case MTLM_GROUP_TP:
        root.tp_rank = 0;
        break;
    case MTLM_GROUP_DP:
        root.dp_rank = 0;
        break;
    case MTLM_GROUP_EMBEDDING:
        if (!mtlm_layout_shares_embedding(layout))
            return -1;
        root.pp_rank = 0;
        break;
    default:
        return 0;
    }
    return mtlm_layout_rank(&root);
}
