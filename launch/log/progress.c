/* Prints the progress of iterations from a thread. */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "launch/log/progress.h"
#include "launch/log/progress_text.h"
#include "launch/log/short_line.h"
#include "runtime/base/clock.h"
#include "runtime/machine/signals.h"

/* Seconds. */
static const double bar_after = 1, bar_every = 0.5;
static const double line_after = 5, line_every = 10;
/* The bar shows the microbatches of longer iterations. */
static const double long_iteration = 2;

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
    bool bar;     /* stderr shows a bar, not lines */
    struct mtlm_progress_work work;
    char what[64]; /* work.what */
    int64_t base;
    double first, begin, last; /* seconds: start of the thread; of the
                                * iteration; last output */
    /* Iterations that ended: microbatches and seconds. */
    double run_done, run_seconds;
    bool running; /* between start and end */
    bool shown;   /* the bar, now */
    bool wanted;  /* the bar was shown before */
} progress = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static double now_seconds(void)
{
    return 1e-9 * mtlm_now_ns();
}

/* Call with the mutex held. */
static double done_now(void)
{
    const double done =
        (double) (atomic_load(&all_done) - progress.base) / PARTS;

    return fmin(fmax(done, 0), progress.work.microbatches);
}

/* After a signal the iteration may still take hours. */
static bool stop_follows(void)
{
    return mtlm_stop_requested() >= MTLM_STOP_SIGNAL;
}

static void print_line(double t)
{
    char text[160];

    mtlm_progress_text(progress.what, done_now(), progress.work.microbatches,
                       progress.work.after, t - progress.begin, text,
                       sizeof(text));
    fprintf(stderr, "%s%s\n", text,
            stop_follows() ? "; the run stops after at most one more iteration "
                             "(at once at another signal)"
                           : "");
    fflush(stderr);
}

static int terminal_columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0
               ? size.ws_col
               : 80;
}

/* Returns seconds until the end of the run, where these microbatches are left,
 * or -1: unknown. */
static double seconds_left(double microbatches, double rate, double seconds)
{
    const double limit = progress.work.seconds_left;
    const double left = rate > 0 ? microbatches / rate : -1;

    if (limit == 0)
        return left;
    return fmax(left < 0 ? limit - seconds : fmin(left, limit - seconds), 0);
}

/* Describes the bar: an iteration's share is that of the run, its rate the mean
 * since the start. */
static struct mtlm_progress_text_bar describe_bar(double t)
{
    const struct mtlm_progress_work *w = &progress.work;
    const bool in_run = w->iterations > 0;
    const double done = done_now(), seconds = t - progress.begin;
    const double all = done + (in_run ? progress.run_done : 0);
    const double rate =
        all / (seconds + (in_run ? progress.run_seconds : 0) + 1e-9);
    const double share = w->microbatches > 0 ? done / w->microbatches : 0;

    return (struct mtlm_progress_text_bar){
        .what = progress.what,
        .number = w->iterations,
        .share = in_run ? (w->iteration - 1 + share) / w->iterations : share,
        .note =
            stop_follows() ? "stops after at most one more iteration" : NULL,
        .rate = rate,
        .seconds_left =
            seconds_left(w->microbatches - done + w->after, rate, seconds),
        .done = done,
        .total = !in_run || seconds > long_iteration ? w->microbatches : 0};
}

/* Draws the bar over the line that the cursor is in.  The cursor stays at the
 * line's begin: what somebody else writes does not follow the bar. */
static void draw_bar(double t)
{
    const struct mtlm_progress_text_bar bar = describe_bar(t);
    char *text = mtlm_progress_text_bar(&bar, terminal_columns(),
                                        mtlm_short_line_colours(STDERR_FILENO));

    fprintf(stderr, "\r%s\033[K\r", text);
    fflush(stderr);
    free(text);
    progress.shown = progress.wanted = true;
}

static void print_progress(double t)
{
    if (progress.bar)
        draw_bar(t);
    else
        print_line(t);
    progress.last = t;
}

/* When the next output is due. */
static double next_output(void)
{
    if (progress.bar && progress.wanted)
        return progress.shown ? progress.last + bar_every : progress.begin;
    if (progress.bar)
        return progress.first + bar_after;
    return progress.last == progress.begin ? progress.begin + line_after
                                           : progress.last + line_every;
}

static void wait_until(double t)
{
    const struct timespec until = {(time_t) t, (long) (1e9 * (t - (time_t) t))};

    pthread_cond_timedwait(&progress.changed, &progress.mutex, &until);
}

static void *print_until_quit(void *arg)
{
    (void) arg;
    pthread_mutex_lock(&progress.mutex);
    while (!progress.quit) {
        const double t = now_seconds();

        if (!progress.running)
            pthread_cond_wait(&progress.changed, &progress.mutex);
        else if (t < next_output())
            wait_until(next_output());
        else
            print_progress(t);
    }
    pthread_mutex_unlock(&progress.mutex);
    return NULL;
}

/* Blocks all signals in the thread: the main thread handles them. */
static void start_thread(bool launched)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&progress.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    progress.quit = progress.wanted = false;
    progress.bar = !launched && mtlm_short_line_terminal(STDERR_FILENO);
    progress.first = now_seconds();
    progress.run_done = progress.run_seconds = 0;
    progress.started =
        pthread_create(&progress.thread, NULL, print_until_quit, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void mtlm_progress_start(const struct mtlm_progress_work *work)
{
    pthread_mutex_lock(&progress.mutex);
    if (!progress.started)
        start_thread(work->launched);
    progress.base += progress.work.microbatches * PARTS;
    progress.work = *work;
    snprintf(progress.what, sizeof(progress.what), "%s", work->what);
    progress.begin = now_seconds();
    if (!progress.bar)
        progress.last = progress.begin;
    progress.running = true;
    pthread_cond_signal(&progress.changed);
    pthread_mutex_unlock(&progress.mutex);
}

void mtlm_progress_add(double part)
{
    atomic_fetch_add(&all_done, llrint(part * PARTS));
}

/* Call with the mutex held. */
static void clear_bar(void)
{
    if (progress.shown) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
    }
    progress.shown = false;
}

void mtlm_progress_end(void)
{
    pthread_mutex_lock(&progress.mutex);
    if (progress.running && progress.work.iterations > 0) {
        progress.run_done += progress.work.microbatches;
        progress.run_seconds += now_seconds() - progress.begin;
    }
    progress.running = false;
    pthread_mutex_unlock(&progress.mutex);
}

void mtlm_progress_hide(void)
{
    pthread_mutex_lock(&progress.mutex);
    clear_bar();
    pthread_mutex_unlock(&progress.mutex);
}

void mtlm_progress_stop(void)
{
    bool started;

    pthread_mutex_lock(&progress.mutex);
    clear_bar();
    started = progress.started;
    progress.started = false;
    progress.quit = true;
    if (started)
        pthread_cond_signal(&progress.changed);
    pthread_mutex_unlock(&progress.mutex);
    if (started)
        pthread_join(progress.thread, NULL);
}
