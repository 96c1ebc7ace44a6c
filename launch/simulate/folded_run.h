#ifndef MTLM_FOLDED_RUN_H
#define MTLM_FOLDED_RUN_H

/* An iteration of a job, evaluated on some of the job's ranks: the first rank
 * of each tensor-parallel group, in one data-parallel replica.  The other ranks
 * do the same at the same times (graph/predict/evaluate_program.h). */

#include "graph/predict/pipeline_programs.h"

struct mtlm_folded_run {
    const struct mtlm_cluster *cluster; /* borrowed */
    struct mtlm_pipeline_programs programs;
    const char *policy; /* STARPU_SCHED, or the default */
    double hold;        /* as in struct mtlm_evaluate_program */
    bool hold_given;    /* else mtlm_folded_run_evaluate() chooses hold */
    struct mtlm_execution execution;
    /* After mtlm_starpu_run(): the makespan before, of the evaluator; else 0.
     */
    double evaluated_s;
};

/* Returns the programs of config, not yet evaluated.  Borrows cluster.  The
 * caller frees the run with mtlm_folded_run_free(). */
struct mtlm_folded_run mtlm_folded_run_create(
    const struct mtlm_program_config *config,
    const struct mtlm_cluster *cluster);

/* Lets the computation have the noise of one iteration, which is borrowed. Call
 * before mtlm_folded_run_evaluate(). */
void mtlm_folded_run_add_noise(struct mtlm_folded_run *run,
                               const struct mtlm_noise *noise, uint64_t seed);

/* Returns the bytes of the fullest device. */
double mtlm_folded_run_memory(const struct mtlm_folded_run *run);

/* Returns the bytes of the fullest host, on which per_host ranks share memory.
 */
double mtlm_folded_run_host_memory(const struct mtlm_folded_run *run,
                                   int per_host);

/* Returns whether ranks follow the chains of published code
 * (mtlm_pipeline_programs_chained()). */
bool mtlm_folded_run_chains(const struct mtlm_folded_run *run);

/* Returns what mtlm_folded_run_evaluate() evaluates; borrows run. */
struct mtlm_evaluate_program mtlm_folded_run_job(struct mtlm_folded_run *run,
                                                 bool serial);

/* Evaluates one iteration from an idle machine.  Ready nodes start by priority;
 * with the policy mtlm, workers wait by the hold rule where those of this
 * StarPU may (mtlm_plugin_may_hold()).  With noise, the execution is that of
 * the slowest replica.  serial: a rank takes part in one collective at a time.
 */
void mtlm_folded_run_evaluate(struct mtlm_folded_run *run, bool serial);

/* Returns whether the ranks left out do the same at the same times: the ranks
 * of a tensor-parallel group, and of a stage, lie alike on the hosts. */
bool mtlm_folded_run_is_exact(const struct mtlm_folded_run *run);

/* Frees programs and execution. */
void mtlm_folded_run_free(struct mtlm_folded_run *run);

#endif /* MTLM_FOLDED_RUN_H */
