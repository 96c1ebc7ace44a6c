#ifndef MTLM_GRAPH_SEARCH_ORDER_H
#define MTLM_GRAPH_SEARCH_ORDER_H

/* The order that --schedule auto follows: the best order
 * (graph/order/best.h) of each kind of stages, by evaluation. */

#include "graph/predict/found_order.h"
#include "graph/predict/stage_cost.h"

/* Searches orders for a config that mtlm_search_schedule() has completed.  The
 * memory of their windows is at most config->act_mem on each rank.  kinds: of
 * stages that are tried (graph/predict/stage_kind.h).  Evaluates with the
 * times of `machine`, or with config->times if the machine has no cluster.
 * Without any times, FLOPs count, and no order is improved: published orders,
 * starts of the search, and orders that arise are compared.  waits: the policy
 * has the hold rule (graph/predict/hold.h).
 *
 * Sets *windows to what config's windows make, without an order.  If the choice
 * is an order, sets *found, which the caller frees with
 * mtlm_found_order_free(), and returns true.  Returns false if the choice is
 * the windows, and if orders of none of the kinds are searched
 * (graph/predict/search_limit.h). */
bool mtlm_search_order(const struct mtlm_program_config *config, unsigned kinds,
                       const struct mtlm_stage_cost *machine, bool waits,
                       struct mtlm_found_order *windows,
                       struct mtlm_found_order *found);

/* Like mtlm_search_order(), in one search for both: index 0 is of workers that
 * never wait, index 1 of workers that wait. */
void mtlm_search_order_both(const struct mtlm_program_config *config,
                            unsigned kinds,
                            const struct mtlm_stage_cost *machine,
                            struct mtlm_found_order windows[2],
                            struct mtlm_found_order found[2]);

/* Like mtlm_search_order(), for the windows of a config whose schedule is not
 * searched.  The orders are the one that the windows make by evaluation and the
 * published one, both as priorities, in the memory of the windows.  Both are
 * compared as if workers may wait for messages.  waits: the policy has the hold
 * rule; without it, MTLM_HOLD does not count.  Returns false, too, if B and W
 * are one. */
bool mtlm_search_order_own(const struct mtlm_program_config *config, bool waits,
                           struct mtlm_found_order *windows,
                           struct mtlm_found_order *found);

#endif /* MTLM_GRAPH_SEARCH_ORDER_H */
