#ifndef MTLM_OPTIONS_OFFLOAD_H
#define MTLM_OPTIONS_OFFLOAD_H

#include "launch/options/options.h"

/* Refuses options that --offload cannot hold with, and --offload-dir without
 * --offload.  -1 with MTLM_EXIT_USAGE. */
int mtlm_options_offload_check(const struct mtlm_options *options,
                               struct mtlm_error *err);

/* Returns the directory of offloaded state: --offload-dir, or the one in the
 * user's cache.  The caller frees the text.  NULL: the user has neither, which
 * the check refuses. */
char *mtlm_options_offload_dir(const struct mtlm_options *options);

/* Refuses GPUs: offloaded state goes between host memory and disk.  gpus: the
 * job's ranks drive some.  -1 with MTLM_EXIT_USAGE. */
int mtlm_options_offload_check_gpus(const struct mtlm_options *options,
                                    bool gpus, struct mtlm_error *err);

#endif /* MTLM_OPTIONS_OFFLOAD_H */
