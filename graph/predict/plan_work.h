#ifndef MTLM_GRAPH_PLAN_WORK_H
#define MTLM_GRAPH_PLAN_WORK_H

/* The work in a plan: tasks, operations and messages. */

#include "graph/predict/plan.h"

/* Adds the work of an iteration and the number of layers to plan.  With
 * config.eval_only, adds the work of a batch of a validation instead.  Returns
 * the number of items of a validation piece. */
double mtlm_plan_work_add(struct mtlm_plan *plan,
                          const struct mtlm_program *program);

/* Returns the kind of a message: of a send, a receive or a collective. */
enum mtlm_traffic_kind mtlm_plan_work_kind(const struct mtlm_node *node);

#endif /* MTLM_GRAPH_PLAN_WORK_H */
