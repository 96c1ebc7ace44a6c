#ifndef MTLM_JOB_OFFLOAD_H
#define MTLM_JOB_OFFLOAD_H

/* Offloaded state of a job: the file of this rank, or host memory beside its
 * GPU, and the threads that load and store. */

#include "launch/job/job.h"

/* One thread reads ahead while another one writes. */
enum { MTLM_JOB_OFFLOAD_THREADS = 2 };

/* A step of the start: checks the options, and that the file system has room
 * for all ranks of this machine.  Collective. */
int mtlm_job_offload_check(struct mtlm_job *job, struct mtlm_error *err);

/* A step of the start: creates the file and reserves its room.  Ranks with a
 * GPU need no file. */
int mtlm_job_offload_reserve(struct mtlm_job *job, struct mtlm_error *err);

/* Starts the threads, if the rank has offloaded state.  Allocates the host
 * memory of a rank with a GPU.  StarPU is running.  Collective. */
void mtlm_job_offload_start(struct mtlm_job *job);

/* Prints sizes and directory.  Rank 0 only. */
void mtlm_job_offload_print(const struct mtlm_job *job);

/* Stops the threads after all requests.  Prints why a disk refused state of
 * this rank, if one did. */
void mtlm_job_offload_stop(struct mtlm_job *job);

/* Returns whether the disk of any rank refused state.  Collective. */
bool mtlm_job_offload_failed(const struct mtlm_job *job);

#endif /* MTLM_JOB_OFFLOAD_H */
