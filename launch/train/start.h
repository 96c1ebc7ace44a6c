#ifndef MTLM_START_H
#define MTLM_START_H

/* Start and stop of a job: which steps, in which order. */

#include "launch/job/job.h"

/* Starts all parts of the job from job->options and job->ranks.  Collective.
 * If a rank has an error, all ranks return -1; the rank with *print prints
 * *err.  If job->leaves, nothing was started, and this rank has nothing to
 * do. */
int mtlm_train_start(struct mtlm_job *job, struct mtlm_error *err, int *print);

/* Stops in reverse order whatever was started, except the ranks. */
void mtlm_train_stop(struct mtlm_job *job);

#endif /* MTLM_START_H */
