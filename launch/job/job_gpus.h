#ifndef MTLM_JOB_GPUS_H
#define MTLM_JOB_GPUS_H

#include "launch/job/job.h"

/* Which rank drives which GPU: steps of the start. */

/* Finds the GPUs of this host. */
int mtlm_job_gpus_find(struct mtlm_job *job, struct mtlm_error *err);

/* Gives each rank a GPU; ranks without one leave job->ranks. */
int mtlm_job_gpus_share(struct mtlm_job *job, struct mtlm_error *err);

/* Begins to use this rank's GPU, if it has one. */
int mtlm_job_gpus_begin(struct mtlm_job *job, struct mtlm_error *err);

/* Measures what a rank may take of its GPU, in bytes. */
int mtlm_job_gpus_measure(struct mtlm_job *job, struct mtlm_error *err);

/* Bytes that the plan takes of the host's memory where this rank drives a
 * GPU. */
double mtlm_job_gpus_beside_bytes(const struct mtlm_job *job);

#endif /* MTLM_JOB_GPUS_H */
