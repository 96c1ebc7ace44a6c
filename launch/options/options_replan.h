#ifndef MTLM_OPTIONS_REPLAN_H
#define MTLM_OPTIONS_REPLAN_H

#include "launch/options/options.h"

/* Refuses --replan-after where nothing can be measured or changed: with
 * --dry-run, with --schedule-file, and without iterations behind the second
 * plan.  -1 with MTLM_EXIT_USAGE. */
int mtlm_options_replan_check(const struct mtlm_options *options,
                              struct mtlm_error *err);

#endif /* MTLM_OPTIONS_REPLAN_H */
