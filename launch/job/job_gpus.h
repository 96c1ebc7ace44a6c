#ifndef MTLM_JOB_GPUS_H
#define MTLM_JOB_GPUS_H

#include "launch/job/job.h"

/* The choice of a GPU for each rank: steps of the start. */

/* Sets job->gpus to the GPUs of this host; none in a synthetic run. */
int mtlm_job_gpus_find(struct mtlm_job *job, struct mtlm_error *err);

/* Sets job->gpu, -1: none.  If only some ranks get a GPU, the others leave
 * job->ranks (job->leaves).  Collective. */
int mtlm_job_gpus_share(struct mtlm_job *job, struct mtlm_error *err);

/* Opens this rank's GPU, if job->gpu is one. */
int mtlm_job_gpus_begin(struct mtlm_job *job, struct mtlm_error *err);

/* Measures the GPU memory in bytes that a rank may take.  Sets
 * job->gpu_free_bytes, gpu_bytes, gpu_unshared_bytes and gpu_text.  Collective
 * of the ranks with a GPU. */
int mtlm_job_gpus_measure(struct mtlm_job *job, struct mtlm_error *err);

/* Refuses (MTLM_EXIT_RESOURCE) a host with too little memory for what the ranks
 * keep beside their GPUs.  Collective of the ranks with a GPU. */
int mtlm_job_gpus_check_host(const struct mtlm_job *job,
                             struct mtlm_error *err);

/* Returns the bytes of host memory that job->plan takes if this rank has a
 * GPU. */
double mtlm_job_gpus_beside_bytes(const struct mtlm_job *job);

#endif /* MTLM_JOB_GPUS_H */
