#ifndef MTLM_GRAPH_COLLECTIVE_PLAN_H
#define MTLM_GRAPH_COLLECTIVE_PLAN_H

/* The planned order of an iteration's collectives. */

#include "graph/predict/cost.h"

/* The order of an iteration's collectives, decided before the run.  An
 * evaluation of the programs of all pipeline stages with modelled durations
 * gives the order of starts (graph/predict/evaluate_program.h).  Every rank
 * evaluates the same programs, so all ranks follow one order that respects all
 * dependencies.  An order with this property cannot deadlock
 * (runtime/comm/engine.h), however wrong the durations are. */
struct mtlm_collective_plan {
    int *order;      /* [n] in order of issue: the collective's number in
                      * program order */
    int *microbatch; /* [n] by number in program order: from 0; -1: none */
    int n;
};

/* Sets *plan to the plan for the rank of program.  cluster: NULL for
 * mtlm_cluster_usual.  serial: each rank runs one collective at a time.  The
 * caller frees the plan with mtlm_collective_plan_destroy(). */
void mtlm_collective_plan_create(struct mtlm_collective_plan *plan,
                                 const struct mtlm_program *program,
                                 const struct mtlm_cluster *cluster,
                                 bool serial);

/* Frees the plan's arrays. */
void mtlm_collective_plan_destroy(struct mtlm_collective_plan *plan);

/* Sets order[plan->n] to the order of an iteration of so many microbatches.
 * Numbers count the collectives of this iteration in program order.  Returns
 * the number of these collectives. */
int mtlm_collective_plan_of(const struct mtlm_collective_plan *plan,
                            int64_t microbatches, int *order);

#endif /* MTLM_GRAPH_COLLECTIVE_PLAN_H */
