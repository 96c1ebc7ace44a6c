#ifndef MTLM_START_H
#define MTLM_START_H

/* Start and stop of a job: which steps, in which order. */

#include "launch/job/job.h"

/* Starts what training needs, from job->options and job->ranks.  Collective.
 * -1 on every rank when one has an error: *err, which the rank with *print
 * prints.  job->leaves: nothing was started, this rank has nothing to do. */
int mtlm_train_start(struct mtlm_job *job, struct mtlm_error *err, int *print);

/* Stops in reverse order whatever was started, except the ranks. */
void mtlm_train_stop(struct mtlm_job *job);

#endif /* MTLM_START_H */
