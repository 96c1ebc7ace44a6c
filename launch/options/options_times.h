#ifndef MTLM_OPTIONS_TIMES_H
#define MTLM_OPTIONS_TIMES_H

#include "launch/options/options.h"

/* Reads options->times from --stage-times or --durations.  Refuses both.  -1
 * with MTLM_EXIT_USAGE. */
int mtlm_options_times_resolve(struct mtlm_options *options,
                               struct mtlm_error *err);

#endif /* MTLM_OPTIONS_TIMES_H */
