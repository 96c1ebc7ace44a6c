#ifndef MTLM_OPTIONS_REPLAN_H
#define MTLM_OPTIONS_REPLAN_H

#include "launch/options/options.h"

/* Refuses --replan-after where nothing can be measured or changed: with
 * --dry-run, with --schedule-file, and, on the command line, without iterations
 * behind the second plan.  A configuration file may serve a shorter run: a note
 * then says so (launch/job/job_replan.h).  -1 with MTLM_EXIT_USAGE. */
int mtlm_options_replan_check(const struct mtlm_options *options,
                              struct mtlm_error *err);

#endif /* MTLM_OPTIONS_REPLAN_H */
