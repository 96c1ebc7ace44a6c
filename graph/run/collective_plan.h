#ifndef MTLM_GRAPH_COLLECTIVE_PLAN_H
#define MTLM_GRAPH_COLLECTIVE_PLAN_H

/* The planned order of an iteration's collectives. */

#include "graph/predict/cost.h"

/* The order of an iteration's collectives, decided before the run.  The plan is
 * the order in which collectives start when the programs of all pipeline stages
 * are evaluated with modelled durations (graph/predict/evaluate_program.h).
 * Every rank evaluates the same programs, so all ranks follow one order that
 * respects all dependencies.  Such an order cannot deadlock
 * (runtime/comm/engine.h), however wrong the durations are. */
struct mtlm_collective_plan {
    int *order;      /* [n], numbers in program order, in order of issue */
    int *microbatch; /* [n], by number in program order; -1: none */
    int n;
};

/* Makes the plan for the rank of program.  cluster: NULL for durations in the
 * proportions of a usual machine.  serial: one collective at a time.  The
 * caller frees the plan with mtlm_collective_plan_destroy(). */
void mtlm_collective_plan_create(struct mtlm_collective_plan *plan,
                                 const struct mtlm_program *program,
                                 const struct mtlm_cluster *cluster,
                                 bool serial);

/* Frees the plan's arrays. */
void mtlm_collective_plan_destroy(struct mtlm_collective_plan *plan);

/* Writes the order of an iteration of so many microbatches to order[plan->n]
 * and returns its number of collectives. */
int mtlm_collective_plan_of(const struct mtlm_collective_plan *plan,
                            int64_t microbatches, int *order);

#endif /* MTLM_GRAPH_COLLECTIVE_PLAN_H */
