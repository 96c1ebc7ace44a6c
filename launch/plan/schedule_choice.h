#ifndef MTLM_SCHEDULE_CHOICE_H
#define MTLM_SCHEDULE_CHOICE_H

#include "graph/predict/choose.h"
#include "launch/options/options.h"

/* The schedule of a layout: what the options wish, and what comes of it once
 * the layout is chosen. */

/* Sets schedule, window and activation memory in config, before a layout is
 * chosen. */
void mtlm_schedule_choice_wish(const struct mtlm_options *options,
                               struct mtlm_program_config *config);

/* Settles the schedule of the chosen layout; --schedule auto changes wish, and
 * notes what it found.  Refuses a schedule that does not go with the layout
 * (MTLM_EXIT_USAGE), and windows beyond --act-mem (MTLM_EXIT_RESOURCE). */
int mtlm_schedule_choice_settle(struct mtlm_options *options,
                                struct mtlm_wish *wish,
                                const struct mtlm_choice *choice,
                                struct mtlm_error *err);

#endif /* MTLM_SCHEDULE_CHOICE_H */
