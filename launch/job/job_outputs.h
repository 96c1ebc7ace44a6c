#ifndef MTLM_JOB_OUTPUTS_H
#define MTLM_JOB_OUTPUTS_H

#include "launch/job/job.h"

/* Files that the job writes: probed and opened before the run. */

/* Refuses output directories that cannot be written, that have to be empty, or
 * that another job writes.  Locks the directories of --trace and --dump-logits
 * for this job. */
int mtlm_job_outputs_probe(struct mtlm_job *job, struct mtlm_error *err);

/* Makes dir if there is none, and locks dir for this process.  Refuses a dir
 * that is not empty, that cannot be written, or that another job writes.
 * option: names dir in an error.  *made: dir is new. */
int mtlm_job_outputs_take(const char *dir, const char *option, bool *made,
                          int *lock, struct mtlm_error *err);

/* Unlocks dir, which no job uses from now on. */
void mtlm_job_outputs_leave(const char *dir, int *lock);

/* Opens job->metrics on the last rank. */
int mtlm_job_outputs_open_metrics(struct mtlm_job *job, struct mtlm_error *err);

/* Writes settings and layout of the job to job->metrics. */
void mtlm_job_outputs_begin_metrics(struct mtlm_job *job);

/* Closes job->metrics and removes the directories that this rank made.  For a
 * job whose start failed. */
void mtlm_job_outputs_remove(struct mtlm_job *job);

/* Unlocks the directories. */
void mtlm_job_outputs_end(struct mtlm_job *job);

#endif /* MTLM_JOB_OUTPUTS_H */
