#ifndef MTLM_JOB_ADVICE_H
#define MTLM_JOB_ADVICE_H

#include "launch/job/job.h"

/* Evaluates how long workers of a job with pipeline ranks should wait for
 * messages, and tells the policy (mtlm_policy_advice() of mtlm/policy.h).
 * Workers of a program in mode strict wait for none.  Does nothing if no policy
 * watches nodes.  Call before the first task of a program. */
void mtlm_job_advise_policy(const struct mtlm_job *job);

#endif /* MTLM_JOB_ADVICE_H */
