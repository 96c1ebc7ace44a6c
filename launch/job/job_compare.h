#ifndef MTLM_JOB_COMPARE_H
#define MTLM_JOB_COMPARE_H

#include "launch/job/job.h"

/* Checks that all ranks run the same job: steps of the start.  Collective. */

/* Refuses ranks that run another program file. */
int mtlm_job_compare_programs(struct mtlm_job *job, struct mtlm_error *err);

/* Refuses ranks that have other settings. */
int mtlm_job_compare_settings(struct mtlm_job *job, struct mtlm_error *err);

/* Refuses ranks that read other data. */
int mtlm_job_compare_data(struct mtlm_job *job, struct mtlm_error *err);

#endif /* MTLM_JOB_COMPARE_H */
