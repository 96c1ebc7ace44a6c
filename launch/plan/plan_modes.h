#ifndef MTLM_PLAN_MODES_H
#define MTLM_PLAN_MODES_H

/* What each --schedule-mode makes of the order of a plan. */

#include <stdio.h>

#include "graph/build/program.h"
#include "graph/predict/work.h"

/* The modes of an order, and the schedule without the order. */
enum { MTLM_PLAN_MODES = MTLM_FOLLOW_WINDOWS + 2 };

struct mtlm_plan_mode {
    char name[40];
    bool without; /* the schedule without the order */
    struct mtlm_program_config config;
};

/* Sets mode[]: what a run makes of config's order in each mode, and without the
 * order.  without: the option that asks for the order; NULL: the schedule
 * always has its order.  Of a config without an order, sets the schedule
 * itself.  Returns the number of modes.
 *
 * Leaves out what a run refuses: windows beyond --act-mem; in mode strict, more
 * lanes than workers, and microbatches that descend. */
int mtlm_plan_modes_list(const struct mtlm_program_config *config,
                         const char *without,
                         struct mtlm_plan_mode mode[MTLM_PLAN_MODES]);

/* Returns how long workers of config wait for messages, as a share of a task's
 * duration (graph/predict/hold.h).  0: the policy never waits, a chain decides,
 * or no times are known. */
double mtlm_plan_modes_hold(const struct mtlm_program_config *config,
                            const struct mtlm_work *work);

/* Prints a line: the iteration in each mode of mtlm_plan_modes_list(), by
 * evaluation.  config has an order.  work_s: seconds of the busiest rank's
 * work, whose multiples are printed; 0: prints seconds. */
void mtlm_plan_modes_print(const struct mtlm_program_config *config,
                           const char *without, double work_s, FILE *out);

#endif /* MTLM_PLAN_MODES_H */
