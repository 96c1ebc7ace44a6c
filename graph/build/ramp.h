#ifndef MTLM_GRAPH_RAMP_H
#define MTLM_GRAPH_RAMP_H

#include <stdint.h>

/* Batch ramp-up, as Megatron-LM's --rampup-batch-size: from `start` samples
 * per iteration in equal steps of `increment` to `full`, each step lasting
 * about as many of the first `samples` samples. */
struct mtlm_ramp {
    int64_t start, increment, samples; /* increment 0: full from the begin */
    int64_t full;                      /* start + a multiple of increment */
};

/* Samples of the iteration that begins when n have been consumed:
 * start + increment * floor(n / (samples / steps)), full beyond samples. */
int64_t mtlm_ramp_batch(const struct mtlm_ramp *ramp, int64_t n);

/* Where a training stands: the iteration that comes next, the samples
 * consumed by those before it, and how many samples it will have itself. */
struct mtlm_ramp_place {
    int64_t iteration, samples, batch;
};

struct mtlm_ramp_place mtlm_ramp_begin(const struct mtlm_ramp *ramp);
struct mtlm_ramp_place mtlm_ramp_at(const struct mtlm_ramp *ramp,
                                    int64_t iteration, int64_t samples);
void mtlm_ramp_next(const struct mtlm_ramp *ramp,
                    struct mtlm_ramp_place *place);

/* Iterations that Megatron-LM makes of that many samples in all: those that
 * begin within the ramp-up, then whole batches.  max: the most that is
 * counted.  From a place on, those before it included. */
int64_t mtlm_ramp_iterations(const struct mtlm_ramp *ramp, int64_t samples,
                             int64_t max);
int64_t mtlm_ramp_iterations_from(const struct mtlm_ramp *ramp,
                                  struct mtlm_ramp_place place, int64_t samples,
                                  int64_t max);

#endif /* MTLM_GRAPH_RAMP_H */
