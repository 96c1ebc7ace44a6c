#ifndef MTLM_SHORTER_H
#define MTLM_SHORTER_H

/* What would shorten a simulated iteration: the published order of the
 * schedule, or workers that wait. */

#include <stdio.h>

#include "launch/options/options.h"
#include "launch/simulate/folded_run.h"

/* Seconds of an iteration.  0: not shorter by 0.5 %, or unknown. */
struct mtlm_shorter {
    double given_s;  /* of the run */
    double strict_s; /* --schedule-mode strict */
    double wait_s;   /* STARPU_SCHED=mtlm */
};

/* Of mtlm_simulate_seconds(). */
typedef int mtlm_simulate_function(struct mtlm_options *options,
                                   const struct mtlm_cluster *cluster,
                                   double *seconds, struct mtlm_error *err);

/* Simulates the job of the run in other ways.  before: the options before the
 * schedule was settled, with the layout of the run.  Simulates nothing for a
 * single stage, for chains, noise, published code (--as), StarPU's engine,
 * schedules that are searched, and iterations of more than MTLM_MANY_NODES
 * nodes; and no waits where STARPU_SCHED or STARPU_SCHED_LIB is set. */
struct mtlm_shorter mtlm_shorter_find(struct mtlm_folded_run *run,
                                      const struct mtlm_options *before,
                                      mtlm_simulate_function *simulate);

/* Prints what is shorter, if anything is. */
void mtlm_shorter_print(const struct mtlm_shorter *shorter, FILE *out);

#endif /* MTLM_SHORTER_H */
