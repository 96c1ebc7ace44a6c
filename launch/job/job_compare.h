#ifndef MTLM_JOB_COMPARE_H
#define MTLM_JOB_COMPARE_H

#include "launch/job/job.h"

/* Whether all ranks mean the same: steps of the start. */

/* Refuse ranks that run another program file, have other settings, or read
 * other data. */
int mtlm_job_compare_programs(struct mtlm_job *job, struct mtlm_error *err);
int mtlm_job_compare_settings(struct mtlm_job *job, struct mtlm_error *err);
int mtlm_job_compare_data(struct mtlm_job *job, struct mtlm_error *err);

#endif /* MTLM_JOB_COMPARE_H */
