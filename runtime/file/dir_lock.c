/* Locks a directory, so that no two jobs write there. */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/memory.h"
#include "runtime/file/dir_lock.h"
#include "runtime/file/disk.h"

static int failed(const char *dir, const char *what, struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_IO, "%s: %s: %s", dir, what,
                          strerror(errno));
}

/* Writes the owner into the lock's file, for readers.  The lock is the
 * system's, and ends with the process. */
static void sign(int fd)
{
    char host[256] = "", text[320];
    ssize_t written;

    gethostname(host, sizeof(host) - 1);
    snprintf(text, sizeof(text), "process %ld on %s\n", (long) getpid(), host);
    if (ftruncate(fd, 0) == 0) {
        written = pwrite(fd, text, strlen(text), 0);
        (void) written;
        fsync(fd); /* for readers on other hosts */
    }
}

/* Returns what sign() wrote; the caller frees the text. */
static char *read_owner(int fd)
{
    char who[321] = "";
    const ssize_t n = pread(fd, who, sizeof(who) - 1, 0);

    who[n > 0 ? strcspn(who, "\n") : 0] = '\0';
    return mtlm_strdup(*who ? who : "it does not say which");
}

static int refuse_lock(const char *dir, int fd, struct mtlm_error *err)
{
    char *who = read_owner(fd);

    mtlm_error_set(err, MTLM_EXIT_IO, "%s: another job writes there: %s", dir,
                   who);
    free(who);
    return -1;
}

/* Refuses a lock that cannot be opened; names what stands in its place. */
static int refuse_open(const char *dir, const char *path,
                       struct mtlm_error *err)
{
    const int reason = errno;
    struct stat there;
    const bool known = lstat(path, &there) == 0;
    const char *what = !known                   ? NULL
                       : S_ISDIR(there.st_mode) ? "a directory"
                       : S_ISLNK(there.st_mode) ? "a symbolic link"
                                                : NULL;

    errno = reason;
    if (!what)
        return failed(dir, "cannot be written", err);
    return mtlm_error_set(err, MTLM_EXIT_IO,
                          "%s: %s stands in place of the lock file; remove it, "
                          "or choose another directory",
                          path, what);
}

/* Whether the file system has no locks: users are responsible then. */
static bool warn_lock(const char *dir)
{
    if (errno != ENOSYS && errno != EOPNOTSUPP && errno != ENOLCK)
        return false;
    mtlm_warn("%s: its file system has no locks; let no other job write there",
              dir);
    return true;
}

/* Takes the lock; over a network this may be interrupted. */
static int take_lock(int fd)
{
    int rc;

    do
        rc = flock(fd, LOCK_EX | LOCK_NB);
    while (rc < 0 && errno == EINTR);
    return rc;
}

/* Opens and locks the file; -1: *lock is -1. */
static int open_lock(const char *dir, const char *path, int *lock,
                     struct mtlm_error *err)
{
    int rc;

    *lock = mtlm_disk_open(path, O_RDWR | O_CREAT | O_NOFOLLOW);
    if (*lock < 0)
        return refuse_open(dir, path, err);
    if (take_lock(*lock) == 0 || warn_lock(dir))
        return 0;
    rc = errno == EWOULDBLOCK ? refuse_lock(dir, *lock, err)
                              : failed(dir, "cannot be locked", err);
    close(*lock);
    *lock = -1;
    return rc;
}

/* Whether fd is the file of that name, and not one that was removed. */
static bool is_there(int fd, const char *path)
{
    struct stat ours, there;

    return fstat(fd, &ours) == 0 && lstat(path, &there) == 0
           && ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

int mtlm_dir_lock_take(const char *dir, int *lock, struct mtlm_error *err)
{
    enum { TRIES = 10 };
    char *path = mtlm_sprintf("%s/lock", dir);
    char *above = mtlm_sprintf("%s/..", dir);
    int rc = open_lock(dir, path, lock, err);

    /* A job whose start failed may have removed the file before it was locked:
     * the lock of a removed file keeps nobody away. */
    for (int i = 1; i < TRIES && rc == 0 && !is_there(*lock, path); i++) {
        close(*lock);
        rc = open_lock(dir, path, lock, err);
    }
    if (rc == 0)
        sign(*lock);
    /* dir may be new: flush its name, where the system can. */
    mtlm_disk_sync_dir(above);
    free(above);
    free(path);
    return rc;
}

int mtlm_dir_lock_check(const char *dir, struct mtlm_error *err)
{
    char *path = mtlm_sprintf("%s/lock", dir);
    const int rc = access(path, W_OK);

    if (rc < 0)
        mtlm_error_set(err, MTLM_EXIT_IO,
                       "%s: must be one directory for all ranks, but a rank "
                       "cannot write there: %s",
                       dir, strerror(errno));
    free(path);
    return rc;
}

char *mtlm_dir_lock_owner(const char *dir)
{
    char *path = mtlm_sprintf("%s/lock", dir);
    const int fd = mtlm_disk_open(path, O_RDONLY);
    char *who =
        fd < 0 ? mtlm_sprintf("unknown, %s", strerror(errno)) : read_owner(fd);

    if (fd >= 0)
        close(fd);
    free(path);
    return who;
}

void mtlm_dir_lock_remove(const char *dir)
{
    char *path = mtlm_sprintf("%s/lock", dir);

    unlink(path);
    free(path);
}
