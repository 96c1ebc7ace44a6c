#ifndef MTLM_GRAPH_HOLD_H
#define MTLM_GRAPH_HOLD_H

/* How long the workers of a pipeline wait for messages: the hold rule
 * (mtlm_policy_holds() of mtlm/policy.h), by evaluation.
 *
 * The functions return a share of a task's duration.  The candidates are 0.5,
 * 0.25, 1 and 0.  A share must not lengthen the evaluation with messages as
 * given.  Of the others, the share is the one with the shortest mean of the
 * evaluations behind late messages (graph/predict/late.h).  Of equal means, the
 * first candidate wins.  A share in the variable MTLM_HOLD is returned as it
 * is: workers wait that long.
 *
 * All messages are late alike, unlike those of mtlm_late_pipeline().  A run's
 * share comes from its programs, whose messages are late alike.  A plan's share
 * comes from its stages: it is to be the share of the run. */

#include <stdbool.h>

#include "graph/predict/cost.h"
#include "graph/predict/evaluate.h"
#include "graph/predict/stage_cost.h"

/* Returns the share for pipeline->hold, which is ignored.  *seconds: the
 * makespan with this share; NULL: nobody asks. */
double mtlm_hold_choose(const struct mtlm_evaluate *pipeline, double *seconds);

/* Returns the share for an iteration of the programs of config on the machine,
 * whose stretch does not count; its cluster may be NULL, as in
 * graph/predict/pipeline_programs.h.  Of large programs, the shares are
 * compared on the first microbatches; a share that lengthens the whole
 * iteration is none. */
double mtlm_hold_choose_program(const struct mtlm_program_config *config,
                                const struct mtlm_stage_cost *machine);

/* Returns the share of ranks without pipeline ranks, for which no evaluation
 * chooses: that of MTLM_HOLD, or a quarter, as in runtime/policies/hold.c.
 * A rank without messages: 0. */
double mtlm_hold_alone(const struct mtlm_program_config *config);

/* Returns the share that stands for all in a search: that of MTLM_HOLD, or
 * MTLM_HOLD_SHARE (graph/predict/limits.h). */
double mtlm_hold_searched(void);

/* Most shares that a search evaluates. */
enum { MTLM_HOLD_SEARCHED = 2 };

/* Sets the shares that a search evaluates for config, and returns how many.
 * The shortest evaluation counts.  Without waits, and for a chain, the share is
 * 0.  Workers that may wait have 0 and mtlm_hold_searched(), but only the share
 * of MTLM_HOLD where that is given: no worker then chooses 0. */
int mtlm_hold_searched_shares(const struct mtlm_program_config *config,
                              bool waits, double share[MTLM_HOLD_SEARCHED]);

#endif /* MTLM_GRAPH_HOLD_H */
