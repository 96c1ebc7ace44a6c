#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/clock.h"
#include "runtime/deadline.h"
#include "runtime/error.h"

/* How often the thread looks: in this part of the deadline, but at least once
 * in LOOK_NS. */
enum { LOOK_PARTS = 20, LOOK_NS = 1000000000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards these: */
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static bool stopping;
static struct {
    const char *what; /* NULL: does not wait */
    int64_t since_ns;
} wait[MTLM_WAITER_COUNT];

static pthread_t thread;
static _Atomic int64_t limit_ns; /* 0: no deadline */

void mtlm_deadline_missed(double seconds, const char *what)
{
    mtlm_end_job(MTLM_EXIT_PEER,
                 "waited %.3g s for %s; a peer hangs or is lost "
                 "(--distributed-timeout-minutes %.3g)",
                 seconds, what, mtlm_deadline_seconds() / 60);
}

static void look(int64_t now, int64_t late)
{
    for (int i = 0; i < MTLM_WAITER_COUNT; i++) {
        wait[i].since_ns += late;
        if (wait[i].what && now - wait[i].since_ns > limit_ns)
            mtlm_deadline_missed((now - wait[i].since_ns) * 1e-9, wait[i].what);
    }
}

static void *watch(void *arg)
{
    const int64_t part = limit_ns / LOOK_PARTS;
    const int64_t pause = part < LOOK_NS ? part : LOOK_NS;
    int64_t until = mtlm_now_ns();

    (void) arg;
    pthread_mutex_lock(&mutex);
    while (!stopping) {
        const int64_t now = mtlm_now_ns(), late = now - until;
        struct timespec t;

        look(now, late > MTLM_ASLEEP_NS ? late : 0);
        until = now + pause;
        t = (struct timespec){until / 1000000000, until % 1000000000};
        pthread_cond_clockwait(&wake, &mutex, CLOCK_MONOTONIC, &t);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

void mtlm_deadline_start(double seconds)
{
    limit_ns = (int64_t) (1e9 * (seconds > 0 ? seconds : MTLM_DEADLINE_S));
    stopping = false;
    if (pthread_create(&thread, NULL, watch, NULL) != 0)
        mtlm_fatal(__FILE__, __LINE__, "cannot start the watching thread");
}

void mtlm_deadline_stop(void)
{
    if (!limit_ns)
        return;
    pthread_mutex_lock(&mutex);
    stopping = true;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    limit_ns = 0;
}

double mtlm_deadline_seconds(void)
{
    return limit_ns * 1e-9;
}

void mtlm_deadline_begin(enum mtlm_waiter waiter, const char *what)
{
    pthread_mutex_lock(&mutex);
    wait[waiter].what = what;
    wait[waiter].since_ns = mtlm_now_ns();
    pthread_mutex_unlock(&mutex);
}

void mtlm_deadline_end(enum mtlm_waiter waiter)
{
    pthread_mutex_lock(&mutex);
    wait[waiter].what = NULL;
    pthread_mutex_unlock(&mutex);
}
