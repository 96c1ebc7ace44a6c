/* Builds the order of a published schedule for a program. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/build/order_build.h"
#include "graph/build/ring.h"
#include "graph/build/ring_order.h"
#include "runtime/base/memory.h"

int mtlm_order_build(const struct mtlm_published *published,
                     const struct mtlm_program_config *config,
                     struct mtlm_box_order *order)
{
    const int stages = mtlm_layout_stages(&config->layout);
    double *times = mtlm_calloc(4 * stages, sizeof(*times));
    struct mtlm_program_config following = *config;
    struct mtlm_window_model model;
    struct mtlm_boxes boxes;
    struct mtlm_walk walk;
    double makespan;

    following.order = order; /* so that times and recomputation count */
    model = mtlm_ring_model(&following, times, times + 3 * stages);
    boxes = mtlm_ring_order_boxes(config, &model);
    *order = mtlm_order_create(&boxes);
    walk = mtlm_walk_create(&boxes);
    makespan = mtlm_published_build(published, &walk, config->act_mem, order);
    if (isinf(makespan))
        mtlm_order_free(order);
    mtlm_walk_free(&walk);
    free(times);
    return isinf(makespan) ? -1 : 0;
}
