/* To be preloaded (LD_PRELOAD): a disk that fails.  Of the calls that read or
 * write whole blocks of a file without a name, below BAD_DIR, call number
 * BAD_AT (of its kind, from 1 on) goes wrong:
 *
 * BAD_MODE  full     ENOSPC for this pwrite() and each later one
 *           changed  this pread() gives another byte
 *           broken   this pread() fails with EIO
 *           short    this pread() finds the end of the file
 *
 * The system refuses io_uring, whose requests are no calls.
 *
 * BAD_RANK  the rank (OMPI_COMM_WORLD_RANK) whose disk fails; not given: all */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/forbid_uring.h"

static atomic_int reads, writes;

__attribute__((constructor)) static void start(void)
{
    forbid_uring();
}

static bool is_mode(const char *mode)
{
    const char *given = getenv("BAD_MODE"), *bad = getenv("BAD_RANK");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    return given && strcmp(given, mode) == 0
           && (!bad || (rank && strcmp(bad, rank) == 0));
}

/* Returns whether the call counts: blocks of a file below BAD_DIR. */
static bool counts(int fd, size_t bytes)
{
    const char *dir = getenv("BAD_DIR");
    char link[64], path[4096] = "";

    if (!dir || bytes == 0 || bytes % 4096 != 0)
        return false;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof(path) - 1) > 0
           && strncmp(path, dir, strlen(dir)) == 0;
}

static int place(void)
{
    const char *at = getenv("BAD_AT");

    return at ? atoi(at) : 0;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    ssize_t (*real)(int, const void *, size_t, off_t);

    *(void **) &real = dlsym(RTLD_NEXT, "pwrite");
    if (counts(fd, bytes) && ++writes >= place() && is_mode("full")) {
        errno = ENOSPC;
        return -1;
    }
    return real(fd, data, bytes, offset);
}

ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
    ssize_t (*real)(int, void *, size_t, off_t), n;
    bool bad;

    *(void **) &real = dlsym(RTLD_NEXT, "pread");
    bad = counts(fd, bytes) && ++reads == place();
    if (bad && is_mode("short"))
        return 0;
    if (bad && is_mode("broken")) {
        errno = EIO;
        return -1;
    }
    n = real(fd, data, bytes, offset);
    if (bad && is_mode("changed") && n > 0)
        *(char *) data ^= 1;
    return n;
}
