#ifndef MTLM_GRAPH_SEARCH_ORDER_H
#define MTLM_GRAPH_SEARCH_ORDER_H

/* The order that --schedule auto follows: the best order
 * (graph/order/best.h) of each kind of stages, by evaluation. */

#include "graph/build/program.h"
#include "graph/predict/stage_cost.h"

/* An order, and what a program makes of it. */
struct mtlm_found_order {
    struct mtlm_box_order order; /* each W in one piece */
    enum mtlm_follow follow;     /* how ranks follow the order */
    struct mtlm_layout layout;   /* of the order's stages */
    /* Of an iteration, by evaluation: of the order, and of config's windows. */
    double seconds, windows_seconds;
    bool waits; /* workers may wait for messages */
};

/* Searches orders for a config that mtlm_search_schedule() has completed.  The
 * memory of their windows is at most config->act_mem on each rank.  chunks > 0:
 * keeps the virtual stages and the placement of config.  Evaluates with the
 * times of `machine`, or with config->times if the machine has no cluster.
 * waits: the policy has the hold rule (graph/predict/hold.h).
 *
 * If an order is shorter than config's windows, sets *found, which the caller
 * frees with mtlm_found_order_free(), and returns true.  Returns false if there
 * is none; without any times, with several workers per rank, and for pipelines
 * of more than 100,000 boxes. */
bool mtlm_search_order(const struct mtlm_program_config *config, int chunks,
                       const struct mtlm_stage_cost *machine, bool waits,
                       struct mtlm_found_order *found);

/* Frees the order. */
void mtlm_found_order_free(struct mtlm_found_order *found);

#endif /* MTLM_GRAPH_SEARCH_ORDER_H */
