/* System calls on files that handle signals, partial writes and odd file
 * systems. */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/memory.h"
#include "runtime/file/disk.h"

static void (*on_call)(void);

void mtlm_disk_on_call(void (*done)(void))
{
    on_call = done;
}

void mtlm_disk_note_call(void)
{
    const int reason = errno;

    if (on_call)
        on_call();
    errno = reason;
}

int mtlm_disk_open(const char *path, int flags)
{
    int fd;

    do
        fd = open(path, flags | O_CLOEXEC, 0666);
    while (fd < 0 && errno == EINTR);
    mtlm_disk_note_call();
    return fd;
}

DIR *mtlm_disk_open_dir(const char *path)
{
    DIR *dir;

    do
        dir = opendir(path);
    while (!dir && errno == EINTR);
    return dir;
}

const char *mtlm_disk_next_name(DIR *dir)
{
    const struct dirent *entry;

    errno = 0;
    entry = readdir(dir);
    return entry ? entry->d_name : NULL;
}

bool mtlm_disk_is_replaced(const char *path)
{
    struct stat there;

    return lstat(path, &there) < 0 || S_ISREG(there.st_mode)
           || S_ISDIR(there.st_mode);
}

bool mtlm_disk_is_lost_link(const char *path)
{
    struct stat there;

    return stat(path, &there) < 0 && errno == ENOENT
           && lstat(path, &there) == 0;
}

/* Whether the directory is this one or in it. */
static bool is_within(const char *directory, const char *top)
{
    const size_t n = strlen(top);

    return strncmp(directory, top, n) == 0
           && (directory[n] == '/' || directory[n] == '\0');
}

/* Whether the path is of the system.  /dev/stdout leads to a file that a shell
 * has opened: no such file is replaced.  /dev/shm has ordinary files. */
static bool is_of_system(const char *path)
{
    char *copy = mtlm_strdup(path);
    char *directory = realpath(dirname(copy), NULL);
    const bool is = directory
                    && (is_within(directory, "/proc")
                        || (is_within(directory, "/dev")
                            && !is_within(directory, "/dev/shm")));

    free(directory);
    free(copy);
    return is;
}

/* Returns the path in a link, new text; NULL: path is no link.  A relative path
 * begins at the link's directory. */
static char *read_link(const char *path)
{
    const char *slash = strrchr(path, '/');
    const int directory = slash ? slash - path + 1 : 0;
    char link[PATH_MAX];
    const ssize_t n = readlink(path, link, sizeof(link) - 1);

    if (n < 0)
        return NULL;
    link[n] = '\0';
    return mtlm_sprintf("%.*s%s", *link == '/' ? 0 : directory, path, link);
}

/* Returns the path at the end of a chain of links; NULL: a path of the system
 * is in the chain. */
static char *end_of_links(const char *path)
{
    char *end = mtlm_strdup(path), *next;

    while (!is_of_system(end) && (next = read_link(end))) {
        free(end);
        end = next;
    }
    if (!is_of_system(end))
        return end;
    free(end);
    return NULL;
}

static bool is_regular(const char *path)
{
    struct stat there;

    return stat(path, &there) == 0 && S_ISREG(there.st_mode);
}

char *mtlm_disk_resolve_link(const char *path)
{
    char *target = is_regular(path) || mtlm_disk_is_lost_link(path)
                       ? end_of_links(path)
                       : NULL;

    return target ? target : mtlm_strdup(path);
}

/* The target may be writable in a directory that is not. */
bool mtlm_disk_is_in_place(const char *path, const char *target, int reason)
{
    return strcmp(path, target) != 0
           && (reason == EACCES || reason == EPERM || reason == EROFS);
}

int mtlm_disk_write(int fd, const void *data, size_t bytes)
{
    const char *p = data;

    while (bytes > 0) {
        const ssize_t n = write(fd, p, bytes);

        mtlm_disk_note_call();
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO;
        if (n <= 0)
            return -1;
        p += n;
        bytes -= (size_t) n;
    }
    return 0;
}

ssize_t mtlm_disk_read(int fd, void *data, size_t bytes)
{
    char *p = data;
    size_t got = 0;

    while (got < bytes) {
        const ssize_t n = read(fd, p + got, bytes - got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        got += (size_t) n;
    }
    return (ssize_t) got;
}

int mtlm_disk_sync(int fd)
{
    int rc;

    do
        rc = fsync(fd);
    while (rc < 0 && errno == EINTR);
    mtlm_disk_note_call();
    return rc < 0 && errno == EINVAL ? 0 : rc;
}

int mtlm_disk_sync_dir(const char *dir)
{
    const int fd = mtlm_disk_open(dir, O_RDONLY | O_DIRECTORY);
    int rc = fd < 0 ? -1 : mtlm_disk_sync(fd);

    if (rc < 0 && errno == EACCES)
        rc = 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

int mtlm_disk_sync_above(const char *path)
{
    char *copy = mtlm_strdup(path);
    const int rc = mtlm_disk_sync_dir(dirname(copy));

    free(copy);
    return rc;
}

int mtlm_disk_cannot_read(const char *path, struct mtlm_error *err)
{
    const bool bad =
        errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO;

    return mtlm_error_set(err, bad ? MTLM_EXIT_INPUT : MTLM_EXIT_IO, "%s: %s",
                          path, strerror(errno));
}

int mtlm_disk_cannot_make(const char *path, struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_IO, "%s: cannot be made: %s", path,
                          strerror(errno));
}

char *mtlm_disk_absolute(const char *path)
{
    char *here = *path == '/' ? NULL : get_current_dir_name();
    char *absolute =
        here ? mtlm_sprintf("%s/%s", here, path) : mtlm_strdup(path);

    free(here);
    return absolute;
}

/* Makes a directory unless there is one. */
static int make_directory(const char *path)
{
    struct stat status;

    if (mkdir(path, 0777) == 0)
        return 0;
    if (errno != EEXIST || stat(path, &status) < 0)
        return -1;
    errno = ENOTDIR;
    return S_ISDIR(status.st_mode) ? 0 : -1;
}

int mtlm_disk_make_path(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (make_directory(path) < 0)
            return -1;
        *slash = '/';
    }
    return make_directory(path);
}
