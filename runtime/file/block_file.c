/* A file without a name, by direct I/O where possible. */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/memory.h"
#include "runtime/file/block_file.h"
#include "runtime/file/disk.h"
#include "runtime/file/uring.h"

/* One for each thread of runtime/disk/io.h.  Further threads call pread() and
 * pwrite(). */
enum { RINGS = 2 };

/* Most bytes of a call: a disk that works returns often. */
enum { CHUNK = 16 << 20 };

struct mtlm_block_file {
    int fd;
    atomic_bool direct;
    atomic_bool refuses_rings; /* the system, which let the file create them */
    int n_rings;               /* created */
    pthread_mutex_t mutex;     /* guards what follows */
    struct mtlm_uring *idle[RINGS];
    int n_idle;
};

/* ---- creation ---- */

/* Opens a file and removes its name at once, where the file system knows no
 * file without a name. */
static int open_and_unlink(const char *dir)
{
    char *path = mtlm_sprintf("%s/offload-XXXXXX", dir);
    const int fd = mkostemp(path, O_CLOEXEC);

    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

static int open_nameless(const char *dir)
{
    const int fd = mtlm_disk_open(dir, O_TMPFILE | O_RDWR);

    return fd >= 0 || errno == ENOSPC || errno == EDQUOT ? fd
                                                         : open_and_unlink(dir);
}

/* Turns direct I/O on or off; returns whether it is on. */
static bool set_direct(int fd, bool on)
{
    const int flags = fcntl(fd, F_GETFL);

    return flags >= 0
           && fcntl(fd, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0
           && on;
}

/* Reserves the room of the file; returns 0 or the reason. */
static int reserve(int fd, int64_t bytes)
{
    int rc;

    if (bytes == 0)
        return 0;
    do
        rc = posix_fallocate(fd, 0, bytes);
    while (rc == EINTR);
    return rc;
}

static void create_rings(struct mtlm_block_file *file)
{
    struct mtlm_uring *uring;

    while (file->n_rings < RINGS && (uring = mtlm_uring_create()))
        file->idle[file->n_rings++] = uring;
    file->n_idle = file->n_rings;
}

struct mtlm_block_file *mtlm_block_file_create(const char *dir, int64_t bytes)
{
    struct mtlm_block_file *file = mtlm_calloc(1, sizeof(*file));
    int reason;

    pthread_mutex_init(&file->mutex, NULL);
    file->fd = open_nameless(dir);
    reason = file->fd < 0 ? errno : reserve(file->fd, bytes);
    if (reason != 0) {
        mtlm_block_file_destroy(file);
        errno = reason;
        return NULL;
    }
    file->direct = set_direct(file->fd, true);
    if (file->direct)
        create_rings(file);
    return file;
}

void mtlm_block_file_destroy(struct mtlm_block_file *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    for (int i = 0; i < file->n_rings; i++)
        mtlm_uring_destroy(file->idle[i]);
    pthread_mutex_destroy(&file->mutex);
    free(file);
}

bool mtlm_block_file_is_direct(const struct mtlm_block_file *file)
{
    return file->direct;
}

bool mtlm_block_file_has_rings(const struct mtlm_block_file *file)
{
    return file->direct && file->n_rings > 0 && !file->refuses_rings;
}

/* ---- reads and writes ---- */

/* Returns whether a request that was direct, and failed, is to be made again
 * without direct I/O: the file system refuses its alignment. */
static bool gives_up_direct(struct mtlm_block_file *file, bool was_direct)
{
    if (errno != EINVAL || !was_direct)
        return false;
    file->direct = set_direct(file->fd, false);
    return true;
}

static int transfer_by_calls(struct mtlm_block_file *file, bool writes,
                             char *memory, int64_t bytes, int64_t offset)
{
    while (bytes > 0) {
        const bool direct = file->direct;
        const size_t part = bytes < CHUNK ? bytes : CHUNK;
        const ssize_t n = writes ? pwrite(file->fd, memory, part, offset)
                                 : pread(file->fd, memory, part, offset);

        mtlm_disk_note_call();
        if (n < 0 && (errno == EINTR || gives_up_direct(file, direct)))
            continue;
        if (n == 0)
            errno = 0;
        if (n <= 0)
            return -1;
        memory += n;
        offset += n;
        bytes -= n;
    }
    return 0;
}

/* Returns a ring for one thread, or NULL. */
static struct mtlm_uring *take_ring(struct mtlm_block_file *file)
{
    struct mtlm_uring *uring = NULL;

    if (!file->direct || file->refuses_rings)
        return NULL;
    pthread_mutex_lock(&file->mutex);
    if (file->n_idle > 0)
        uring = file->idle[--file->n_idle];
    pthread_mutex_unlock(&file->mutex);
    return uring;
}

static void give_ring(struct mtlm_block_file *file, struct mtlm_uring *uring)
{
    pthread_mutex_lock(&file->mutex);
    file->idle[file->n_idle++] = uring;
    pthread_mutex_unlock(&file->mutex);
}

/* Returns whether a transfer by a ring that failed is to be made again by
 * calls.  A system may allow rings and refuse their requests.  Where the file
 * is the reason, the calls fail as well, and say so. */
static bool gives_up_rings(struct mtlm_block_file *file)
{
    static const int reasons[] = {EINVAL, EPERM, EACCES, EOPNOTSUPP, ENOSYS};

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (errno == reasons[i]) {
            file->refuses_rings = true;
            return true;
        }
    return false;
}

int mtlm_block_file_transfer(struct mtlm_block_file *file, bool writes,
                             void *memory, int64_t bytes, int64_t offset)
{
    struct mtlm_uring *uring = take_ring(file);
    int rc;

    if (!uring)
        return transfer_by_calls(file, writes, memory, bytes, offset);
    rc = mtlm_uring_transfer(uring, file->fd, writes, memory, bytes, offset);
    give_ring(file, uring);
    if (rc < 0 && gives_up_rings(file))
        return transfer_by_calls(file, writes, memory, bytes, offset);
    return rc;
}

void mtlm_block_file_drop_cache(struct mtlm_block_file *file)
{
    if (file->direct)
        return;
    mtlm_disk_sync(file->fd);
    posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
}
