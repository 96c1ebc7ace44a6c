/* The list of the scheduling policies inside the program, for
 * runtime/machine/plugin.h.  hold.c needs no header of its own: a user compiles
 * a copy with installed headers only. */

#include "config.h"

#include <starpu.h>
#include <starpu_scheduler.h>

#include "runtime/policies/builtin.h"

extern struct starpu_sched_policy mtlm_hold_policy;

struct starpu_sched_policy *const *mtlm_policies_builtin(void)
{
    static struct starpu_sched_policy *const list[] = {&mtlm_hold_policy, NULL};

    return list;
}
