/* The line that shows how far a long iteration is. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "launch/progress.h"

static const double terminal_after = 1, terminal_every = 0.5;
static const double line_every = 10;

/* Microbatches done in the whole run; base of them before the current
 * iteration.  So early ones of the next iteration are not lost. */
static atomic_llong all_done;
static struct {
    pthread_mutex_t mutex; /* guards all below */
    int64_t iteration, total, base;
    double begin, last; /* seconds: of the iteration; of the last output */
    bool running;       /* between start and end */
    bool shown;         /* on the terminal, now */
} progress = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

char *mtlm_progress_text(int64_t iteration, int64_t done, int64_t total,
                         double seconds, char *text, size_t size)
{
    const double rate = seconds > 0 ? done / seconds : 0;
    int n =
        snprintf(text, size, "iteration %lld: %lld/%lld microbatches",
                 (long long) iteration, (long long) done, (long long) total);

    if (rate > 0 && n >= 0 && (size_t) n < size)
        /* Three digits, whether it is 1234 a second or 0.00123. */
        snprintf(text + n, size - n, ", %.*f microbatches/s, %.0f s left",
                 rate >= 99.5     ? 0
                 : rate >= 0.995  ? 1
                 : rate >= 0.0995 ? 2
                                  : 4,
                 rate, (total - done) / rate);
    return text;
}

/* What the mutex guards must not change meanwhile. */
static int64_t done_now(void)
{
    const int64_t done = atomic_load(&all_done) - progress.base;

    return done < progress.total ? done : progress.total;
}

void mtlm_progress_start(int64_t iteration, int64_t microbatches)
{
    pthread_mutex_lock(&progress.mutex);
    progress.base += progress.total;
    progress.iteration = iteration;
    progress.total = microbatches;
    progress.begin = progress.last = now();
    progress.running = true;
    pthread_mutex_unlock(&progress.mutex);
}

static void show(double t, bool terminal)
{
    char text[160];

    mtlm_progress_text(progress.iteration, done_now(), progress.total,
                       t - progress.begin, text, sizeof(text));
    if (terminal)
        fprintf(stderr, "\r%s\033[K", text);
    else
        fprintf(stderr, "%s\n", text);
    fflush(stderr);
    progress.shown = terminal;
    progress.last = t;
}

void mtlm_progress_add(void)
{
    atomic_fetch_add(&all_done, 1);
    if (pthread_mutex_trylock(&progress.mutex))
        return; /* somebody else is about to show it */
    const double t = now();

    /* Most iterations are short: they must not cost a system call. */
    if (progress.running && t - progress.begin >= terminal_after) {
        const bool terminal = isatty(STDERR_FILENO);

        if (t - progress.last >= (terminal ? terminal_every : line_every))
            show(t, terminal);
    }
    pthread_mutex_unlock(&progress.mutex);
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

int64_t mtlm_progress_done(void)
{
    int64_t done;

    pthread_mutex_lock(&progress.mutex);
    done = done_now();
    pthread_mutex_unlock(&progress.mutex);
    return done;
}
