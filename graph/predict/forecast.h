#ifndef MTLM_GRAPH_FORECAST_H
#define MTLM_GRAPH_FORECAST_H

/* Forecast of the time of an iteration, to compare layouts. */

#include "graph/predict/outline.h"

/* Returns the forecast seconds of an iteration on mtlm_cluster_usual.  The sum
 * of:
 *
 *   the evaluated schedule (graph/predict/evaluate.h), with FLOPs as times and
 *   with messages between stages;
 *   the tensor-parallel collectives of the rank that has most, unhidden;
 *   the traffic of data-parallel ranks and of the tied embedding.  Replicas of
 *   a stage that fill a machine, or a part of it, exchange within the machine.
 *
 * outline: of config.  per_host: ranks per machine.  Compare layouts by ratios
 * only: the forecast knows no real machine.  With a described machine,
 * launch/simulate/layout_search.h compares layouts by the costs of nodes. */
double mtlm_forecast(const struct mtlm_program_config *config,
                     const struct mtlm_outline *outline, int per_host);

#endif /* MTLM_GRAPH_FORECAST_H */
