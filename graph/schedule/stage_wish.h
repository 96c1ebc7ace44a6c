#ifndef MTLM_GRAPH_STAGE_WISH_H
#define MTLM_GRAPH_STAGE_WISH_H

#include <stdint.h>

/* What is asked of the virtual stages, before it is known how many ranks a
 * pipeline has.  At most one of layers_per_stage and layers says something. */
struct mtlm_stage_wish {
    int virtual_stages;       /* of each rank; 0: as follows from the rest */
    int64_t layers_per_stage; /* at the most; 0: not said */
    const int64_t *layers;    /* [n]: of every virtual stage of the model; NULL:
                               * evenly; borrowed */
    int n;
    /* Size of the pipeline where one rank holds all of it: placement policy.
     * 0: its ranks hold it. */
    int pipeline;
};

/* Virtual stages that each of pp ranks holds; 0: pp ranks, of which a pipeline
 * in one rank has one, cannot share num_layers layers in this way. */
int mtlm_stage_wish_chunks(const struct mtlm_stage_wish *wish,
                           int64_t num_layers, int pp);

#endif /* MTLM_GRAPH_STAGE_WISH_H */
