#ifndef MTLM_FURTHER_MICROBATCH_H
#define MTLM_FURTHER_MICROBATCH_H

/* By how much a further microbatch makes an iteration longer, read from a
 * simulation of fewer microbatches. */

#include <stdbool.h>

#include "graph/build/program.h"
#include "graph/order/published.h"
#include "graph/predict/evaluate_program.h"

/* Returns whether ranks keep all microbatches: they run all F before all B.
 * published: the order that the ranks follow; NULL: none. */
bool mtlm_further_microbatch_phased(const struct mtlm_program_config *config,
                                    const struct mtlm_published *published);

/* Returns seconds: the mean time between two microbatches of the middle third
 * on the last rank.  microbatches: those of the run, a multiple of 3 p: both
 * microbatches then have the same place in their groups of p, in which
 * interleaved ranks work.  phased: all F come before all B, of one stage of a
 * rank after the other.  Then a microbatch makes each of these phases longer;
 * the first rank has the pace of B. */
double mtlm_further_microbatch_seconds(const struct mtlm_execution *run,
                                       const struct mtlm_layout *layout,
                                       int64_t microbatches, bool phased);

#endif /* MTLM_FURTHER_MICROBATCH_H */
