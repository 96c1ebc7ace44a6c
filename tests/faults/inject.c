/* To be preloaded (LD_PRELOAD): the k-th system call on files of a directory
 * goes wrong, in one rank of a job.
 *
 * FI_DIR   the directory, absolute, without a symbolic link; no other file
 *          counts
 * FI_RANK  the rank (OMPI_COMM_WORLD_RANK); not given: all
 * FI_AT    k, from 1 on; 0: never
 * FI_MODE  kill          SIGKILL; within a write, after half of it
 *          enospc, eio   the call fails; close() closes all the same
 *          short         a write takes half, a read gives half
 *          eintr         what a signal may interrupt fails with EINTR
 *          stickyenospc  ENOSPC from the k-th call on
 *          Calls that only look do so on a full disk, too.
 * FI_LOG   a file that gets a line for each call of any rank before it is made:
 *          rank, number, name, paths ("new" behind an open
 *          that may make the file); for writes their bytes, which go to
 *          FI_LOG.RANK; a line "synced" when an fsync is over; and whatever
 *          the job prints that says "saved"
 *
 * Only calls that go through the program's table of symbols are seen: not those
 * of the C library's own streams. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/faults/inject.h"

static const char *const mode_names[] = {"none",  "kill",  "enospc",      "eio",
                                         "short", "eintr", "stickyenospc"};

static struct {
    bool on;
    char file[PATH_MAX];
    enum mode mode;
    long at, calls;
    const char *dir;
    size_t dir_bytes;
    int log, data;
    const char *rank;
} inject;

static const char *text_of(const char *name, const char *otherwise)
{
    const char *text = getenv(name);

    return text ? text : otherwise;
}

__attribute__((constructor)) static void start(void)
{
    const char *mode = text_of("FI_MODE", "none"), *log = getenv("FI_LOG");
    char path[PATH_MAX];
    REAL(open);

    inject.rank = text_of("OMPI_COMM_WORLD_RANK", "0");
    inject.log = inject.data = -1;
    inject.dir = text_of("FI_DIR", "/nowhere");
    inject.dir_bytes = strlen(inject.dir);
    inject.at = atol(text_of("FI_AT", "0"));
    for (int i = 0; i < (int) (sizeof(mode_names) / sizeof(*mode_names)); i++)
        if (strcmp(mode_names[i], mode) == 0)
            inject.mode = (enum mode) i;
    if (strcmp(inject.rank, text_of("FI_RANK", inject.rank)) != 0)
        return;
    if (log && snprintf(path, sizeof(path), "%s.%s", log, inject.rank) > 0) {
        const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;

        inject.log = real(log, flags, 0666);
        inject.data = real(path, flags, 0666);
    }
    inject.on = true;
}

static bool is_inside(const char *path)
{
    return strncmp(path, inject.dir, inject.dir_bytes) == 0
           && (path[inject.dir_bytes] == '/' || !path[inject.dir_bytes]);
}

/* The file of fd, or an empty text. */
static void path_of(int fd, char path[PATH_MAX])
{
    char link[64];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
}

static void log_line(long k, const char *call, const char *a, const char *b)
{
    char line[3 * PATH_MAX];
    int n;
    REAL(write);

    if (inject.log < 0)
        return;
    n = snprintf(line, sizeof(line), "%s\t%ld\t%s\t%s\t%s\n", inject.rank, k,
                 call, a, b ? b : "");
    if (real(inject.log, line, (size_t) n) != n)
        abort();
}

static void log_write(const char *path, const void *data, size_t bytes)
{
    char size[32];
    REAL(write);

    if (inject.data >= 0 && real(inject.data, data, bytes) != (ssize_t) bytes)
        abort();
    snprintf(size, sizeof(size), "%zu", bytes);
    log_line(0, "bytes", path, size);
}

/* What the call may do: NONE unless it is the one that goes wrong. */
static enum mode count(const char *call, const char *a, const char *b)
{
    const long k = __atomic_add_fetch(&inject.calls, 1, __ATOMIC_SEQ_CST);

    log_line(k, call, a, b);
    if (inject.at == 0)
        return NONE;
    if (inject.mode == ENOSPC_ON)
        return k >= inject.at ? ENOSPC_ON : NONE;
    return k == inject.at ? inject.mode : NONE;
}

bool inject_fails(enum mode mode, bool interruptible)
{
    switch (mode) {
    case KILL:
        kill(getpid(), SIGKILL);
        pause();
        return true;
    case ENOSPC_ONCE:
    case ENOSPC_ON:
        errno = ENOSPC;
        return true;
    case EIO_ONCE:
        errno = EIO;
        return true;
    case EINTR_ONCE:
        errno = EINTR;
        return interruptible;
    default:
        return false;
    }
}

enum mode inject_count_at(const char *call, const char *path)
{
    return inject.on && path && is_inside(path) ? count(call, path, NULL)
                                                : NONE;
}

static bool fails_at_path(const char *call, const char *path, const char *to,
                          bool interruptible)
{
    return inject.on && path && is_inside(path)
           && inject_fails(count(call, path, to), interruptible);
}

bool inject_counts(const char *call, int fd, const char *name,
                   char path[PATH_MAX], enum mode *mode)
{
    const int reason = errno;

    *mode = NONE;
    if (!inject.on || fd <= 2)
        return false;
    path_of(fd, path);
    errno = reason;
    if (!is_inside(path))
        return false;
    *mode = count(call, path, name);
    return true;
}

static int mode_of_file(int flags, va_list ap)
{
    return flags & (O_CREAT | __O_TMPFILE) ? (int) va_arg(ap, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    int mode;
    REAL(open);

    va_start(ap, flags);
    mode = mode_of_file(flags, ap);
    va_end(ap);
    return fails_at_path("open", path, flags & O_CREAT ? "new" : NULL, true)
               ? -1
               : real(path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    char file[PATH_MAX];
    enum mode mode;
    REAL(write);

    if (!inject_counts("write", fd, NULL, file, &mode))
        return real(fd, data, bytes);
    log_write(file, data, bytes);
    if (mode == SHORT && bytes > 1)
        return real(fd, data, bytes / 2);
    if (mode == KILL && real(fd, data, bytes / 2) < 0)
        return -1;
    return inject_fails(mode, true) ? -1 : real(fd, data, bytes);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    char file[PATH_MAX];
    enum mode mode;
    REAL(pwrite);

    if (inject_counts("pwrite", fd, NULL, file, &mode)) {
        if (mode == SHORT && bytes > 1)
            return real(fd, data, bytes / 2, at);
        if (inject_fails(mode, true))
            return -1;
    }
    return real(fd, data, bytes, at);
}

int ftruncate(int fd, off_t bytes)
{
    char file[PATH_MAX];
    enum mode mode;
    REAL(ftruncate);

    return inject_counts("ftruncate", fd, NULL, file, &mode)
                   && inject_fails(mode, true)
               ? -1
               : real(fd, bytes);
}

int fsync(int fd)
{
    char file[PATH_MAX];
    enum mode mode;
    bool ours;
    int rc;
    REAL(fsync);

    ours = inject_counts("fsync", fd, NULL, file, &mode);
    if (ours && inject_fails(mode, true))
        return -1;
    rc = real(fd);
    if (ours && rc == 0)
        log_line(0, "synced", file, NULL);
    return rc;
}

int close(int fd)
{
    char file[PATH_MAX];
    enum mode mode;
    int reason;
    REAL(close);

    if (!inject_counts("close", fd, NULL, file, &mode)
        || !inject_fails(mode, true))
        return real(fd);
    reason = errno;
    real(fd);
    errno = reason;
    return -1;
}

int rename(const char *from, const char *to)
{
    REAL(rename);

    return fails_at_path("rename", from, to, false) ? -1 : real(from, to);
}

int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir);

    return fails_at_path("mkdir", path, NULL, false) ? -1 : real(path, mode);
}

int mknod(const char *path, mode_t mode, dev_t dev)
{
    REAL(mknod);

    return fails_at_path("mknod", path, NULL, false) ? -1
                                                     : real(path, mode, dev);
}

int unlink(const char *path)
{
    REAL(unlink);

    return fails_at_path("unlink", path, NULL, false) ? -1 : real(path);
}

int unlinkat(int fd, const char *path, int flags)
{
    char file[PATH_MAX];
    enum mode mode;
    REAL(unlinkat);

    return inject_counts("unlinkat", fd, path, file, &mode)
                   && inject_fails(mode, false)
               ? -1
               : real(fd, path, flags);
}

int rmdir(const char *path)
{
    REAL(rmdir);

    return fails_at_path("rmdir", path, NULL, false) ? -1 : real(path);
}

int printf(const char *format, ...)
{
    char text[1024];
    va_list ap;
    int rc;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    text[strcspn(text, "\n")] = '\0';
    if (inject.on && strstr(text, "saved"))
        log_line(0, "said", text, NULL);
    va_start(ap, format);
    rc = vprintf(format, ap);
    va_end(ap);
    return rc;
}
