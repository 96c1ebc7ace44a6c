#ifndef MTLM_PLAN_MODES_H
#define MTLM_PLAN_MODES_H

/* What each --schedule-mode makes of the order of a plan. */

#include <stdio.h>

#include "graph/build/program.h"

/* Prints a line: the iteration of config's order in each mode, by evaluation,
 * and without the order.  without: the option that asks for the order; NULL:
 * the schedule always has its order.  work_s: seconds of the busiest rank's
 * work, whose multiples are printed; 0: prints seconds.
 *
 * Leaves out what a run refuses: windows beyond --act-mem; in mode strict, more
 * lanes than workers, and microbatches that descend. */
void mtlm_plan_modes_print(const struct mtlm_program_config *config,
                           const char *without, double work_s, FILE *out);

#endif /* MTLM_PLAN_MODES_H */
