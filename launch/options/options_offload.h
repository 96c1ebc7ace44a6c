#ifndef MTLM_OPTIONS_OFFLOAD_H
#define MTLM_OPTIONS_OFFLOAD_H

#include "launch/options/options.h"

/* Refuses options that --offload cannot hold with, and --offload-dir without
 * --offload.  -1 with MTLM_EXIT_USAGE. */
int mtlm_options_offload_check(const struct mtlm_options *options,
                               struct mtlm_error *err);

/* Returns whether the options ask for the plan of a described machine, which
 * needs no disk and no times (launch/plan/described.h). */
bool mtlm_options_offload_is_planned(const struct mtlm_options *options);

/* Returns the directory of offloaded state: --offload-dir, or the one in the
 * user's cache.  The caller frees the text.  NULL: the user has neither, which
 * the check refuses. */
char *mtlm_options_offload_dir(const struct mtlm_options *options);

/* Refuses options of the other place: of a disk where ranks drive GPUs, whose
 * state is offloaded to host memory; of host memory where they drive none.  -1
 * with MTLM_EXIT_USAGE. */
int mtlm_options_offload_check_gpus(const struct mtlm_options *options,
                                    bool gpus, struct mtlm_error *err);

#endif /* MTLM_OPTIONS_OFFLOAD_H */
