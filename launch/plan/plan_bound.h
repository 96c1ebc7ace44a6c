#ifndef MTLM_PLAN_BOUND_H
#define MTLM_PLAN_BOUND_H

/* Lower bounds beside the evaluation of a plan, and that of --bound lp. */

#include <stdio.h>

#include "graph/predict/work.h"
#include "runtime/base/error.h"

/* Returns which schedules of config the bounds hold for.  An empty text: all.
 * " of whole passes": in a run, workers share a pass, and tensor-parallel
 * collectives end beside other passes.  " with B and W as one": the config has
 * a fused schedule; others send the result of B before W.  " that flushes":
 * iterations of stale weights overlap. */
const char *mtlm_plan_bound_of(const struct mtlm_program_config *config);

/* Prints the largest lower bound of every schedule that needs no more memory
 * than the plan, or than config->act_mem; mtlm_plan_bound_of() says which
 * schedules.  path: also writes the proof to this file; NULL: does not.
 * Returns -1 and sets *err if a rank has several workers, if no program proves
 * anything to write, or if the file cannot be written. */
int mtlm_plan_bound(const struct mtlm_program_config *config,
                    const struct mtlm_work *work,
                    const struct mtlm_evaluation *evaluation, const char *path,
                    FILE *out, struct mtlm_error *err);

#endif /* MTLM_PLAN_BOUND_H */
