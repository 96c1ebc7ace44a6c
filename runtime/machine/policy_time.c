/* Clock and ranks for scheduling policies (mtlm/policy.h) of a process that
 * trains: real time, one rank. */

#include "config.h"

#include <mtlm/policy.h>

#include "runtime/base/clock.h"
#include "runtime/machine/idle.h"

int64_t mtlm_policy_now_ns(void)
{
    return mtlm_now_ns();
}

int mtlm_policy_ranks(void)
{
    return 1;
}

int mtlm_policy_rank(unsigned worker)
{
    (void) worker;
    return 0;
}

void mtlm_policy_ask_again(unsigned worker, int64_t when_ns)
{
    mtlm_idle_until(worker, when_ns);
}
