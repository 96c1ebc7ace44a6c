#ifndef MTLM_POLICIES_BUILTIN_H
#define MTLM_POLICIES_BUILTIN_H

struct starpu_sched_policy;

/* The scheduling policies inside the program, ended by NULL; static. */
struct starpu_sched_policy *const *mtlm_policies_builtin(void);

#endif /* MTLM_POLICIES_BUILTIN_H */
