#ifndef MTLM_STATE_COPY_H
#define MTLM_STATE_COPY_H

#include "launch/job/job.h"

/* A copy in host memory of what a training carries from iteration to iteration:
 * weights, masters, moments and counters of this rank.  A synthetic run has
 * counters only.  The copy outlives program and run. */
struct mtlm_state_copy;

/* Returns the bytes of a copy. */
size_t mtlm_state_copy_bytes(const struct mtlm_job *job);

/* Copies the state of job->run, in which no iteration runs.  The caller
 * destroys the copy. */
struct mtlm_state_copy *mtlm_state_copy_create(struct mtlm_job *job);

/* Gives the state to job->run, whose program has the same layout.  Call after
 * mtlm_run_init(). */
void mtlm_state_copy_restore(const struct mtlm_state_copy *copy,
                             struct mtlm_job *job);

/* Frees the copy. */
void mtlm_state_copy_destroy(struct mtlm_state_copy *copy);

#endif /* MTLM_STATE_COPY_H */
