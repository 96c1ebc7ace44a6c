#ifndef MTLM_SIMULATE_TRACE_H
#define MTLM_SIMULATE_TRACE_H

#include "launch/options/options.h"
#include "launch/simulate/prediction.h"

/* What a trace of a simulation shows. */
struct mtlm_simulate_trace {
    struct mtlm_range microbatches; /* from 1, both included */
    int64_t nodes;
};

/* Writes the files of --trace DIR: nodes of the microbatches of
 * --trace-microbatches, and all nodes of the optimizer.  Each evaluated rank is
 * a rank of the trace.  summary.json counts the whole iteration.  Sets *trace.
 * Returns -1 and sets *err (MTLM_EXIT_IO) if a file cannot be written. */
int mtlm_simulate_trace(const struct mtlm_folded_run *run,
                        const struct mtlm_prediction *prediction,
                        const struct mtlm_options *options,
                        struct mtlm_simulate_trace *trace,
                        struct mtlm_error *err);

#endif /* MTLM_SIMULATE_TRACE_H */
