#ifndef MTLM_STATE_COPY_H
#define MTLM_STATE_COPY_H

#include "launch/job/job.h"

/* A copy in host memory of what a training carries from iteration to iteration:
 * weights, masters, moments and counters of this rank.  A synthetic run has
 * counters only.  The copy outlives program and run.
 *
 * Layers may change their pipeline rank.  The rank of the same tensor- and
 * data-parallel place receives them.  So ranks must not share moments and
 * masters (mtlm_buckets_sharded()) where a layer moves. */
struct mtlm_state_copy;

/* Returns the bytes of a copy that goes from job->program to the program
 * `after`: of tensors of this rank, and of those that it receives. */
size_t mtlm_state_copy_bytes(const struct mtlm_job *job,
                             const struct mtlm_program *after);

/* Copies the state of job->run, in which no iteration runs.  Exchanges the
 * layers that another rank has in the layout `after`, which differs in
 * stage_layers only.  Collective.  The caller destroys the copy. */
struct mtlm_state_copy *mtlm_state_copy_create(struct mtlm_job *job,
                                               const struct mtlm_layout *after);

/* Gives the state to job->run, whose program has the layout `after`.  Call
 * after mtlm_run_init(). */
void mtlm_state_copy_restore(const struct mtlm_state_copy *copy,
                             struct mtlm_job *job);

/* Frees the copy. */
void mtlm_state_copy_destroy(struct mtlm_state_copy *copy);

#endif /* MTLM_STATE_COPY_H */
