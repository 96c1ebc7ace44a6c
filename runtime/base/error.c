/* Errors for the user, and the ways to end the whole job. */

#include "config.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/error.h"

static void (*fatal_hook)(int code);
static int fatal_rank = -1;
static const char *program = "mtlm-dag"; /* begins the sentence */

/* Replaces control characters: a text may quote a file, and must neither end
 * the line nor command a terminal. */
static void clean(char *text)
{
    for (; *text; text++)
        if ((unsigned char) *text < ' ' || *text == 127)
            *text = '?';
}

int mtlm_error_set(struct mtlm_error *err, enum mtlm_exit code, const char *fmt,
                   ...)
{
    if (err) {
        va_list ap;

        err->code = code;
        va_start(ap, fmt);
        vsnprintf(err->text, sizeof(err->text), fmt, ap);
        va_end(ap);
        clean(err->text);
    }
    return -1;
}

int mtlm_error_prefix(struct mtlm_error *err, const char *fmt, ...)
{
    if (err) {
        char text[sizeof(err->text)], all[2 * sizeof(err->text) + 2];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        snprintf(all, sizeof(all), "%s: %s", text, err->text);
        all[sizeof(err->text) - 1] = '\0';
        strcpy(err->text, all);
        clean(err->text);
    }
    return -1;
}

void mtlm_warn(const char *fmt, ...)
{
    char *text, begin[1024];
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    if (!text) { /* no memory: the begin has to do */
        va_start(ap, fmt);
        vsnprintf(begin, sizeof(begin), fmt, ap);
        va_end(ap);
    }
    /* One call: lines of several ranks do not mix. */
    fprintf(stderr, "%s: %s\n", program, text ? text : begin);
    free(text);
}

static volatile sig_atomic_t last_code;

static void leave_at_once(int number)
{
    (void) number;
    _exit(last_code);
}

/* Ends the process with the code in a few seconds, unless it ends before. */
static void limit_time(enum mtlm_exit code)
{
    enum { SECONDS = 3 };
    sigset_t set;

    last_code = code;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    signal(SIGALRM, leave_at_once);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    alarm(SECONDS);
}

/* Says why, and ends the process.  The reader of a pipe may have stopped
 * reading: neither the sentence, nor the text of a thread that holds the lock
 * of stdout, delays the end for long. */
static void __attribute__((noreturn))
leave(enum mtlm_exit code, const char *text, const char *place)
{
    char rank[32] = "";

    if (fatal_rank >= 0)
        snprintf(rank, sizeof(rank), "rank %d: ", fatal_rank);
    limit_time(code);
    fprintf(stderr, "%s: %s%s%s\n", program, rank, text, place);
    alarm(0); /* the hook has a limit of its own */
    if (fatal_hook)
        fatal_hook(code);
    limit_time(code);
    fflush(stdout);
    _exit(code);
}

void mtlm_fatal(const char *file, int line, const char *fmt, ...)
{
    char text[1024], place[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    snprintf(place, sizeof(place), " (%s:%d)", file, line);
    leave(MTLM_EXIT_PEER, text, place);
}

void mtlm_end_job(enum mtlm_exit code, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    leave(code, text, "");
}

void mtlm_out_of_memory(size_t bytes)
{
    mtlm_end_job(MTLM_EXIT_RESOURCE,
                 "not enough memory: %zu bytes more are needed", bytes);
}

void mtlm_fatal_program(const char *name)
{
    program = name;
}

void mtlm_fatal_hook(void (*hook)(int code), int rank)
{
    fatal_hook = hook;
    fatal_rank = rank;
}
