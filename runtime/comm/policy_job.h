#ifndef MTLM_POLICY_JOB_H
#define MTLM_POLICY_JOB_H

#include <mtlm/policy.h>

/* What policies learn about the job: each rank's place, and the activation
 * slots of its virtual stages (mtlm/policy.h).  Any thread may call. */

/* A virtual stage of a rank. */
struct mtlm_policy_job_chunk {
    int32_t w, q; /* slots of tensors that B reads last; additional slots of
                   * tensors that W reads last */
    int32_t backward_tasks, weight_tasks; /* of a microbatch */
};

/* Sets the place of a rank.  chunk [job->virtual_stages]: copied.  All slots
 * are free afterwards.  Call while no task runs. */
void mtlm_policy_job_set(int rank, const struct mtlm_policy_job *job,
                         const struct mtlm_policy_job_chunk *chunk);

/* A node starts: the first task of F takes slots. */
void mtlm_policy_job_started(const struct mtlm_policy_node *node);

/* A node ends: the last task of B or W to end frees a slot. */
void mtlm_policy_job_ended(const struct mtlm_policy_node *node);

#endif /* MTLM_POLICY_JOB_H */
