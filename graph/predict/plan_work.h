#ifndef MTLM_GRAPH_PLAN_WORK_H
#define MTLM_GRAPH_PLAN_WORK_H

/* The work in a plan: tasks, operations and messages. */

#include "graph/predict/plan.h"

/* Adds the work of an iteration and the layers; with config.eval_only, the work
 * of a batch of a validation.  Returns the items of a piece of a validation. */
double mtlm_plan_work_add(struct mtlm_plan *plan,
                          const struct mtlm_program *program);

/* Returns the bytes that a message or a collective carries. */
double mtlm_plan_work_message_bytes(const struct mtlm_node *node);

#endif /* MTLM_GRAPH_PLAN_WORK_H */
