#ifndef MTLM_GRAPH_COLLECTIVE_PLAN_H
#define MTLM_GRAPH_COLLECTIVE_PLAN_H

#include "graph/predict/cost.h"

/* The order of an iteration's collectives, decided before the run: that in
 * which they start when the programs of all pipeline stages are evaluated with
 * modelled durations (graph/predict/evaluate_program.h).  Every rank evaluates
 * the same, so that together they follow one order which respects all
 * dependencies: it cannot deadlock (runtime/comm/engine.h), however wrong the
 * durations are. */
struct mtlm_collective_plan {
    int *order;      /* [n] numbers in program order, in the order of issue */
    int *microbatch; /* [n] by number in program order; -1: of none */
    int n;
};

/* For the rank whose program that is.  cluster: NULL for durations in the
 * proportions of a usual machine.  serial: one collective at a time. */
void mtlm_collective_plan_create(struct mtlm_collective_plan *plan,
                                 const struct mtlm_program *program,
                                 const struct mtlm_cluster *cluster,
                                 bool serial);
void mtlm_collective_plan_destroy(struct mtlm_collective_plan *plan);

/* The same for an iteration of so many microbatches: writes order[], which has
 * room for plan->n, and returns how many collectives it has. */
int mtlm_collective_plan_of(const struct mtlm_collective_plan *plan,
                            int64_t microbatches, int *order);

/* How many microbatches a rank of that program has under way: what
 * MTLM_ORDER_BY_SLOT needs of slots to keep none waiting. */
int mtlm_collective_plan_slots(const struct mtlm_program *program);

#endif /* MTLM_GRAPH_COLLECTIVE_PLAN_H */
