#ifndef MTLM_JOB_LAYOUT_H
#define MTLM_JOB_LAYOUT_H

#include "launch/job/job.h"

/* Layout and memory of the job: steps of the start. */

/* Refuses a given layout that does not fit the ranks. */
int mtlm_job_layout_check(struct mtlm_job *job, struct mtlm_error *err);

/* Chooses the layout and micro batch that the options leave open, such that the
 * job fits into memory. */
int mtlm_job_layout_choose(struct mtlm_job *job, struct mtlm_error *err);

/* Sets job->advice: commands that would fit, for a job that does not fit. */
void mtlm_job_layout_advise(struct mtlm_job *job);

#endif /* MTLM_JOB_LAYOUT_H */
