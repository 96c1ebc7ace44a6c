#ifndef MTLM_JOB_TRANSPORT_H
#define MTLM_JOB_TRANSPORT_H

#include "launch/job/job.h"

/* What carries the collectives: steps of the start. */

/* Whether the job may use NCCL, as far as known before GPUs are. */
bool mtlm_job_transport_may_use_nccl(const struct mtlm_job *job);

/* Sets job->transport.  Refuses a --transport that this rank cannot have. */
int mtlm_job_transport_choose(struct mtlm_job *job, struct mtlm_error *err);

/* Refuses ranks with different versions of NCCL. */
int mtlm_job_transport_compare(struct mtlm_job *job, struct mtlm_error *err);

/* Prints a line about the transport where there is a choice. */
void mtlm_job_transport_print(const struct mtlm_job *job);

/* "NCCL 2.28.9" or "MPI"; NULL on CPUs or with one rank, where there is no
 * choice. */
const char *mtlm_job_transport_name(const struct mtlm_job *job);

#endif /* MTLM_JOB_TRANSPORT_H */
