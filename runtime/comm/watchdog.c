#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/comm/mpi_turn.h"
#include "runtime/comm/pulse.h"
#include "runtime/comm/watchdog.h"
#include "runtime/machine/machine.h"

/* The thread looks at least that often. */
enum { LOOK_NS = 1000000000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards these: */
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static bool stopping;
static struct {
    bool waits;
    char what[200];
    int64_t since_ns;
} wait[MTLM_WAITER_COUNT];
static struct mtlm_pulse *pulse; /* NULL: there are no signs of life */
static int64_t turn_ns;          /* when the thread last had a turn of MPI */
static int64_t main_cpu_ns;      /* what the main thread had used by then */
static int64_t job_ns;           /* when any rank did something last */

static _Atomic int64_t progress_ns; /* when this one did */
static _Atomic bool at_disk;        /* a thread is */
static _Atomic int64_t disk_ns;     /* when a call of the disk last returned */

static pthread_t thread;
static clockid_t main_clock;
static int64_t limit_ns; /* 0: there is no thread */

static void __attribute__((noreturn))
miss(double waited_s, const char *what, const char *why)
{
    mtlm_end_job(MTLM_EXIT_PEER,
                 "waited %.3g s for %s; %s (--distributed-timeout-minutes "
                 "%.3g)",
                 waited_s, what, why, limit_ns / 60e9);
}

static int64_t cpu_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The time in which this process was stopped does not count; what has been
 * noted down since then is no older. */
static void shift(int64_t late)
{
    const int64_t now = mtlm_now_ns();

    for (int i = 0; i < MTLM_WAITER_COUNT; i++)
        wait[i].since_ns = sooner(wait[i].since_ns + late, now);
    turn_ns = sooner(turn_ns + late, now);
    progress_ns = sooner(progress_ns + late, now);
    disk_ns = sooner(disk_ns + late, now);
    if (pulse)
        mtlm_pulse_shift(pulse, late);
}

/* Whether this rank has done something since the last look. */
static bool works(void)
{
    int64_t used;

    if (mtlm_machine_busy())
        return true;
    if (wait[MTLM_WAITER_MAIN].waits)
        return false;
    if (wait[MTLM_WAITER_FILES].waits)
        return at_disk;
    used = cpu_ns(main_clock) - main_cpu_ns;
    main_cpu_ns += used;
    return used > 0;
}

/* Whether there was a turn to do it in. */
static bool beat(int64_t within_ns)
{
    if (!mtlm_mpi_turn_try(within_ns))
        return false;
    job_ns = mtlm_pulse_beat(pulse, progress_ns);
    mtlm_mpi_turn_end();
    turn_ns = mtlm_now_ns();
    return true;
}

static void judge(const char *what, double waited_s)
{
    const int64_t now = mtlm_now_ns();
    int64_t since;
    const int silent = mtlm_pulse_silent(pulse, &since);
    char why[80];

    if (silent >= 0 && now - since > limit_ns) {
        snprintf(why, sizeof(why),
                 "rank %d has given no sign of life for %.3g s", silent,
                 (now - since) * 1e-9);
        if (!what)
            mtlm_end_job(MTLM_EXIT_PEER,
                         "%s (--distributed-timeout-minutes %.3g)", why,
                         limit_ns / 60e9);
        miss(waited_s, what, why);
    }
    if (what && now - job_ns > limit_ns) {
        snprintf(why, sizeof(why), "no rank has done anything for %.3g s",
                 (now - job_ns) * 1e-9);
        miss(waited_s, what, why);
    }
}

static void judge_disk(void)
{
    const int64_t waited = mtlm_now_ns() - disk_ns;
    char why[80];

    if (!wait[MTLM_WAITER_FILES].waits || !at_disk
        || waited / MTLM_DISK_DEADLINES <= limit_ns)
        return;
    snprintf(why, sizeof(why), "it may take %d times as long as ranks",
             MTLM_DISK_DEADLINES);
    miss(waited * 1e-9, "a call of the disk to return", why);
}

static void look(int64_t pause)
{
    const int64_t began = mtlm_now_ns();
    const char *what = NULL;
    int64_t waited = 0, late;
    bool turn;

    for (int i = 0; i < MTLM_WAITER_COUNT; i++)
        if (wait[i].waits) {
            what = wait[i].what;
            waited = mtlm_now_ns() - wait[i].since_ns;
        }
    if (works())
        mtlm_watchdog_progress();
    judge_disk();
    if (!pulse) {
        if (waited > limit_ns)
            miss(waited * 1e-9, what, "a peer hangs or is lost");
        return;
    }
    turn = beat(pause);
    /* Stopped while it waited for its turn: what it knows is of before. */
    late = mtlm_now_ns() - began - pause;
    if (late > MTLM_ASLEEP_NS)
        shift(late);
    else if (turn)
        judge(what, waited * 1e-9);
    else if (mtlm_now_ns() - turn_ns > limit_ns)
        miss((mtlm_now_ns() - turn_ns) * 1e-9, "a call of MPI to return",
             "a peer hangs or is lost");
}

static void *watch(void *arg)
{
    const int64_t part = limit_ns / MTLM_LOOKS;
    const int64_t pause = part < LOOK_NS ? part : LOOK_NS;
    int64_t until = mtlm_now_ns();

    (void) arg;
    pthread_mutex_lock(&mutex);
    while (!stopping) {
        const int64_t late = mtlm_now_ns() - until;
        struct timespec t;

        if (late > MTLM_ASLEEP_NS)
            shift(late);
        look(pause);
        until = mtlm_now_ns() + pause;
        t = (struct timespec){until / 1000000000, until % 1000000000};
        pthread_cond_clockwait(&wake, &mutex, CLOCK_MONOTONIC, &t);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

void mtlm_watchdog_start(double seconds)
{
    limit_ns = (int64_t) (1e9 * (seconds > 0 ? seconds : MTLM_WATCHDOG_S));
    stopping = false;
    progress_ns = turn_ns = mtlm_now_ns();
    pthread_getcpuclockid(pthread_self(), &main_clock);
    if (pthread_create(&thread, NULL, watch, NULL) != 0)
        mtlm_fatal(__FILE__, __LINE__, "cannot start the watching thread");
}

void mtlm_watchdog_stop(void)
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

void mtlm_watchdog_attach(struct mtlm_pulse *of)
{
    pthread_mutex_lock(&mutex);
    pulse = of;
    progress_ns = turn_ns = mtlm_now_ns();
    pthread_mutex_unlock(&mutex);
}

void mtlm_watchdog_begin(enum mtlm_waiter waiter, const char *what)
{
    pthread_mutex_lock(&mutex);
    snprintf(wait[waiter].what, sizeof(wait[waiter].what), "%s", what);
    if (!wait[waiter].waits)
        wait[waiter].since_ns = mtlm_now_ns();
    wait[waiter].waits = true;
    pthread_mutex_unlock(&mutex);
}

void mtlm_watchdog_end(enum mtlm_waiter waiter)
{
    pthread_mutex_lock(&mutex);
    wait[waiter].waits = false;
    /* What the main thread took for asking does not count. */
    if (waiter != MTLM_WAITER_ENGINE)
        main_cpu_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    pthread_mutex_unlock(&mutex);
    mtlm_watchdog_progress();
}

void mtlm_watchdog_progress(void)
{
    progress_ns = mtlm_now_ns();
}

void mtlm_watchdog_at_disk(bool is)
{
    disk_ns = mtlm_now_ns();
    at_disk = is;
}

void mtlm_watchdog_disk_call(void)
{
    disk_ns = mtlm_now_ns();
}
