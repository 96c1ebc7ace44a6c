#ifndef MTLM_JOB_TRANSPORT_H
#define MTLM_JOB_TRANSPORT_H

#include "launch/job/job.h"

/* The transport of collectives: steps of the start. */

/* Returns whether the job may use NCCL.  Called before GPUs are known. */
bool mtlm_job_transport_may_use_nccl(const struct mtlm_job *job);

/* Sets job->transport.  Refuses a --transport that this rank cannot use. */
int mtlm_job_transport_choose(struct mtlm_job *job, struct mtlm_error *err);

/* Refuses ranks with different versions of NCCL. */
int mtlm_job_transport_compare(struct mtlm_job *job, struct mtlm_error *err);

/* Prints a line about the transport, if there is a choice. */
void mtlm_job_transport_print(const struct mtlm_job *job);

/* Returns "NCCL 2.28.9" or "MPI"; NULL if there is no choice: on CPUs, or with
 * one rank. */
const char *mtlm_job_transport_name(const struct mtlm_job *job);

#endif /* MTLM_JOB_TRANSPORT_H */
