#ifndef MTLM_GRAPH_RAMP_H
#define MTLM_GRAPH_RAMP_H

/* Batch ramp-up: the global batch grows in steps at the start of the
 * training. */

#include <stdint.h>

/* Batch ramp-up as Megatron-LM's --rampup-batch-size.  The batch grows from
 * `start` to `full` samples per iteration, in steps of `increment` samples.
 * The ramp-up lasts for `samples` samples, shared evenly among the steps. */
struct mtlm_ramp {
    int64_t start, increment, samples; /* increment 0: no ramp-up */
    int64_t full;                      /* start + a multiple of increment */
};

/* Returns the batch, in samples, of the iteration that begins after n consumed
 * samples.  The first matching line holds.
 *
 *   no ramp-up, or n > samples   full
 *   else                         start + increment floor(n steps / samples),
 *                                steps = (full - start) / increment */
int64_t mtlm_ramp_batch(const struct mtlm_ramp *ramp, int64_t n);

/* Position in a training, between two iterations: number of the next iteration
 * (from 0), samples consumed so far, samples of the next iteration. */
struct mtlm_ramp_place {
    int64_t iteration, samples, batch;
};

/* Returns the position before the first iteration. */
struct mtlm_ramp_place mtlm_ramp_begin(const struct mtlm_ramp *ramp);

/* Returns the position before `iteration`, after `samples` consumed samples. */
struct mtlm_ramp_place mtlm_ramp_at(const struct mtlm_ramp *ramp,
                                    int64_t iteration, int64_t samples);

/* Advances place by one iteration. */
void mtlm_ramp_next(const struct mtlm_ramp *ramp,
                    struct mtlm_ramp_place *place);

/* Returns the number of iterations that Megatron-LM runs for `samples` samples,
 * at most max.  An iteration within the ramp-up counts if at most `samples`
 * samples precede it.  An iteration after the ramp-up counts if it ends within
 * the samples. */
int64_t mtlm_ramp_iterations(const struct mtlm_ramp *ramp, int64_t samples,
                             int64_t max);

/* Returns the number of iterations, as above, of a training that continues at
 * place.  The number includes the iterations before place. */
int64_t mtlm_ramp_iterations_from(const struct mtlm_ramp *ramp,
                                  struct mtlm_ramp_place place, int64_t samples,
                                  int64_t max);

#endif /* MTLM_GRAPH_RAMP_H */
