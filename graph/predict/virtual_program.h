#ifndef MTLM_GRAPH_VIRTUAL_PROGRAM_H
#define MTLM_GRAPH_VIRTUAL_PROGRAM_H

/* Programs under a real scheduling policy, in virtual time: StarPU with SimGrid
 * runs the tasks of an evaluation (runtime/virtual/child.h). */

#include "graph/predict/evaluate_program.h"
#include "runtime/virtual/child.h"

/* Runs the programs of job under the policy of STARPU_SCHED.  evaluated: the
 * evaluation of the same job, which supplies tasks and durations.  The result
 * has the same nodes, with the times that StarPU reached.
 *
 * A rank has a worker for each of its compute workers, and one worker each for
 * messages of tensor, pipeline and data parallelism.  A message occupies the
 * sender's worker; a collective, the worker of the first of its ranks.  Data
 * order the tasks as in a run; all tasks are submitted before the first one
 * starts.
 *
 * policy [64]: the name of the policy in force.  The caller frees the result
 * with mtlm_execution_free().  Fails as mtlm_virtual_run(). */
int mtlm_virtual_program(const struct mtlm_evaluate_program *job,
                         const struct mtlm_execution *evaluated,
                         const struct mtlm_virtual_config *config,
                         struct mtlm_execution *run, char *policy,
                         struct mtlm_error *err);

/* Builds the job for mtlm-dag-sim.  number[]: of each task of the evaluation,
 * its index in the job; has room for evaluated->n tasks.  The caller frees the
 * job with mtlm_virtual_job_free(). */
struct mtlm_virtual_job mtlm_virtual_program_job(
    const struct mtlm_evaluate_program *job,
    const struct mtlm_execution *evaluated, int64_t *number);

#endif /* MTLM_GRAPH_VIRTUAL_PROGRAM_H */
