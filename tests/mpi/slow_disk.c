/* To be preloaded (LD_PRELOAD): a disk that is slow with files whose path has
 * SLOW_PATH in it.  open() takes SLOW_OPEN_MS, fsync() SLOW_FSYNC_MS longer. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A signal does not make the disk faster. */
static void delay(const char *path, const char *variable)
{
    const char *slow = getenv("SLOW_PATH"), *ms = getenv(variable);
    const long n = ms ? atol(ms) : 0;
    struct timespec t = {n / 1000, n % 1000 * 1000000};

    if (slow && strstr(path, slow))
        while (nanosleep(&t, &t) < 0)
            ;
}

int open(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...);
    int mode = 0;
    va_list ap;

    *(void **) &real = dlsym(RTLD_NEXT, "open");
    if (flags & (O_CREAT | __O_TMPFILE)) {
        va_start(ap, flags);
        mode = va_arg(ap, int);
        va_end(ap);
    }
    delay(path, "SLOW_OPEN_MS");
    return real(path, flags, mode);
}

int fsync(int fd)
{
    int (*real)(int);
    char link[64], path[PATH_MAX];
    ssize_t n;

    *(void **) &real = dlsym(RTLD_NEXT, "fsync");
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    delay(path, "SLOW_FSYNC_MS");
    return real(fd);
}
