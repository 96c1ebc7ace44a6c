#ifndef MTLM_GRAPH_RAMP_H
#define MTLM_GRAPH_RAMP_H

/* Batch ramp-up: the global batch grows in steps at the start of the
 * training. */

#include <stdint.h>

/* Batch ramp-up as Megatron-LM's --rampup-batch-size.  The batch grows from
 * `start` to `full` samples per iteration, in steps of `increment` samples.
 * Each step lasts about the same share of the first `samples` samples. */
struct mtlm_ramp {
    int64_t start, increment, samples; /* increment 0: full from the start */
    int64_t full;                      /* start + a multiple of increment */
};

/* Returns the samples of the iteration that begins after n consumed samples:
 * start + increment * floor(n / (samples / steps)), where steps = (full -
 * start) / increment.  Returns full if n is above `samples`. */
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

/* Returns the number of iterations that Megatron-LM runs for `samples` samples,
 * at most max.  Iterations that begin within the ramp-up count; after the
 * ramp-up only whole batches count. */
int64_t mtlm_ramp_iterations(const struct mtlm_ramp *ramp, int64_t samples,
                             int64_t max);

/* Returns the same count for a training that stands at place.  The count
 * includes the iterations before place. */
int64_t mtlm_ramp_iterations_from(const struct mtlm_ramp *ramp,
                                  struct mtlm_ramp_place place, int64_t samples,
                                  int64_t max);

#endif /* MTLM_GRAPH_RAMP_H */
