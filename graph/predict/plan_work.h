#ifndef MTLM_GRAPH_PLAN_WORK_H
#define MTLM_GRAPH_PLAN_WORK_H

#include "graph/predict/plan.h"

/* The part of a plan that is work: tasks, operations and messages. */

/* Adds those of an iteration, and counts the layers; where there are no
 * iterations, batches of a validation stand for them.  Returns the items of a
 * piece of a validation. */
double mtlm_plan_work_add(struct mtlm_plan *plan,
                          const struct mtlm_program *program);

/* Bytes of what a message or a collective carries. */
double mtlm_plan_work_message_bytes(const struct mtlm_node *node);

#endif /* MTLM_GRAPH_PLAN_WORK_H */
