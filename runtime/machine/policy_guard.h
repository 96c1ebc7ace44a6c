#ifndef MTLM_POLICY_GUARD_H
#define MTLM_POLICY_GUARD_H

/* A guard around a user's scheduling policy.  StarPU trusts a policy: a task
 * that starts twice is freed memory, and a task on a wrong worker starts again
 * and again. */

#include <stdbool.h>

#include <mtlm/policy.h>

struct starpu_sched_policy;

/* Returns a policy that does as `policy`, whose functions the guard borrows.
 * Ends the job with MTLM_EXIT_USAGE and a sentence that names policy and task
 * if the policy starts a task twice, starts a task that is not ready, or gives
 * a task to a worker that cannot run the task: by pop_task(), or by
 * starpu_push_local_task(), which the guard defines in place of StarPU.  There
 * is one guard. */
struct starpu_sched_policy *mtlm_policy_guard(
    const struct starpu_sched_policy *policy);

/* Sets name, phase, microbatch, stage, iteration and priority of a task; false:
 * unknown. */
typedef bool mtlm_policy_guard_about(const struct starpu_task *task,
                                     struct mtlm_policy_node *about);

/* Sets how the guard describes tasks.  Call before the first task. */
void mtlm_policy_guard_describe(mtlm_policy_guard_about *about);

/* Writes the task of highest priority that the policy has, and has given to no
 * worker, to text [n].  Returns false if there is no such task, or no guard. */
bool mtlm_policy_guard_withheld(char *text, size_t n);

#endif /* MTLM_POLICY_GUARD_H */
