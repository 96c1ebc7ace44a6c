#ifndef MTLM_OPTIONS_SCHEDULE_H
#define MTLM_OPTIONS_SCHEDULE_H

#include "launch/options/options.h"

/* --schedule: the options that a schedule decides. */

/* Sets the options that the schedule decides.  Refuses (MTLM_EXIT_USAGE)
 * options that contradict the schedule. */
int mtlm_options_schedule_resolve(struct mtlm_options *options,
                                  struct mtlm_error *err);

/* Returns the entry of --schedule. */
const struct mtlm_schedule *mtlm_options_schedule(
    const struct mtlm_options *options);

/* Returns whether ranks follow the published order of --schedule. */
bool mtlm_options_schedule_follows(const struct mtlm_options *options);

/* Returns the name of --schedule, or the path of --schedule-file; borrowed. */
const char *mtlm_options_schedule_name(const struct mtlm_options *options);

#endif /* MTLM_OPTIONS_SCHEDULE_H */
