/* Virtual clock and wake-ups for scheduling policies.  A thread of SimGrid
 * sleeps for each wake-up.  One thread with a timed wait would do, but SimGrid
 * 3.32 loses the mutex of sg_cond_wait_for(). */

#include "config.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <starpu.h>

#include <mtlm/policy.h>

#include "runtime/base/memory.h"
#include "runtime/virtual/sim_policy.h"

struct wish {
    int64_t when_ns;
    unsigned worker;
};

static double stretch = 1;
static int n_ranks = 1, workers_of_rank = INT_MAX;
/* All threads of SimGrid take turns in one thread of the system. */
static bool over;          /* wishes count no more */
static int waking;         /* threads that wake a worker now */
static int64_t *wished_ns; /* [workers] last wish of each worker */

/* The clock begins at 1: elsewhere 0 means that nobody knows the time. */
int64_t mtlm_policy_now_ns(void)
{
    return llround(1e9 / stretch * simgrid_get_clock()) + 1;
}

void mtlm_virtual_sim_policy_stretch(double factor)
{
    stretch = factor;
}

/* Sleeps until the time has come, at least one step of the clock. */
static void sleep_until(int64_t when_ns)
{
    /* 1 ns more: SimGrid's clock is no whole number of nanoseconds. */
    const double left_ns = when_ns - mtlm_policy_now_ns() + 1;

    sg_actor_sleep_for(1e-9 * stretch * fmax(left_ns, 1));
}

int mtlm_policy_ranks(void)
{
    return n_ranks;
}

int mtlm_policy_rank(unsigned worker)
{
    return (int) worker / workers_of_rank;
}

void mtlm_virtual_sim_policy_ranks(int ranks, int workers_per_rank)
{
    n_ranks = ranks;
    workers_of_rank = workers_per_rank;
    wished_ns =
        mtlm_calloc((size_t) ranks * workers_per_rank, sizeof(*wished_ns));
}

/* Does nothing if the worker has another wish by then. */
static void *wake_worker(void *arg)
{
    struct wish *wish = arg;

    sleep_until(wish->when_ns);
    if (!over && wished_ns[wish->worker] == wish->when_ns) {
        waking++;
        starpu_wake_worker_relax_light(wish->worker);
        waking--;
    }
    free(wish);
    return NULL;
}

void mtlm_policy_ask_again(unsigned worker, int64_t when_ns)
{
    struct wish *wish;
    starpu_pthread_t thread;

    if (over || when_ns == wished_ns[worker])
        return;
    wished_ns[worker] = when_ns;
    if (when_ns <= mtlm_policy_now_ns() || when_ns == INT64_MAX)
        return;
    wish = mtlm_calloc(1, sizeof(*wish));
    *wish = (struct wish){when_ns, worker};
    STARPU_PTHREAD_CREATE(&thread, NULL, wake_worker, wish);
    sg_actor_unref(thread);
}

void mtlm_virtual_sim_policy_end(void)
{
    over = true;
    while (waking > 0)
        sleep_until(0);
}
