/* Calls that only look: they take nothing of the disk, so that a full one does
 * not matter. */

#define _GNU_SOURCE
#include <dirent.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/faults/inject.h"

static bool fails_looking(enum mode mode, bool interruptible)
{
    return mode != ENOSPC_ONCE && mode != ENOSPC_ON
           && inject_fails(mode, interruptible);
}

/* Whether this call of what is open as fd fails. */
static bool fails_at(const char *call, int fd, bool interruptible)
{
    char file[PATH_MAX];
    enum mode mode;

    return inject_counts(call, fd, NULL, file, &mode)
           && fails_looking(mode, interruptible);
}

int stat(const char *path, struct stat *st)
{
    REAL(stat);

    return fails_looking(inject_count_at("stat", path), false) ? -1
                                                               : real(path, st);
}

int fstat(int fd, struct stat *st)
{
    REAL(fstat);

    return fails_at("fstat", fd, false) ? -1 : real(fd, st);
}

int statvfs(const char *path, struct statvfs *st)
{
    REAL(statvfs);

    return fails_looking(inject_count_at("statvfs", path), true)
               ? -1
               : real(path, st);
}

int access(const char *path, int how)
{
    REAL(access);

    return fails_looking(inject_count_at("access", path), false)
               ? -1
               : real(path, how);
}

DIR *opendir(const char *path)
{
    REAL(opendir);

    return fails_looking(inject_count_at("opendir", path), true) ? NULL
                                                                 : real(path);
}

struct dirent *readdir(DIR *dir)
{
    REAL(readdir);

    return fails_at("readdir", dirfd(dir), false) ? NULL : real(dir);
}

int flock(int fd, int how)
{
    REAL(flock);

    return fails_at("flock", fd, true) ? -1 : real(fd, how);
}

ssize_t read(int fd, void *data, size_t bytes)
{
    char file[PATH_MAX];
    enum mode mode;
    REAL(read);

    if (inject_counts("read", fd, NULL, file, &mode)) {
        if (mode == SHORT && bytes > 1)
            return real(fd, data, bytes / 2);
        if (fails_looking(mode, true))
            return -1;
    }
    return real(fd, data, bytes);
}

ssize_t pread(int fd, void *data, size_t bytes, off_t at)
{
    char file[PATH_MAX];
    enum mode mode;
    REAL(pread);

    if (inject_counts("pread", fd, NULL, file, &mode)) {
        if (mode == SHORT && bytes > 1)
            return real(fd, data, bytes / 2, at);
        if (fails_looking(mode, true))
            return -1;
    }
    return real(fd, data, bytes, at);
}

/* Of what is read by way of it nothing can be failed here. */
void *mmap(void *where, size_t bytes, int allowed, int flags, int fd, off_t at)
{
    REAL(mmap);

    return fails_at("mmap", fd, false)
               ? MAP_FAILED
               : real(where, bytes, allowed, flags, fd, at);
}
