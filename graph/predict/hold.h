#ifndef MTLM_GRAPH_HOLD_H
#define MTLM_GRAPH_HOLD_H

/* How long the workers of a pipeline wait for messages: the hold rule
 * (mtlm_policy_holds() of mtlm/policy.h), by evaluation.
 *
 * The functions return the share of a task's duration of the shortest
 * evaluation.  The candidates include 0.  Of equal evaluations, one with a
 * positive share wins: latencies of a running pipeline vary.  The functions
 * evaluate with messages that take at least a two-hundredth of F, too: no
 * message is free.  The share never lengthens the evaluation without that least
 * latency. */

#include "graph/predict/cost.h"
#include "graph/predict/evaluate.h"

/* Returns the share for pipeline->hold, which is ignored.  *seconds: the
 * makespan with this share; NULL: nobody asks. */
double mtlm_hold_choose(const struct mtlm_evaluate *pipeline, double *seconds);

/* Returns the share for an iteration of the programs of config.  cluster: as in
 * graph/predict/pipeline_programs.h.  Of large programs, only the first
 * microbatches are evaluated. */
double mtlm_hold_choose_program(const struct mtlm_program_config *config,
                                const struct mtlm_cluster *cluster);

#endif /* MTLM_GRAPH_HOLD_H */
