#ifndef MTLM_OPTIONS_SCHEDULE_H
#define MTLM_OPTIONS_SCHEDULE_H

#include "launch/options/options.h"

/* --schedule: what a schedule fixes. */

/* Sets what the schedule fixes, and refuses (MTLM_EXIT_USAGE) options that
 * contradict it. */
int mtlm_options_schedule_resolve(struct mtlm_options *options,
                                  struct mtlm_error *err);

/* Returns the entry of --schedule. */
const struct mtlm_schedule *mtlm_options_schedule(
    const struct mtlm_options *options);

#endif /* MTLM_OPTIONS_SCHEDULE_H */
