#ifndef MTLM_OPTIONS_SYNTHETIC_H
#define MTLM_OPTIONS_SYNTHETIC_H

#include "graph/predict/stage_cost.h"
#include "launch/options/options.h"

/* --synthetic: the options that a synthetic run takes or refuses. */

/* Reads the file of --jitter-file.  -1 with MTLM_EXIT_USAGE and a sentence. */
int mtlm_options_synthetic_resolve(struct mtlm_options *options,
                                   struct mtlm_error *err);

/* Returns the machine of a run on the cluster, which is borrowed, or NULL: with
 * --stretch and --slow-rank. */
struct mtlm_stage_cost mtlm_options_machine(const struct mtlm_options *options,
                                            const struct mtlm_cluster *cluster);

/* Refuses options that need computed values, and options that need
 * --synthetic. */
int mtlm_options_synthetic_check(const struct mtlm_options *options,
                                 struct mtlm_error *err);

#endif /* MTLM_OPTIONS_SYNTHETIC_H */
