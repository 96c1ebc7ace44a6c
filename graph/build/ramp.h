#ifndef MTLM_GRAPH_RAMP_H
#define MTLM_GRAPH_RAMP_H

/* Batch ramp-up: the global batch grows in steps at the start of the
 * training. */

#include <stdint.h>

/* Batch ramp-up as Megatron-LM's --rampup-batch-size: from `start` samples per
 * iteration in equal steps of `increment` to `full`.  Each step lasts about the
 * same share of the first `samples` samples. */
struct mtlm_ramp {
    int64_t start, increment, samples; /* increment 0: full from the start */
    int64_t full;                      /* start + a multiple of increment */
};

/* Returns the samples of the iteration that begins after n consumed samples:
 * start + increment * floor(n / (samples / steps)); full beyond `samples`. */
int64_t mtlm_ramp_batch(const struct mtlm_ramp *ramp, int64_t n);

/* Position in a training: the next iteration, the samples consumed before that
 * iteration, and the samples of that iteration. */
struct mtlm_ramp_place {
    int64_t iteration, samples, batch;
};

/* Returns the position before the first iteration. */
struct mtlm_ramp_place mtlm_ramp_begin(const struct mtlm_ramp *ramp);

/* Returns the position at an iteration that begins after so many samples. */
struct mtlm_ramp_place mtlm_ramp_at(const struct mtlm_ramp *ramp,
                                    int64_t iteration, int64_t samples);

/* Advances place by one iteration. */
void mtlm_ramp_next(const struct mtlm_ramp *ramp,
                    struct mtlm_ramp_place *place);

/* Returns the number of iterations that Megatron-LM runs for `samples` samples:
 * those that begin within the ramp-up, then whole batches.  max: upper limit of
 * the result. */
int64_t mtlm_ramp_iterations(const struct mtlm_ramp *ramp, int64_t samples,
                             int64_t max);

/* The same count for a training that stands at place; the iterations before
 * place count. */
int64_t mtlm_ramp_iterations_from(const struct mtlm_ramp *ramp,
                                  struct mtlm_ramp_place place, int64_t samples,
                                  int64_t max);

#endif /* MTLM_GRAPH_RAMP_H */
