#ifndef MTLM_PLAN_SIZE_H
#define MTLM_PLAN_SIZE_H

/* Whether this machine has the memory to evaluate the schedule of a plan. */

#include "graph/build/program.h"
#include "runtime/base/error.h"

/* Refuses (MTLM_EXIT_RESOURCE) a schedule of too many microbatches.  pieces: of
 * F, B and W each on a stage (graph/predict/work.h); 1: for an order of boxes.
 */
int mtlm_plan_size_check(const struct mtlm_program_config *config, int pieces,
                         struct mtlm_error *err);

#endif /* MTLM_PLAN_SIZE_H */
