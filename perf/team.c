/* Rounds of several threads, with barriers around. */

#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "perf/team.h"
#include "runtime/base/clock.h"

enum { MIN_ROUNDS = 7, MAX_ROUNDS = 200 };

static const int64_t enough_ns = 400000000;

struct team {
    const struct team_work *work;
    pthread_barrier_t barrier;
    int64_t begin_ns, best_ns, all_ns; /* written by one thread between waits */
    int rounds;
};

/* True for the one thread that keeps the time. */
static bool wait_for_all(struct team *team)
{
    return pthread_barrier_wait(&team->barrier)
           == PTHREAD_BARRIER_SERIAL_THREAD;
}

static void note(struct team *team)
{
    const int64_t ns = mtlm_now_ns() - team->begin_ns;

    if (team->rounds++ == 0)
        return;
    team->all_ns += ns;
    if (!team->best_ns || ns < team->best_ns)
        team->best_ns = ns;
}

static bool goes_on(const struct team *team)
{
    return team->rounds <= MIN_ROUNDS
           || (team->all_ns < enough_ns && team->rounds <= MAX_ROUNDS);
}

static void *take_part(void *arg)
{
    struct team *team = arg;
    void *mine = team->work->begin(team->work->arg);

    do {
        if (wait_for_all(team))
            team->begin_ns = mtlm_now_ns();
        wait_for_all(team);
        team->work->run(mine);
        if (wait_for_all(team))
            note(team);
        wait_for_all(team);
    } while (goes_on(team));
    team->work->end(mine);
    return NULL;
}

double team_time(const struct team_work *work, int threads)
{
    struct team team = {.work = work};
    pthread_t thread[TEAM_MAX_THREADS];

    pthread_barrier_init(&team.barrier, NULL, threads);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&thread[i], NULL, take_part, &team))
            abort();
    take_part(&team);
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&team.barrier);
    return 1e-9 * team.best_ns;
}
