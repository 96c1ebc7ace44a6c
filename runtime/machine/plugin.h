#ifndef MTLM_PLUGIN_H
#define MTLM_PLUGIN_H

#include "runtime/base/error.h"

struct starpu_conf;
struct starpu_sched_policy;

/* Which scheduling policy StarPU takes: STARPU_SCHED names one of the library
 * STARPU_SCHED_LIB, one that comes with this program, or one of StarPU's. */

/* Of STARPU_SCHED, or the default. */
const char *mtlm_plugin_wanted(void);

/* The library's file, or NULL: none is given. */
const char *mtlm_plugin_file(void);

/* The same once StarPU runs, NULL unless the policy in force is of it. */
const char *mtlm_plugin_used(void);

/* Before StarPU starts, which would only warn of a policy that it cannot have
 * and take another one: refuses a library that cannot be loaded, holds no
 * policies or was built for something else, and a name that nobody knows.
 * One that does not say what it was built for is taken, and rank 0 says so.
 * Sets conf so that STARPU_SCHED is obeyed.  ours: the program's own policies,
 * ended by NULL; borrowed; NULL: none. */
int mtlm_plugin_choose(struct starpu_conf *conf,
                       struct starpu_sched_policy *const *ours, int rank,
                       struct mtlm_error *err);

#endif /* MTLM_PLUGIN_H */
