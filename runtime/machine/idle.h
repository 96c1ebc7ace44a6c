#ifndef MTLM_IDLE_H
#define MTLM_IDLE_H

#include <stdint.h>

/* Idle workers sleep.  StarPU's CPU workers look for tasks again and again.
 * Here a worker that has found none for a millisecond sleeps until a task
 * becomes ready, or for a millisecond at most.  Works with every scheduling
 * policy: StarPU calls this module in place of three of the policy's functions,
 * and this module calls the policy. */

/* Lets idle workers sleep from now on.  Call after StarPU has started, before
 * tasks are submitted.  Does nothing where there are several memories, of a GPU
 * say: workers that find no task then move data. */
void mtlm_idle_start(void);

/* Call after StarPU has stopped. */
void mtlm_idle_stop(void);

/* Ends a nap of the worker at when_ns at the latest.  Replaces the time of the
 * last call.  A nap under way goes on. */
void mtlm_idle_until(unsigned worker, int64_t when_ns);

#endif /* MTLM_IDLE_H */
