#ifndef MTLM_SCHEDULE_CHOICE_H
#define MTLM_SCHEDULE_CHOICE_H

#include "graph/predict/choose.h"
#include "launch/options/options.h"

/* The schedule of a layout: from the options before the layout is chosen,
 * checked and completed afterwards. */

/* Sets schedule, windows and activation memory in config from the options.
 * Call before a layout is chosen. */
void mtlm_schedule_choice_wish(const struct mtlm_options *options,
                               struct mtlm_program_config *config);

/* Sets the machine of --synthetic in wish: cluster, which wish borrows, with
 * --stretch and --slow-rank.  With times of --stage-times or --durations, these
 * count instead of the cluster. */
void mtlm_schedule_choice_wish_cluster(struct mtlm_wish *wish,
                                       const struct mtlm_options *options,
                                       const struct mtlm_cluster *cluster);

/* Checks the schedule against the chosen layout.  Refuses a schedule or times
 * that do not fit the layout (MTLM_EXIT_USAGE), and windows beyond --act-mem
 * (MTLM_EXIT_RESOURCE).  With --schedule auto, searches stages, placement,
 * windows and orders, sets them in wish, and adds a note to options; with
 * wish->stages_fixed, stages and placement stay.  With a cluster, sets
 * the times of the layout in options and wish.  If ranks follow a published
 * order, sets the order in options and wish, and adds a note.  So does a wish
 * with a schedule that --schedule auto chose before, without its order. */
int mtlm_schedule_choice_settle(struct mtlm_options *options,
                                struct mtlm_wish *wish,
                                const struct mtlm_choice *choice,
                                struct mtlm_error *err);

#endif /* MTLM_SCHEDULE_CHOICE_H */
