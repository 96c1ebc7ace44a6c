#ifndef MTLM_OPTIONS_SEEDS_H
#define MTLM_OPTIONS_SEEDS_H

#include "launch/options/options.h"

/* --seeds: a fine-tuning that is repeated with each seed of a list. */

/* Reads the list, and refuses what is for one run.  Call before any value
 * follows from another.  -1 and MTLM_EXIT_USAGE. */
int mtlm_options_seeds_read(struct mtlm_options *options,
                            struct mtlm_error *err);

/* Makes options those of the run with this seed, which saves to and continues
 * from the directory seed-SEED in that of --save. */
void mtlm_options_seeds_choose(struct mtlm_options *options, int64_t seed);

#endif /* MTLM_OPTIONS_SEEDS_H */
