#ifndef MTLM_GRAPH_HOLD_H
#define MTLM_GRAPH_HOLD_H

/* How long the workers of a pipeline wait for messages: the hold rule
 * (mtlm_policy_holds() of mtlm/policy.h), by evaluation. */

#include "graph/predict/evaluate.h"

/* Returns the share of a task's duration, for pipeline->hold, of the shortest
 * evaluation.  The candidates include 0.  Of equal evaluations, one with a
 * positive share wins: latencies of a running pipeline vary.  pipeline->hold is
 * ignored.  Evaluates with messages that take at least a thousandth of F, too:
 * no message is free.  Never lengthens the evaluation with pipeline->hop.
 * *seconds: that evaluation; NULL: nobody asks. */
double mtlm_hold_choose(const struct mtlm_evaluate *pipeline, double *seconds);

#endif /* MTLM_GRAPH_HOLD_H */
