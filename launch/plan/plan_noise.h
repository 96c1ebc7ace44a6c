#ifndef MTLM_PLAN_NOISE_H
#define MTLM_PLAN_NOISE_H

/* A plan under --jitter or --jitter-file: the same noise for each
 * --schedule-mode. */

#include <stdio.h>

#include "graph/build/program.h"
#include "graph/predict/noise.h"

/* Prints the mean iteration of the first mode (mtlm_plan_modes_list()), and how
 * much longer or shorter each other mode takes, in per cent of the first one,
 * both with an interval of 95 % (Student's t).  Evaluates the first iteration
 * of 20 seeds, from `seed` on; with a table, its iterations, each as long as
 * its slowest replica.  All modes have the same noise.  Under
 * STARPU_SCHED=mtlm, workers wait for messages as without noise.  without,
 * work_s: as in plan_modes.h. */
void mtlm_plan_noise_print(const struct mtlm_program_config *config,
                           const struct mtlm_noise *noise, int64_t seed,
                           const char *without, double work_s, FILE *out);

#endif /* MTLM_PLAN_NOISE_H */
