#ifndef MTLM_GRAPH_FORECAST_H
#define MTLM_GRAPH_FORECAST_H

#include "graph/predict/outline.h"

/* How long an iteration would take in one layout, to compare it with others:
 * the evaluated schedule (graph/predict/evaluate.h), FLOPs as times and
 * messages between stages included, then the tensor-parallel collectives of the
 * rank that has most of them, as if nothing hid them, and what data-parallel
 * ranks exchange.  The machine is mtlm_cluster_usual: what counts is how its
 * parts compare, and only a machine's own measurement would know better.
 *
 * outline: of that config; per_host ranks share a machine.  Returns seconds. */
double mtlm_forecast(const struct mtlm_program_config *config,
                     const struct mtlm_outline *outline, int per_host);

#endif /* MTLM_GRAPH_FORECAST_H */
