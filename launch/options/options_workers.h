#ifndef MTLM_OPTIONS_WORKERS_H
#define MTLM_OPTIONS_WORKERS_H

#include "launch/options/options.h"

/* The compute workers of a rank on CPUs. */

/* Refuses (MTLM_EXIT_USAGE) more workers than StarPU has, in --workers or in a
 * variable of StarPU. */
int mtlm_options_workers_check(const struct mtlm_options *options,
                               struct mtlm_error *err);

/* Returns the number of workers: --workers, or the number in a variable of
 * StarPU.  Without both, each of the rank's `cores` has one, as far as StarPU
 * has workers.  Notes that cores are left over. */
int mtlm_options_workers(struct mtlm_options *options, int cores);

#endif /* MTLM_OPTIONS_WORKERS_H */
