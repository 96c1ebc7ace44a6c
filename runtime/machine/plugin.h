#ifndef MTLM_PLUGIN_H
#define MTLM_PLUGIN_H

#include <stdbool.h>

#include "runtime/base/error.h"

/* The policy of this program that has the hold rule (mtlm/policy.h). */
#define MTLM_HOLD_POLICY "mtlm"

struct starpu_conf;
struct starpu_sched_policy;

/* The choice of StarPU's scheduling policy.  STARPU_SCHED names a policy of the
 * library STARPU_SCHED_LIB, of this program, or of StarPU. */

/* Returns the name in STARPU_SCHED, or the preferred one. */
const char *mtlm_plugin_wanted(void);

/* Returns whether that policy has the hold rule, and may hold: workers wait for
 * messages. */
bool mtlm_plugin_holds(void);

/* Returns whether workers wait under the policy with the hold rule: they poll,
 * which they do not where StarPU has --enable-blocking-drivers, and MTLM_HOLD
 * is not 0. */
bool mtlm_plugin_may_hold(void);

/* Sets *share to the share in the variable MTLM_HOLD, which replaces those that
 * an evaluation chooses.  Returns false, and leaves *share, where the variable
 * has no number from 0 to 10. */
bool mtlm_plugin_hold_share(double *share);

/* Returns whether a policy may be preferred: the environment names neither a
 * policy nor a library, and StarPU's workers poll, as the hold rule needs. */
bool mtlm_plugin_is_free(void);

/* Sets the policy where STARPU_SCHED names none, MTLM_DEFAULT_POLICY at first.
 * Call before StarPU starts. */
void mtlm_plugin_prefer(const char *name);

/* Returns the file in STARPU_SCHED_LIB; NULL: none. */
const char *mtlm_plugin_file(void);

/* Returns the file of the library that the policy in force comes from; NULL:
 * none.  Called while StarPU runs. */
const char *mtlm_plugin_used(void);

/* Chooses the policy and sets conf for StarPU.  Called before StarPU starts:
 * for an unusable policy StarPU would only warn, and take another one.
 * ours: the program's own policies, ended by NULL; borrowed; NULL: none.
 * MTLM_EXIT_USAGE: the library cannot be loaded, has no policies, or was built
 * for something else; or no such policy exists.  For a library without a stamp
 * (mtlm/policy.h), rank 0 prints a warning. */
int mtlm_plugin_choose(struct starpu_conf *conf,
                       struct starpu_sched_policy *const *ours, int rank,
                       struct mtlm_error *err);

#endif /* MTLM_PLUGIN_H */
