/* The directory of offloaded state: default place, creation, free room. */

#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "runtime/base/memory.h"
#include "runtime/base/units.h"
#include "runtime/file/cache_path.h"
#include "runtime/file/disk.h"
#include "runtime/file/offload_dir.h"

char *mtlm_offload_dir_default(void)
{
    return mtlm_cache_path("offload");
}

/* Returns the free bytes of dir's file system; -1 with the reason in errno. */
static double free_bytes(const char *dir)
{
    struct statvfs at;
    int rc;

    do
        rc = statvfs(dir, &at);
    while (rc < 0 && errno == EINTR);
    return rc < 0 ? -1 : (double) at.f_bavail * at.f_frsize;
}

/* Returns the nearest directory that exists, dir or one above it; the caller
 * frees the text. */
static char *find_nearest(const char *dir)
{
    char *path = mtlm_disk_absolute(dir);

    while (*path && free_bytes(path) < 0) {
        char *end = strrchr(path, '/');

        *(end ? end : path) = '\0';
    }
    if (*path)
        return path;
    free(path);
    return mtlm_strdup("/");
}

double mtlm_offload_dir_room(const char *dir)
{
    char *path = find_nearest(dir);
    const double room = free_bytes(path);

    free(path);
    return room;
}

struct mtlm_file_system mtlm_offload_dir_file_system(const char *dir)
{
    char *path = find_nearest(dir);
    const struct mtlm_file_system found = mtlm_file_system_of(path);

    free(path);
    return found;
}

int mtlm_offload_dir_check(const char *dir, double bytes,
                           struct mtlm_error *err)
{
    char *path = mtlm_strdup(dir);
    const int rc = mtlm_disk_make_path(path);
    double room;

    free(path);
    if (rc < 0)
        return mtlm_disk_cannot_make(dir, err);
    room = free_bytes(dir);
    if (room < 0)
        return mtlm_error_set(err, MTLM_EXIT_IO, "%s: cannot be read: %s", dir,
                              strerror(errno));
    if (bytes <= room)
        return 0;
    /* Rounded apart, so that the two numbers differ in print. */
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "%s: offloaded state takes %.3f GiB on this machine, "
                          "but only %.3f GiB are free there; another "
                          "--offload-dir may have room",
                          dir, ceil(bytes / MTLM_GIB * 1e3) / 1e3,
                          floor(room / MTLM_GIB * 1e3) / 1e3);
}
