#ifndef MTLM_GRAPH_PLAN_SCRATCH_H
#define MTLM_GRAPH_PLAN_SCRATCH_H

/* Scratch of CPU kernels in a plan, in bytes of all workers of a rank. */

#include <stdbool.h>

#include "graph/build/program.h"

/* Returns the bytes of kernels; no_gpu_has: only of operations without a CUDA
 * kernel. */
double mtlm_plan_scratch_kernels(const struct mtlm_program *program,
                                 bool no_gpu_has);

/* Returns the part that initialising tensors takes, before a checkpoint is
 * read. */
double mtlm_plan_scratch_init(const struct mtlm_program *program);

#endif /* MTLM_GRAPH_PLAN_SCRATCH_H */
