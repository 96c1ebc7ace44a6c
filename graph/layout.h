#ifndef MTLM_GRAPH_LAYOUT_H
#define MTLM_GRAPH_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/comm/group.h"

/* Where virtual stage k lives: loop, on k mod pp; V, every second pass through
 * the ranks goes backwards, so that the first and the last stage of two passes
 * share rank 0 (zero-bubble schedule ZB-V, arXiv 2405.15362); policy, the
 * pipeline is one rank (pp = 1) that holds all stages, no messages are between
 * them, and whichever of its workers the scheduling policy takes runs a node:
 * stages of a pipeline and chunks of a rank are then the same. */
enum mtlm_placement {
    MTLM_PLACEMENT_LOOP,
    MTLM_PLACEMENT_V,
    MTLM_PLACEMENT_POLICY,
};

/* As --placement spells it. */
const char *mtlm_placement_name(enum mtlm_placement placement);

/* How a model is spread over ranks, and which part this rank holds.  Ranks
 * are numbered as Megatron numbers them, tensor-parallel fastest:
 * rank = tp_rank + tp * (dp_rank + dp * pp_rank). */
struct mtlm_layout {
    int tp, pp, dp;     /* sizes of the three kinds of group */
    int virtual_stages; /* per rank */
    enum mtlm_placement placement;
    /* Layers of each virtual stage [pp * virtual_stages], borrowed; NULL: as
     * even as can be, the earlier stages hold one more. */
    const int64_t *stage_layers;
    int tp_rank, pp_rank, dp_rank;
    int workers; /* compute workers of this rank */
};

/* Fills in the coordinates of rank. */
void mtlm_layout_place(struct mtlm_layout *layout, int rank);

int mtlm_layout_ranks(const struct mtlm_layout *layout);

/* Virtual stages of the whole model: pp * virtual_stages. */
int mtlm_layout_stages(const struct mtlm_layout *layout);

/* What --pipeline-model-parallel-size says: pp, with placement policy the
 * stages. */
int mtlm_layout_pipeline(const struct mtlm_layout *layout);

/* pp_rank of the ranks that hold virtual stage k, and which of their chunks it
 * is. */
int mtlm_layout_pp_rank(const struct mtlm_layout *layout, int stage);
int mtlm_layout_chunk(const struct mtlm_layout *layout, int stage);

/* Rank that holds virtual stage k, with this rank's tp_rank and dp_rank. */
int mtlm_layout_rank_of_stage(const struct mtlm_layout *layout, int stage);

/* Virtual stage of this rank's chunk c: 0 .. virtual_stages - 1. */
int mtlm_layout_stage(const struct mtlm_layout *layout, int chunk);

/* Whether this rank holds the first stage and another one the last, or the
 * other way round: both have the tied word embedding. */
bool mtlm_layout_shares_embedding(const struct mtlm_layout *layout);

/* Layers first .. first + count - 1 of virtual stage k. */
void mtlm_layout_layers(const struct mtlm_layout *layout, int64_t num_layers,
                        int stage, int64_t *first, int64_t *count);

/* Whether the ranks of the two layouts, which differ in their coordinates,
 * meet in group; a: one of its members. */
bool mtlm_layout_meet(const struct mtlm_layout *a, const struct mtlm_layout *b,
                      enum mtlm_group group);

#endif /* MTLM_GRAPH_LAYOUT_H */
