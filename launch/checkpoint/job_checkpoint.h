#ifndef MTLM_JOB_CHECKPOINT_H
#define MTLM_JOB_CHECKPOINT_H

/* Checkpoints at the start and the end of a job.  Functions that return int are
 * steps of the start.  A step returns 0, or -1 and sets *err on this rank. */

#include "launch/checkpoint/checkpoint.h"
#include "launch/job/job.h"

/* Finds the newest checkpoint of --load that is whole.  Sets job->load_path and
 * job->loaded to this checkpoint, and job->damaged to the damaged ones.
 * Without --load, or with an empty directory for a first start, sets neither.
 * Sets job->begin to the start of training.  Collective. */
int mtlm_job_checkpoint_find(struct mtlm_job *job, struct mtlm_error *err);

/* Checks that the loaded checkpoint fits model, tokenizer and samples.  Sets
 * job->begin to the position of the first iteration, and the iterations to
 * trace.  Notes an --inject-nan that the run does not reach. */
int mtlm_job_checkpoint_check(struct mtlm_job *job, struct mtlm_error *err);

/* Locks --save against other jobs, on rank 0.  Removes uncommitted checkpoints.
 * Refuses (MTLM_EXIT_USAGE) a directory with a checkpoint of another
 * training. */
int mtlm_job_checkpoint_lock(struct mtlm_job *job, struct mtlm_error *err);

/* Checks that the file system of --save has room for one checkpoint, and that
 * all ranks see the directory.  Sets job->checkpoint_bytes and
 * job->begin_is_saved.  Collective. */
int mtlm_job_checkpoint_space(struct mtlm_job *job, struct mtlm_error *err);

/* A step of the start: refuses ranks that see another --save directory of that
 * name, by the lock of rank 0 there.  Collective. */
int mtlm_job_checkpoint_compare(struct mtlm_job *job, struct mtlm_error *err);

/* Returns whether the job loads Adam's moments and counters, too. */
bool mtlm_job_checkpoint_loads_moments(const struct mtlm_job *job);

/* Returns whether the job starts with its own tensor, whatever the checkpoint
 * has: that of a new head. */
bool mtlm_job_checkpoint_leaves(const struct mtlm_job *job,
                                const struct mtlm_checkpoint_tensor *tensor);

/* Returns whether the job may start with a checkpoint that lacks the tensor: of
 * a new head, for example. */
bool mtlm_job_checkpoint_may_lack(const struct mtlm_job *job,
                                  const struct mtlm_checkpoint_tensor *tensor);

/* Prints the loaded checkpoint and the directory of new ones.  Rank 0 only. */
void mtlm_job_checkpoint_print(const struct mtlm_job *job);

/* Frees job->load_path and job->loaded. */
void mtlm_job_checkpoint_forget(struct mtlm_job *job);

/* Frees all of the job's checkpoint data, and unlocks --save. */
void mtlm_job_checkpoint_end(struct mtlm_job *job);

#endif /* MTLM_JOB_CHECKPOINT_H */
