#ifndef MTLM_STARPU_RUN_H
#define MTLM_STARPU_RUN_H

#include "launch/simulate/folded_run.h"

/* Runs an evaluated job again under StarPU's policy, in virtual time
 * (graph/predict/virtual_program.h).  Replaces the execution of run, and sets
 * evaluated_s.  Messages take no turns: options refuse --transport serial with
 * this engine.  Fails as mtlm_virtual_run(). */
int mtlm_starpu_run(struct mtlm_folded_run *run, struct mtlm_error *err);

#endif /* MTLM_STARPU_RUN_H */
