#ifndef MTLM_SIMULATE_SIZE_H
#define MTLM_SIMULATE_SIZE_H

/* Whether this machine has the memory to simulate an iteration. */

#include "graph/build/program.h"
#include "launch/options/options.h"

/* Returns the number of tasks of an iteration of config, on all evaluated
 * ranks.  Takes the time of an outline of each pipeline rank: stages may be
 * unequal, and the first one empty. */
double mtlm_simulate_size_tasks(const struct mtlm_program_config *config);

/* Returns whether this machine can evaluate an iteration of so many tasks, as a
 * search of layouts does: without StarPU, and without outputs. */
bool mtlm_simulate_size_evaluates(double tasks);

/* Returns whether this machine can simulate an iteration of so many tasks, with
 * the engine and the outputs of the options. */
bool mtlm_simulate_size_fits(const struct mtlm_options *options, double tasks);

/* Refuses (MTLM_EXIT_RESOURCE) an iteration that is too large. */
int mtlm_simulate_size_check(const struct mtlm_options *options,
                             const struct mtlm_program_config *config,
                             struct mtlm_error *err);

#endif /* MTLM_SIMULATE_SIZE_H */
