#ifndef MTLM_GRAPH_STAGE_WISH_H
#define MTLM_GRAPH_STAGE_WISH_H

/* What the options ask of the virtual stages, before the number of pipeline
 * ranks is known. */

#include <stdint.h>

/* At most one of layers_per_stage and layers is given. */
struct mtlm_stage_wish {
    int virtual_stages;       /* per rank; 0: follows from the other fields */
    int64_t layers_per_stage; /* at most; 0: not given */
    const int64_t *layers;    /* [n] layers of every virtual stage of the model,
                               * borrowed; NULL: evenly */
    int n;
    /* Placement policy: the size of the pipeline, which one rank holds.  0:
     * another placement. */
    int pipeline;
};

/* Returns the virtual stages of each of pp ranks; 0: pp ranks cannot share
 * num_layers layers in this way.  Placement policy: pp is 1. */
int mtlm_stage_wish_chunks(const struct mtlm_stage_wish *wish,
                           int64_t num_layers, int pp);

#endif /* MTLM_GRAPH_STAGE_WISH_H */
