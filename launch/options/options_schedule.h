#ifndef MTLM_OPTIONS_SCHEDULE_H
#define MTLM_OPTIONS_SCHEDULE_H

#include "launch/options/options.h"

/* --schedule: what the published schedules fix. */

/* Settles what the schedule fixes, and refuses options that contradict it. */
int mtlm_options_schedule_resolve(struct mtlm_options *options,
                                  struct mtlm_error *err);

/* As --schedule spells it; pipeline: enum mtlm_pipeline, or
 * MTLM_SCHEDULE_AUTO. */
const char *mtlm_options_schedule_name(int pipeline);

#endif /* MTLM_OPTIONS_SCHEDULE_H */
