/* Builds the order of a published schedule for a program. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "graph/build/order_build.h"
#include "graph/build/ring.h"
#include "graph/build/ring_order.h"
#include "graph/order/rounding.h"
#include "runtime/base/memory.h"

/* Limits that are tried.  An order is built within the memory of activations;
 * slots may need more. */
enum { TRIES = 16 };

static const double less = .96;

/* Builds an order whose slots fit into config's memory.  Returns false if none
 * is found. */
static bool build_within(const struct mtlm_published *published,
                         const struct mtlm_program_config *config,
                         struct mtlm_walk *walk, struct mtlm_box_order *order)
{
    struct mtlm_program_config following = *config;
    double most = config->act_mem;

    following.order = order;
    for (int i = 0; i < TRIES; i++) {
        if (isinf(mtlm_published_build(published, walk, most, order)))
            return false;
        if (mtlm_ring_memory(&following)
            <= config->act_mem * (1 + MTLM_MEMORY_ROUNDING))
            return true;
        most *= less;
    }
    return false;
}

struct mtlm_box_order mtlm_order_build(const struct mtlm_published *published,
                                       const struct mtlm_program_config *config)
{
    const int stages = mtlm_layout_stages(&config->layout);
    double *times = mtlm_calloc(4 * stages, sizeof(*times)), makespan;
    struct mtlm_program_config following = *config;
    struct mtlm_window_model model;
    struct mtlm_boxes boxes;
    struct mtlm_walk walk;
    struct mtlm_box_order order;

    following.order = &order; /* so that times and recomputation count */
    model = mtlm_ring_model(&following, times, times + 3 * stages);
    boxes = mtlm_ring_order_boxes(config, &model);
    order = mtlm_order_create(&boxes);
    walk = mtlm_walk_create(&boxes);
    if (config->act_mem == 0 || published->build
        || !build_within(published, config, &walk, &order)) {
        makespan = mtlm_published_build(published, &walk, 0, &order);
        assert(makespan < INFINITY);
        (void) makespan;
    }
    mtlm_walk_free(&walk);
    free(times);
    return order;
}
