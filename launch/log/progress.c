/* Prints the progress of a long iteration from a thread. */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "launch/log/log_line.h"
#include "launch/log/progress.h"
#include "runtime/base/clock.h"
#include "runtime/machine/signals.h"

static const double terminal_after = 1, terminal_every = 0.5;
static const double line_after = 5, line_every = 10;
/* Microbatches below which no rate is shown. */
static const double least_done = 0.05;

/* Parts of microbatches done in the whole run; progress.base is their number
 * before the current iteration. */
enum { PARTS = 1000000000 };
static atomic_llong all_done;
static struct {
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t changed;
    pthread_t thread;
    bool started; /* the thread */
    bool quit;    /* the thread must end */
    char what[64];
    int64_t total, after, base;
    double begin, last; /* seconds: of the iteration; of the last output */
    bool running;       /* between start and end */
    bool shown;         /* on the terminal, now */
} progress = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static double now_seconds(void)
{
    return 1e-9 * mtlm_now_ns();
}

/* Returns the decimals that show about three digits of rate. */
static int decimals(double rate)
{
    return rate >= 99.5 ? 0 : rate >= 0.995 ? 1 : rate >= 0.0995 ? 2 : 4;
}

char *mtlm_progress_text(const char *what, double done, int64_t total,
                         int64_t after, double seconds, char *text, size_t size)
{
    const double rate = seconds > 0 ? done / seconds : 0;
    char left[16], run[16];
    int n = snprintf(text, size, "%s: %.*f/%lld microbatches", what,
                     total < 100, done, (long long) total);

    if (n < 0 || (size_t) n >= size)
        return text;
    if (rate == 0 || done < least_done) {
        snprintf(text + n, size - n, " after %s",
                 mtlm_log_time_text(seconds, left));
        return text;
    }
    mtlm_log_time_text((total - done) / rate, left);
    mtlm_log_time_text((total - done + after) / rate, run);
    snprintf(text + n, size - n, ", %.*f microbatches/s, %s left%s%s%s",
             decimals(rate), rate, left, after > 0 ? ", " : "",
             after > 0 ? run : "", after > 0 ? " of the run" : "");
    return text;
}

/* Call with the mutex held. */
static double done_now(void)
{
    const double done =
        (double) (atomic_load(&all_done) - progress.base) / PARTS;

    return fmin(fmax(done, 0), progress.total);
}

/* After a signal the iteration may still take hours. */
static const char *stop_text(void)
{
    return mtlm_stop_requested() >= MTLM_STOP_SIGNAL
               ? "; the run stops after at most one more iteration (at once "
                 "at another signal)"
               : "";
}

static void print_progress(double t, bool terminal)
{
    char text[160];

    mtlm_progress_text(progress.what, done_now(), progress.total,
                       progress.after, t - progress.begin, text, sizeof(text));
    if (terminal)
        fprintf(stderr, "\r%s%s\033[K", text, stop_text());
    else
        fprintf(stderr, "%s%s\n", text, stop_text());
    fflush(stderr);
    progress.shown = terminal;
    progress.last = t;
}

/* When the next output is due. */
static double next_output(bool terminal)
{
    if (progress.last == progress.begin)
        return progress.begin + (terminal ? terminal_after : line_after);
    return progress.last + (terminal ? terminal_every : line_every);
}

static void wait_until(double t)
{
    const struct timespec until = {(time_t) t, (long) (1e9 * (t - (time_t) t))};

    pthread_cond_timedwait(&progress.changed, &progress.mutex, &until);
}

static void *print_until_quit(void *arg)
{
    const bool terminal = isatty(STDERR_FILENO);

    (void) arg;
    pthread_mutex_lock(&progress.mutex);
    while (!progress.quit) {
        const double t = now_seconds();

        if (!progress.running)
            pthread_cond_wait(&progress.changed, &progress.mutex);
        else if (t < next_output(terminal))
            wait_until(next_output(terminal));
        else
            print_progress(t, terminal);
    }
    pthread_mutex_unlock(&progress.mutex);
    return NULL;
}

/* Blocks all signals in the thread: the main thread handles them. */
static void start_thread(void)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&progress.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    progress.quit = false;
    progress.started =
        pthread_create(&progress.thread, NULL, print_until_quit, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void mtlm_progress_start(const char *what, int64_t microbatches, int64_t after)
{
    pthread_mutex_lock(&progress.mutex);
    if (!progress.started)
        start_thread();
    progress.base += progress.total * PARTS;
    snprintf(progress.what, sizeof(progress.what), "%s", what);
    progress.total = microbatches;
    progress.after = after;
    progress.begin = progress.last = now_seconds();
    progress.running = true;
    pthread_cond_signal(&progress.changed);
    pthread_mutex_unlock(&progress.mutex);
}

void mtlm_progress_add(double part)
{
    atomic_fetch_add(&all_done, llrint(part * PARTS));
}

void mtlm_progress_end(void)
{
    pthread_mutex_lock(&progress.mutex);
    if (progress.shown) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
    }
    progress.running = progress.shown = false;
    pthread_mutex_unlock(&progress.mutex);
}

void mtlm_progress_stop(void)
{
    bool started;

    pthread_mutex_lock(&progress.mutex);
    started = progress.started;
    progress.started = false;
    progress.quit = true;
    if (started)
        pthread_cond_signal(&progress.changed);
    pthread_mutex_unlock(&progress.mutex);
    if (started)
        pthread_join(progress.thread, NULL);
}
