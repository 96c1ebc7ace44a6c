#ifndef MTLM_PLAN_NOISE_H
#define MTLM_PLAN_NOISE_H

/* A plan under --jitter or --jitter-file: the same noise for each
 * --schedule-mode. */

#include <stdio.h>

#include "graph/build/program.h"
#include "graph/predict/noise.h"
#include "launch/plan/plan_modes.h"
#include "runtime/base/error.h"

/* The draws of a plan. */
struct mtlm_plan_draws {
    const struct mtlm_noise *noise; /* borrowed; NULL: none */
    int64_t seed;                   /* the first one */
    int n, replicas; /* iterations, each as long as its slowest replica */
};

/* Iterations of every mode of a plan, by evaluation. */
struct mtlm_plan_noise {
    struct mtlm_plan_draws draws;
    int modes;
    struct mtlm_plan_mode mode[MTLM_PLAN_MODES];
    double *seconds; /* [modes][draws.n] */
};

/* Evaluates the modes of mtlm_plan_modes_list().  All modes have the same
 * noise: the first iteration of 20 seeds, from `seed` on; with a table, its
 * iterations.  noise NULL: one iteration without noise.  Under
 * STARPU_SCHED=mtlm, workers wait for messages as without noise.  without: as
 * in plan_modes.h.  The caller frees the result with mtlm_plan_noise_free().
 * The result borrows config and noise. */
struct mtlm_plan_noise mtlm_plan_noise_evaluate(
    const struct mtlm_program_config *config, const struct mtlm_noise *noise,
    int64_t seed, const char *without);

void mtlm_plan_noise_free(struct mtlm_plan_noise *plan);

/* Prints the mean iteration of the first mode, and how much longer or shorter
 * each other mode takes, in per cent of the first one, both with an interval of
 * 95 % (Student's t).  work_s: as in plan_modes.h. */
void mtlm_plan_noise_print(const struct mtlm_plan_noise *plan, double work_s,
                           FILE *out);

/* Writes every iteration as CSV: mode, seed, iteration, seconds.  The schedule
 * without its order is mode `emergent`.  Returns -1 and sets *err if the file
 * cannot be written. */
int mtlm_plan_noise_write(const struct mtlm_plan_noise *plan, const char *path,
                          struct mtlm_error *err);

#endif /* MTLM_PLAN_NOISE_H */
