#ifndef MTLM_GRAPH_STAGE_WISH_H
#define MTLM_GRAPH_STAGE_WISH_H

/* The virtual stages that the options ask for, before the number of pipeline
 * ranks is known. */

#include <stdint.h>

/* At most one of layers_per_stage and layers is given. */
struct mtlm_stage_wish {
    int virtual_stages;       /* per rank; 0: follows from the other fields,
                               * else 1 */
    int64_t layers_per_stage; /* maximum; 0: not given */
    const int64_t *layers;    /* [n] layers of every virtual stage of the model,
                               * borrowed; NULL: evenly */
    int n;
    /* Placement policy: number of pipeline stages, all on one rank.  0: another
     * placement. */
    int pipeline;
};

/* Returns the virtual stages per rank of a pipeline of pp ranks.  Returns 0 if
 * pp ranks cannot share num_layers layers as wished.  Placement policy: pp is
 * 1. */
int mtlm_stage_wish_chunks(const struct mtlm_stage_wish *wish,
                           int64_t num_layers, int pp);

/* Returns the most pipeline ranks that can share num_layers layers.  The stages
 * of a list may have none. */
int64_t mtlm_stage_wish_most_ranks(const struct mtlm_stage_wish *wish,
                                   int64_t num_layers);

#endif /* MTLM_GRAPH_STAGE_WISH_H */
