#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/error.h"

static void (*fatal_hook)(int code);
static int fatal_rank = -1;

int mtlm_error_set(struct mtlm_error *err, enum mtlm_exit code, const char *fmt,
                   ...)
{
    if (err) {
        va_list ap;

        err->code = code;
        va_start(ap, fmt);
        vsnprintf(err->text, sizeof(err->text), fmt, ap);
        va_end(ap);
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
    }
    return -1;
}

static void __attribute__((noreturn)) leave(enum mtlm_exit code)
{
    if (fatal_hook)
        fatal_hook(code);
    fflush(stdout);
    _exit(code);
}

void mtlm_fatal(const char *file, int line, const char *fmt, ...)
{
    char text[1024], rank[32] = "";
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (fatal_rank >= 0)
        snprintf(rank, sizeof(rank), "rank %d: ", fatal_rank);
    fprintf(stderr, "mtlm-dag: %s%s (%s:%d)\n", rank, text, file, line);
    leave(MTLM_EXIT_PEER);
}

void mtlm_out_of_memory(size_t bytes)
{
    fprintf(stderr, "mtlm-dag: ");
    if (fatal_rank >= 0)
        fprintf(stderr, "rank %d: ", fatal_rank);
    fprintf(stderr, "not enough memory: %zu bytes more are needed\n", bytes);
    leave(MTLM_EXIT_RESOURCE);
}

void mtlm_fatal_hook(void (*hook)(int code), int rank)
{
    fatal_hook = hook;
    fatal_rank = rank;
}
