#ifndef MTLM_JOB_LAYOUT_H
#define MTLM_JOB_LAYOUT_H

#include "launch/job/job.h"

/* Layout and memory of the job: steps of the start. */

/* Refuses a given layout that does not fit the ranks. */
int mtlm_job_layout_check(struct mtlm_job *job, struct mtlm_error *err);

/* Chooses what the options leave open, within memory. */
int mtlm_job_layout_choose(struct mtlm_job *job, struct mtlm_error *err);

/* Sets job->advice: commands that would fit where this job does not. */
void mtlm_job_layout_advise(struct mtlm_job *job);

#endif /* MTLM_JOB_LAYOUT_H */
