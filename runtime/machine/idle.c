/* Lets idle workers sleep, and wakes them when a task becomes ready.
 *
 * No wake-up is lost: a worker reads the number of pushes before it looks for a
 * task, and sleeps only while that number stays.  Without a push a nap ends
 * after NAP_NS.  So a task that no push announces starts that much later at
 * most: modular policies pass tasks from one queue to the next. */

#include "config.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <starpu.h>
#include <starpu_scheduler.h>

#include "runtime/base/clock.h"
#include "runtime/machine/idle.h"

/* A worker polls for SPIN_NS, since to wake a thread takes time.  A nap takes
 * an eighth of the idle time so far, NAP_NS at most. */
enum { SPIN_NS = 1000000, NAP_NS = 1000000, NAP_SHARE = 8 };

/* Threads that one thread wakes.  Each of them wakes as many: a push returns
 * soon on a host with many cores. */
enum { WAKES = 4 };

static struct starpu_sched_policy inner; /* the policy's own functions */
static _Atomic bool started;             /* inner is set */

static _Atomic uint32_t pushes; /* tasks that became ready; a futex */
static _Atomic int sleepers;
static _Atomic int64_t wanted[STARPU_NMAXWORKERS]; /* ends of naps */

/* Of a worker. */
static _Thread_local uint32_t seen;   /* pushes before the last look */
static _Thread_local int64_t idle_ns; /* when it began to poll; 0: not idle */

void mtlm_idle_until(unsigned worker, int64_t when_ns)
{
    wanted[worker] = when_ns;
}

/* ---- sleep ---- */

/* Wakes workers of all queues: a policy may keep a queue for each worker. */
static void wake(void)
{
    if (atomic_load(&sleepers) > 0)
        syscall(SYS_futex, &pushes, FUTEX_WAKE_PRIVATE, WAKES, NULL, NULL, 0);
}

/* Returns how long a nap lasts that begins now, without a push. */
static int64_t length_of_nap(int64_t now)
{
    const int64_t share = (now - idle_ns) / NAP_SHARE;
    const int64_t length = share < NAP_NS ? share : NAP_NS;
    const int64_t want = wanted[starpu_worker_get_id_check()] - now;

    return want > 0 && want < length ? want : length;
}

/* Sleeps unless a task has become ready since this worker's last look.  StarPU
 * may use the worker during the sleep. */
static void nap(int64_t now)
{
    const struct timespec length = {0, length_of_nap(now)};

    starpu_worker_relax_on();
    atomic_fetch_add(&sleepers, 1);
    syscall(SYS_futex, &pushes, FUTEX_WAIT_PRIVATE, seen, &length, NULL, 0);
    atomic_fetch_sub(&sleepers, 1);
    if (atomic_load(&pushes) != seen)
        wake();
    starpu_worker_relax_off();
}

/* The worker has looked for a task in vain.  A worker that is woken polls
 * again: the task may be its own. */
static void rest(uint32_t before)
{
    const int64_t now = mtlm_now_ns();

    if (idle_ns == 0 || before != seen)
        idle_ns = now;
    seen = before;
    if (now - idle_ns > SPIN_NS)
        nap(now);
}

/* ---- what StarPU calls in place of the policy's functions ---- */

static void note_ready(void)
{
    atomic_fetch_add(&pushes, 1);
    wake();
}

static int push(struct starpu_task *task)
{
    const int rc = inner.push_task(task);

    note_ready();
    return rc;
}

/* A task goes to a worker past the policy, right after this call: the worker
 * polls by then. */
static void push_past(struct starpu_task *task, int worker, int perf_worker,
                      unsigned sched_ctx)
{
    if (inner.push_task_notify)
        inner.push_task_notify(task, worker, perf_worker, sched_ctx);
    note_ready();
}

/* Some policies have no pop_task(): they push all tasks to workers. */
static struct starpu_task *pop(unsigned sched_ctx)
{
    const uint32_t before = atomic_load(&pushes);
    struct starpu_task *task;

    if (!atomic_load(&started))
        return NULL;
    task = inner.pop_task ? inner.pop_task(sched_ctx) : NULL;
    if (task)
        idle_ns = 0;
    else
        rest(before);
    return task;
}

/* ---- start and stop ---- */

/* StarPU has copied the policy for itself: other users of the policy see no
 * change.  Workers call pop() already. */
void mtlm_idle_start(void)
{
    struct starpu_sched_policy *policy =
        starpu_sched_get_sched_policy_in_ctx(0);

    if (starpu_memory_nodes_get_count() > 1)
        return;
    inner = *policy;
    policy->push_task = push;
    policy->push_task_notify = push_past;
    policy->pop_task = pop;
    atomic_store(&started, true);
}

void mtlm_idle_stop(void)
{
    atomic_store(&started, false);
}
