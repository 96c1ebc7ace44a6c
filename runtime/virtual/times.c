/* The mapped file of times. */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/virtual/times.h"

static size_t bytes_of(int64_t n_tasks)
{
    return sizeof(struct mtlm_virtual_times)
           + n_tasks * sizeof(struct mtlm_virtual_time);
}

static struct mtlm_virtual_times *map_file(const char *path, int flags,
                                           int64_t n_tasks,
                                           struct mtlm_error *err)
{
    const int file = open(path, flags, 0600);
    void *memory = MAP_FAILED;

    /* posix_fallocate() returns its error, and leaves errno alone. */
    if (file >= 0
        && (!(flags & O_CREAT)
            || (errno = posix_fallocate(file, 0, bytes_of(n_tasks))) == 0))
        memory = mmap(NULL, bytes_of(n_tasks), PROT_READ | PROT_WRITE,
                      MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    if (memory != MAP_FAILED)
        return memory;
    mtlm_error_set(err, MTLM_EXIT_IO, "cannot map %s of %zu bytes: %s", path,
                   bytes_of(n_tasks), strerror(errno));
    return NULL;
}

struct mtlm_virtual_times *mtlm_virtual_times_create(const char *path,
                                                     int64_t n_tasks,
                                                     struct mtlm_error *err)
{
    struct mtlm_virtual_times *times =
        map_file(path, O_RDWR | O_CREAT | O_EXCL, n_tasks, err);

    if (!times)
        return NULL;
    times->n_tasks = n_tasks;
    for (int64_t i = 0; i < n_tasks; i++)
        times->task[i] = (struct mtlm_virtual_time){-1, -1};
    return times;
}

struct mtlm_virtual_times *mtlm_virtual_times_open(const char *path,
                                                   int64_t n_tasks,
                                                   struct mtlm_error *err)
{
    return map_file(path, O_RDWR, n_tasks, err);
}

void mtlm_virtual_times_close(struct mtlm_virtual_times *times)
{
    if (times)
        munmap(times, bytes_of(times->n_tasks));
}
