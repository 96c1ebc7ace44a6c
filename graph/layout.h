#ifndef MTLM_GRAPH_LAYOUT_H
#define MTLM_GRAPH_LAYOUT_H

/* The parallel layout: sizes of the groups, placement of virtual stages, and
 * the coordinates of one rank. */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/comm/group.h"

/* Placement of virtual stage k:
 *
 * loop: on pp_rank k mod pp.
 *
 * V: every second pass through the ranks goes backwards, so rank 0 holds the
 * first and the last stage of two passes (ZB-V, arXiv 2405.15362).
 *
 * policy: one rank (pp = 1) holds all stages, and no messages connect the
 * stages.  The scheduling policy picks the worker of each node.  Each pipeline
 * stage is then one chunk of the rank. */
enum mtlm_placement {
    MTLM_PLACEMENT_LOOP,
    MTLM_PLACEMENT_V,
    MTLM_PLACEMENT_POLICY,
};

/* Returns the name as --placement spells the placement. */
const char *mtlm_placement_name(enum mtlm_placement placement);

/* How a model is spread over ranks, and which part this rank holds.  Ranks are
 * numbered as in Megatron-LM, tensor-parallel fastest: rank = tp_rank + tp *
 * (dp_rank + dp * pp_rank). */
struct mtlm_layout {
    int tp, pp, dp;     /* sizes of the three groups */
    int virtual_stages; /* per rank */
    enum mtlm_placement placement;
    /* Layers of each virtual stage [pp * virtual_stages], borrowed.  NULL:
     * layers split evenly; the first stages hold the remainder, one layer
     * each. */
    const int64_t *stage_layers;
    int tp_rank, pp_rank, dp_rank;
    int workers; /* compute workers of this rank */
};

/* Sets tp_rank, dp_rank and pp_rank to the coordinates of rank. */
void mtlm_layout_place(struct mtlm_layout *layout, int rank);

/* Returns the rank that has the layout's coordinates. */
int mtlm_layout_rank(const struct mtlm_layout *layout);

/* Returns the number of ranks: tp * pp * dp. */
int mtlm_layout_ranks(const struct mtlm_layout *layout);

/* Returns the virtual stages of the whole model: pp * virtual_stages. */
int mtlm_layout_stages(const struct mtlm_layout *layout);

/* Returns the pipeline size (--pipeline-model-parallel-size): pp, or the number
 * of stages with placement policy. */
int mtlm_layout_pipeline(const struct mtlm_layout *layout);

/* Returns the pp_rank of the ranks that hold virtual stage k. */
int mtlm_layout_pp_rank(const struct mtlm_layout *layout, int stage);

/* Returns whether the same ranks hold virtual stages a and b. */
bool mtlm_layout_same_rank(const struct mtlm_layout *layout, int a, int b);

/* Returns the chunk number, from 0, that virtual stage k has on its ranks. */
int mtlm_layout_chunk(const struct mtlm_layout *layout, int stage);

/* Returns the rank with this rank's tp_rank and dp_rank that holds virtual
 * stage k. */
int mtlm_layout_rank_of_stage(const struct mtlm_layout *layout, int stage);

/* Returns the virtual stage of this rank's chunk c, 0 <= c < virtual_stages. */
int mtlm_layout_stage(const struct mtlm_layout *layout, int chunk);

/* Returns whether this rank shares the tied word embedding with another rank:
 * one holds the first stage, the other the last. */
bool mtlm_layout_shares_embedding(const struct mtlm_layout *layout);

/* Sets *first and *count of part `part` of n things, dealt out evenly: the
 * first parts get one more. */
void mtlm_layout_split(int64_t n, int64_t parts, int part, int64_t *first,
                       int64_t *count);

/* Sets *first and *count: virtual stage k holds the layers *first .. *first +
 * *count - 1. */
void mtlm_layout_layers(const struct mtlm_layout *layout, int64_t num_layers,
                        int stage, int64_t *first, int64_t *count);

/* Returns the number of layers of virtual stage k. */
int64_t mtlm_layout_layer_count(const struct mtlm_layout *layout,
                                int64_t num_layers, int stage);

/* Returns whether ranks a and b share a group of that kind.  a must belong to
 * such a group.  a and b differ in coordinates only. */
bool mtlm_layout_meet(const struct mtlm_layout *a, const struct mtlm_layout *b,
                      enum mtlm_group group);

/* Returns the smallest rank of this rank's group of that kind; -1: the rank
 * belongs to no such group. */
int mtlm_layout_root(const struct mtlm_layout *layout, enum mtlm_group group);

#endif /* MTLM_GRAPH_LAYOUT_H */
