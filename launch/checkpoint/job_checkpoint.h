#ifndef MTLM_JOB_CHECKPOINT_H
#define MTLM_JOB_CHECKPOINT_H

/* What the start and the end of a job do about checkpoints.  Functions that
 * return int are steps of the start: 0, or -1 and *err on this rank. */

#include "launch/job/job.h"

/* Fills in job->load_path, job->loaded, job->begin and job->damaged from the
 * newest whole checkpoint of --load.  Collective. */
int mtlm_job_checkpoint_find(struct mtlm_job *job, struct mtlm_error *err);

/* Checks that the checkpoint fits model, tokenizer and samples; sets the first
 * iteration, and the iterations to trace. */
int mtlm_job_checkpoint_check(struct mtlm_job *job, struct mtlm_error *err);

/* Rank 0 locks --save against other jobs and against another training. */
int mtlm_job_checkpoint_lock(struct mtlm_job *job, struct mtlm_error *err);

/* Checks that the file system of --save has room for one checkpoint. */
int mtlm_job_checkpoint_space(struct mtlm_job *job, struct mtlm_error *err);

/* Whether the job loads Adam's moments and counters, too. */
bool mtlm_job_checkpoint_loads_moments(const struct mtlm_job *job);

/* Prints what was loaded and where checkpoints go.  For rank 0. */
void mtlm_job_checkpoint_print(const struct mtlm_job *job);

/* Frees job->load_path and job->loaded. */
void mtlm_job_checkpoint_forget(struct mtlm_job *job);

/* Frees everything, and unlocks --save. */
void mtlm_job_checkpoint_end(struct mtlm_job *job);

#endif /* MTLM_JOB_CHECKPOINT_H */
