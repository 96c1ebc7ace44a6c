#ifndef MTLM_GRAPH_LAYER_BALANCE_H
#define MTLM_GRAPH_LAYER_BALANCE_H

/* Layers of the virtual stages, from measured times: the busiest rank of the
 * pipeline works as short as possible.
 *
 * A layer takes the same time on all stages of a rank: the mean of the measured
 * ones.  The rest of a stage, such as the embedding or the loss, stays. */

#include <stdint.h>

#include "graph/layout.h"
#include "graph/schedule/stage_times.h"

/* A running pipeline; everything is borrowed. */
struct mtlm_layer_balance {
    const struct mtlm_layout *layout; /* with the layers of the stages */
    int64_t num_layers;
    /* Measured F, B and W of each stage, and the part of them within layers. */
    const struct mtlm_stage_times *times, *inside;
};

/* Returns layers [stages], at least 1 each.  The busiest rank has the least
 * work of F, B and W, or more by a share of slack >= 0.  Of such layers, as few
 * as possible change their rank; with several stages on a rank, of those that
 * share the rank's layers evenly.  Of these, later stages hold more: they keep
 * fewer microbatches.  The caller frees the result. */
int64_t *mtlm_layer_balance_choose(const struct mtlm_layer_balance *balance,
                                   double slack);

/* Returns the times of the stages with these layers [stages].  A stage that
 * keeps its number of layers has its measured times.  The caller frees the
 * times with mtlm_stage_times_free(). */
struct mtlm_stage_times mtlm_layer_balance_times(
    const struct mtlm_layer_balance *balance, const int64_t *layers);

#endif /* MTLM_GRAPH_LAYER_BALANCE_H */
