/* The notes of a rank's threads on their waits and their progress, which the
 * watchdog reads. */

#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "runtime/base/least.h"
#include "runtime/comm/activity.h"
#include "runtime/file/disk.h"
#include "runtime/machine/machine.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards these: */
static struct {
    bool waits;
    char what[200];
    int64_t since_ns;
} wait[MTLM_WAITER_COUNT];
static int64_t main_cpu_ns;  /* processor time of the main thread, last seen */
static int offload_requests; /* under way */

static _Atomic int64_t progress_ns; /* time of this rank's last progress */
static _Atomic int64_t begun;       /* tasks */
static _Atomic int64_t tasks;       /* that have ended */
static _Atomic bool at_disk;        /* a thread works at a checkpoint */
static _Atomic int64_t disk_ns;     /* last return of a call of the disk */

static clockid_t main_clock;

static int64_t cpu_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static void note_disk_call(void)
{
    disk_ns = mtlm_now_ns();
}

void mtlm_activity_start(void)
{
    pthread_getcpuclockid(pthread_self(), &main_clock);
    mtlm_disk_on_call(note_disk_call);
    mtlm_activity_progress();
}

void mtlm_activity_wait_begin(enum mtlm_waiter waiter, const char *what)
{
    pthread_mutex_lock(&mutex);
    snprintf(wait[waiter].what, sizeof(wait[waiter].what), "%s", what);
    if (!wait[waiter].waits)
        wait[waiter].since_ns = mtlm_now_ns();
    wait[waiter].waits = true;
    pthread_mutex_unlock(&mutex);
}

void mtlm_activity_wait_end(enum mtlm_waiter waiter)
{
    pthread_mutex_lock(&mutex);
    wait[waiter].waits = false;
    /* Polling during the wait is no progress. */
    if (waiter != MTLM_WAITER_ENGINE)
        main_cpu_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    pthread_mutex_unlock(&mutex);
    mtlm_activity_progress();
}

void mtlm_activity_progress(void)
{
    progress_ns = mtlm_now_ns();
}

int64_t mtlm_activity_progress_ns(void)
{
    return progress_ns;
}

void mtlm_activity_task_begin(void)
{
    begun++;
}

int64_t mtlm_activity_begun(void)
{
    return begun;
}

void mtlm_activity_task_end(void)
{
    tasks++;
}

int64_t mtlm_activity_tasks(void)
{
    return tasks;
}

void mtlm_activity_at_disk(bool is)
{
    disk_ns = mtlm_now_ns();
    at_disk = is;
}

void mtlm_activity_offload_begin(void)
{
    pthread_mutex_lock(&mutex);
    /* The time of a request that hangs already goes on. */
    if (offload_requests++ == 0)
        note_disk_call();
    pthread_mutex_unlock(&mutex);
}

void mtlm_activity_offload_end(void)
{
    pthread_mutex_lock(&mutex);
    offload_requests--;
    note_disk_call();
    pthread_mutex_unlock(&mutex);
}

/* Whether this rank has made progress since the last look; mutex held. */
static bool has_progressed(void)
{
    int64_t used;

    if (mtlm_machine_busy() || offload_requests > 0)
        return true;
    if (wait[MTLM_WAITER_MAIN].waits)
        return false;
    if (wait[MTLM_WAITER_FILES].waits)
        return at_disk;
    used = cpu_ns(main_clock) - main_cpu_ns;
    main_cpu_ns += used;
    return used > 0;
}

struct mtlm_activity mtlm_activity_look(void)
{
    const int64_t now = mtlm_now_ns();
    struct mtlm_activity seen = {0};

    pthread_mutex_lock(&mutex);
    for (int i = 0; i < MTLM_WAITER_COUNT; i++)
        if (wait[i].waits) {
            seen.waits = true;
            snprintf(seen.what, sizeof(seen.what), "%s", wait[i].what);
            seen.waited_ns = now - wait[i].since_ns;
        }
    /* In this order: a thread sets disk_ns before at_disk. */
    seen.disk_waits = wait[MTLM_WAITER_FILES].waits && at_disk;
    seen.offload_waits = offload_requests > 0;
    seen.disk_ns = now - disk_ns;
    if (has_progressed())
        mtlm_activity_progress();
    pthread_mutex_unlock(&mutex);
    return seen;
}

void mtlm_activity_shift(int64_t late_ns)
{
    const int64_t now = mtlm_now_ns();

    pthread_mutex_lock(&mutex);
    for (int i = 0; i < MTLM_WAITER_COUNT; i++)
        wait[i].since_ns = mtlm_least(wait[i].since_ns + late_ns, now);
    pthread_mutex_unlock(&mutex);
    progress_ns = mtlm_least(progress_ns + late_ns, now);
    disk_ns = mtlm_least(disk_ns + late_ns, now);
}
