#ifndef MTLM_FURTHER_MICROBATCH_H
#define MTLM_FURTHER_MICROBATCH_H

/* By how much a further microbatch makes an iteration longer, read from two
 * simulations of fewer microbatches. */

#include <stdbool.h>

#include "graph/build/program.h"
#include "graph/order/published.h"

/* Returns whether every stage has room for all microbatches until W.
 * published: the order that the ranks follow; NULL: none. */
bool mtlm_further_microbatch_phased(const struct mtlm_program_config *config,
                                    const struct mtlm_published *published);

/* Numbers of microbatches, both multiples of p: interleaved ranks work in
 * groups of p. */
struct mtlm_further_microbatch {
    int64_t less, few;
};

/* Returns two numbers from which on an iteration grows in proportion to its
 * microbatches: the pipeline is full, and no stage has room left for W to wait,
 * unless every stage has room for all.  A stage with more work than the others
 * may fill its room later.  published: as above. */
struct mtlm_further_microbatch mtlm_further_microbatch_take(
    const struct mtlm_program_config *config,
    const struct mtlm_published *published);

#endif /* MTLM_FURTHER_MICROBATCH_H */
