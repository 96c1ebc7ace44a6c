#ifndef MTLM_GRAPH_BOUND_H
#define MTLM_GRAPH_BOUND_H

/* Lower bounds of a pipeline's schedules. */

#include "graph/predict/evaluate.h"

/* Returns least_s of struct mtlm_evaluation.  Windows are ignored. */
double mtlm_bound_makespan(const struct mtlm_evaluate *pipeline);

/* Returns the seconds of a rank's work per microbatch and worker. */
double mtlm_bound_rank_seconds(const struct mtlm_evaluate *pipeline, int rank);

#endif /* MTLM_GRAPH_BOUND_H */
