/* Virtual clock and wake-ups for scheduling policies.  A thread of SimGrid
 * sleeps for each wake-up.  One thread with a timed wait would do, but SimGrid
 * 3.32 loses the mutex of sg_cond_wait_for(). */

#include "config.h"

#include <limits.h>
#include <math.h>
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
static int pending;        /* wishes */
static int64_t last_ns;    /* latest time of a wish */
static int64_t *wished_ns; /* [workers] latest wish of each worker */

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

static void *wake_worker(void *arg)
{
    struct wish *wish = arg;

    sleep_until(wish->when_ns);
    starpu_wake_worker_relax_light(wish->worker);
    pending--;
    free(wish);
    return NULL;
}

void mtlm_policy_ask_again(unsigned worker, int64_t when_ns)
{
    struct wish *wish;
    starpu_pthread_t thread;

    if (when_ns <= mtlm_policy_now_ns() || when_ns == wished_ns[worker])
        return;
    wished_ns[worker] = when_ns;
    last_ns = when_ns > last_ns ? when_ns : last_ns;
    wish = mtlm_calloc(1, sizeof(*wish));
    *wish = (struct wish){when_ns, worker};
    pending++;
    STARPU_PTHREAD_CREATE(&thread, NULL, wake_worker, wish);
    sg_actor_unref(thread);
}

void mtlm_virtual_sim_policy_wait(void)
{
    while (pending > 0)
        sleep_until(last_ns);
}
