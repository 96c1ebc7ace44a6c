#ifndef MTLM_JOB_REPLAN_H
#define MTLM_JOB_REPLAN_H

#include "launch/job/job.h"

/* Whether and when the job makes its plan again (--replan-after). */

/* Sets job->replan_after, and places the traced iterations behind it unless the
 * options place them.  Without the option, a pipeline of --schedule auto makes
 * its plan again if no times are known and the run is long.  Notes an option
 * without effect.  Refuses (MTLM_EXIT_USAGE) traced iterations that begin
 * before the second plan.  A step of the start. */
int mtlm_job_replan_decide(struct mtlm_job *job, struct mtlm_error *err);

/* Returns whether the job measures an iteration, from 0, for the second
 * plan.  The first iteration is left out where others follow.  Of many
 * iterations, the last eight are measured. */
bool mtlm_job_replan_measures(const struct mtlm_job *job, int64_t iteration);

/* Returns the first iteration that the job measures. */
int64_t mtlm_job_replan_first(const struct mtlm_job *job);

/* Returns whether the plan is made again after that iteration. */
bool mtlm_job_replan_follows(const struct mtlm_job *job, int64_t iteration);

#endif /* MTLM_JOB_REPLAN_H */
