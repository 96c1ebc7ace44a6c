/* To be preloaded (LD_PRELOAD): a disk that is slow with files whose path has
 * SLOW_PATH in it.  open() takes SLOW_OPEN longer, fsync() SLOW_FSYNC: so many
 * milliseconds, or, where that is the path of a FIFO, until somebody writes to
 * it. */

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

/* One write lets one call go on. */
static void await_release(int (*real_open)(const char *, int, ...),
                          const char *fifo)
{
    const int fd = real_open(fifo, O_RDONLY | O_CLOEXEC);
    char c;

    if (fd < 0 || read(fd, &c, 1) != 1)
        abort();
    close(fd);
}

/* A signal does not make the disk faster. */
static void delay(const char *path, const char *variable)
{
    int (*real_open)(const char *, int, ...);
    const char *slow = getenv("SLOW_PATH"), *how = getenv(variable);
    const long n = how ? atol(how) : 0;
    struct timespec t = {n / 1000, n % 1000 * 1000000};

    if (!slow || !how || !strstr(path, slow))
        return;
    *(void **) &real_open = dlsym(RTLD_NEXT, "open");
    if (how[0] == '/')
        await_release(real_open, how);
    else
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
    delay(path, "SLOW_OPEN");
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
    delay(path, "SLOW_FSYNC");
    return real(fd);
}
