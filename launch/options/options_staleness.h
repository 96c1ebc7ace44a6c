#ifndef MTLM_OPTIONS_STALENESS_H
#define MTLM_OPTIONS_STALENESS_H

#include "launch/options/options.h"

/* Refuses options that --weight-staleness 1 cannot hold with: those that need
 * one version of the weights, or a result of the step before.  -1 with
 * MTLM_EXIT_USAGE. */
int mtlm_options_staleness_check(const struct mtlm_options *options,
                                 struct mtlm_error *err);

#endif /* MTLM_OPTIONS_STALENESS_H */
