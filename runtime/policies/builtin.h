#ifndef MTLM_POLICIES_BUILTIN_H
#define MTLM_POLICIES_BUILTIN_H

/* The scheduling policies that the program contains. */

struct starpu_sched_policy;

/* Returns the policies as a static array that ends with NULL. */
struct starpu_sched_policy *const *mtlm_policies_builtin(void);

#endif /* MTLM_POLICIES_BUILTIN_H */
