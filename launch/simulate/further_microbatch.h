#ifndef MTLM_FURTHER_MICROBATCH_H
#define MTLM_FURTHER_MICROBATCH_H

/* By how much a further microbatch makes an iteration longer, read from two
 * simulations of fewer microbatches. */

#include <stdbool.h>

#include "graph/build/program.h"

/* Numbers of microbatches that fill the pipeline, both multiples of p:
 * interleaved ranks work in groups of p. */
struct mtlm_further_microbatch {
    int64_t less, few;
};

struct mtlm_further_microbatch mtlm_further_microbatch_of(int p);

/* Returns whether the difference of the two shows the pace of an iteration
 * without an order.  It does if both fill the windows, or if every stage has
 * room for all microbatches of the iteration, which config has.  Else only the
 * work of the busiest rank does, of which W waits at first. */
bool mtlm_further_microbatch_shows(const struct mtlm_program_config *config);

#endif /* MTLM_FURTHER_MICROBATCH_H */
