/* The two functions of a library of scheduling policies, which StarPU calls:
 * one policy by name, all policies.  The library holds hold.c, home.c and
 * smallest.c. */

#include <string.h>

#include <starpu.h>
#include <starpu_scheduler.h>

#include <mtlm/policy.h>

MTLM_POLICY_PLUGIN;

extern struct starpu_sched_policy mtlm_hold_policy, mtlm_home_policy,
    smallest_policy;

static struct starpu_sched_policy *policies[] = {
    &mtlm_hold_policy, &mtlm_home_policy, &smallest_policy, NULL};

struct starpu_sched_policy **starpu_get_sched_lib_policies(void)
{
    return policies;
}

struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name)
{
    for (int i = 0; policies[i]; i++)
        if (strcmp(policies[i]->policy_name, name) == 0)
            return policies[i];
    return NULL;
}
