#ifndef MTLM_JOB_RUN_H
#define MTLM_JOB_RUN_H

#include "launch/job/job.h"

/* The program of this rank, and its run.  A job whose plan changes has a second
 * one of both (launch/train/replan.h). */

/* Builds the program of job->wish, layout and data.  Sets program, activation,
 * plan and synthetic of the job.  Refuses a program with too many nodes or
 * messages to count, and one beyond StarPU's limits of memory.  A step of the
 * start. */
int mtlm_job_run_build(struct mtlm_job *job, struct mtlm_error *err);

/* Frees what mtlm_job_run_build() set. */
void mtlm_job_run_free_program(struct mtlm_job *job);

/* Creates the run of the program, which goes on from `begin`; also the order of
 * collectives and the advice for the policy, by evaluation.  The engine must be
 * running. */
void mtlm_job_run_create(struct mtlm_job *job,
                         const struct mtlm_ramp_place *begin);

/* Destroys the run and its order of collectives, if any.  Call
 * mtlm_run_wait() before. */
void mtlm_job_run_destroy(struct mtlm_job *job);

#endif /* MTLM_JOB_RUN_H */
