/* A directory of checkpoints: finds, commits, discards and prunes them. */

#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "models/weights/checkpoint_dir.h"
#include "models/weights/manifest.h"
#include "runtime/base/memory.h"
#include "runtime/file/disk.h"

#define TEMPORARY ".tmp"

static char *name_of(const struct mtlm_checkpoint_id *id)
{
    return id->again
               ? mtlm_sprintf("iter_%07" PRId64 ".%d", id->iteration, id->again)
               : mtlm_sprintf("iter_%07" PRId64, id->iteration);
}

/* Whether name is exactly the name of a checkpoint. */
static bool parse_name(const char *name, struct mtlm_checkpoint_id *id)
{
    char *same;
    bool is;

    *id = (struct mtlm_checkpoint_id){0};
    if (sscanf(name, "iter_%" SCNd64 ".%d", &id->iteration, &id->again) < 1
        || id->iteration < 0 || id->again < 0)
        return false;
    same = name_of(id);
    is = strcmp(same, name) == 0;
    free(same);
    return is;
}

static bool is_older(const struct mtlm_checkpoint_id *a,
                     const struct mtlm_checkpoint_id *b)
{
    return a->iteration != b->iteration ? a->iteration < b->iteration
                                        : a->again < b->again;
}

int mtlm_checkpoint_dir_newest(const char *dir,
                               const struct mtlm_checkpoint_id *before,
                               struct mtlm_checkpoint_id *found,
                               struct mtlm_error *err)
{
    DIR *d = mtlm_disk_open_dir(dir);
    const char *name;
    struct mtlm_checkpoint_id id;
    int rc = 0;

    if (!d && errno == ENOENT)
        return 0;
    if (!d)
        return mtlm_disk_cannot_read(dir, err);
    while ((name = mtlm_disk_next_name(d)))
        if (parse_name(name, &id) && (!before || is_older(&id, before))
            && (!rc || is_older(found, &id))) {
            *found = id;
            rc = 1;
        }
    /* A partial list may lack the newest. */
    if (errno)
        rc = mtlm_disk_cannot_read(dir, err);
    closedir(d);
    return rc;
}

char *mtlm_checkpoint_dir_path(const char *dir,
                               const struct mtlm_checkpoint_id *id)
{
    char *name = name_of(id), *path = mtlm_sprintf("%s/%s", dir, name);

    free(name);
    return path;
}

char *mtlm_checkpoint_dir_temporary(const char *dir, int64_t iteration)
{
    return mtlm_sprintf("%s/iter_%07" PRId64 TEMPORARY, dir, iteration);
}

int mtlm_checkpoint_dir_space(const char *dir, int64_t bytes,
                              struct mtlm_error *err)
{
    struct statvfs at;
    double room;
    int rc;

    do
        rc = statvfs(dir, &at);
    while (rc < 0 && errno == EINTR);
    if (rc < 0)
        return mtlm_error_set(err, MTLM_EXIT_IO, "%s: cannot be read: %s", dir,
                              strerror(errno));
    room = (double) at.f_bavail * at.f_frsize;
    if (room >= bytes)
        return 0;
    /* Rounded apart, so that the two numbers differ in print. */
    return mtlm_error_set(err, MTLM_EXIT_IO,
                          "%s: a checkpoint takes %.1f MB, but only %.1f MB "
                          "are free there",
                          dir, ceil(bytes / 1e5) / 10, floor(room / 1e5) / 10);
}

/* Removes a file, or a directory of plain files.  Removes a link, not its
 * target. */
static void remove_all(const char *path)
{
    const int fd = mtlm_disk_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const char *name;

    while (d && (name = mtlm_disk_next_name(d)))
        if (strcmp(name, ".") && strcmp(name, ".."))
            unlinkat(fd, name, 0);
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    if (rmdir(path) < 0 && errno == ENOTDIR)
        unlink(path);
}

int mtlm_checkpoint_dir_begin(const char *dir, int64_t iteration,
                              struct mtlm_error *err)
{
    char *path = mtlm_checkpoint_dir_temporary(dir, iteration);
    int rc;

    remove_all(path);
    rc = mkdir(path, 0777);
    if (rc < 0)
        mtlm_disk_cannot_make(path, err);
    free(path);
    return rc;
}

/* A checkpoint unreadable now, or by this program, may be good.  A directory
 * without a manifest is none of ours: a copy that goes on, or another
 * program's. */
enum health { WHOLE, DAMAGED, UNKNOWN };

static enum health look_at(const char *dir, const struct mtlm_checkpoint_id *id)
{
    char *path = mtlm_checkpoint_dir_path(dir, id);
    char *manifest = mtlm_sprintf("%s/manifest.json", path);
    const bool ours =
        access(manifest, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
    struct mtlm_error err;
    const int rc = mtlm_manifest_look(path, id->iteration, &err);

    free(manifest);
    free(path);
    return rc == 0                               ? WHOLE
           : ours && err.code == MTLM_EXIT_INPUT ? DAMAGED
                                                 : UNKNOWN;
}

/* Removes a checkpoint: renames it first, so that it is no checkpoint. */
static void remove_checkpoint(const char *dir,
                              const struct mtlm_checkpoint_id *id)
{
    char *path = mtlm_checkpoint_dir_path(dir, id);
    char *dying = mtlm_sprintf("%s" TEMPORARY, path);

    remove_all(dying);
    if (rename(path, dying) == 0)
        remove_all(dying);
    free(dying);
    free(path);
}

static void remove_same(const char *dir, struct mtlm_checkpoint_id newest)
{
    struct mtlm_checkpoint_id id = newest, older;

    while (mtlm_checkpoint_dir_newest(dir, &id, &older, NULL) > 0
           && older.iteration == newest.iteration) {
        if (look_at(dir, &older) != UNKNOWN)
            remove_checkpoint(dir, &older);
        id = older;
    }
}

int mtlm_checkpoint_dir_commit(const char *dir, int64_t iteration,
                               struct mtlm_error *err)
{
    const struct mtlm_checkpoint_id next = {.iteration = iteration + 1};
    struct mtlm_checkpoint_id id = {.iteration = iteration}, same;
    char *from, *to;
    int rc;

    /* If dir is unreadable, assume no earlier save of this iteration: rename()
     * never replaces a checkpoint, which is a directory with files. */
    if (mtlm_checkpoint_dir_newest(dir, &next, &same, NULL) > 0
        && same.iteration == iteration)
        id.again = same.again + 1;
    from = mtlm_checkpoint_dir_temporary(dir, iteration);
    to = mtlm_checkpoint_dir_path(dir, &id);
    rc = mtlm_disk_sync_dir(from) == 0 && rename(from, to) == 0
                 && mtlm_disk_sync_dir(dir) == 0
             ? 0
             : mtlm_disk_cannot_make(to, err);
    free(to);
    free(from);
    if (rc == 0)
        remove_same(dir, id);
    return rc;
}

static bool is_temporary(const char *name)
{
    const size_t n = strlen(name), end = sizeof(TEMPORARY) - 1;

    return strncmp(name, "iter_", 5) == 0 && n > end
           && strcmp(name + n - end, TEMPORARY) == 0;
}

void mtlm_checkpoint_dir_discard(const char *dir, int64_t iteration)
{
    DIR *d = iteration < 0 ? mtlm_disk_open_dir(dir) : NULL;
    const char *name;
    char *path;

    if (iteration >= 0) {
        path = mtlm_checkpoint_dir_temporary(dir, iteration);
        remove_all(path);
        free(path);
    }
    while (d && (name = mtlm_disk_next_name(d)))
        if (is_temporary(name)) {
            path = mtlm_sprintf("%s/%s", dir, name);
            remove_all(path);
            free(path);
        }
    if (d)
        closedir(d);
}

void mtlm_checkpoint_list_forget(struct mtlm_checkpoint_list *list,
                                 int64_t iteration)
{
    int n = 0;

    for (int i = 0; i < list->n; i++)
        if (list->id[i].iteration != iteration)
            list->id[n++] = list->id[i];
    list->n = n;
}

static enum health health_of(const char *dir,
                             const struct mtlm_checkpoint_id *id,
                             const struct mtlm_checkpoint_list *damaged)
{
    const enum health health = look_at(dir, id);

    for (int i = 0; i < damaged->n && health == WHOLE; i++)
        if (damaged->id[i].iteration == id->iteration
            && damaged->id[i].again == id->again)
            return DAMAGED;
    return health;
}

void mtlm_checkpoint_dir_prune(const char *dir, int64_t iteration, int64_t keep,
                               int64_t best,
                               const struct mtlm_checkpoint_list *damaged)
{
    const struct mtlm_checkpoint_id after = {.iteration = iteration + 1};
    struct mtlm_checkpoint_id before = after, id, last = after;
    int64_t n = 0;

    for (; n < keep && mtlm_checkpoint_dir_newest(dir, &before, &id, NULL) > 0;
         before = id)
        if (health_of(dir, &id, damaged) == WHOLE) {
            last = id;
            n++;
        }
    if (n < keep)
        return;
    for (before = after;
         mtlm_checkpoint_dir_newest(dir, &before, &id, NULL) > 0; before = id) {
        const enum health health = health_of(dir, &id, damaged);

        if (health == DAMAGED
            || (health == WHOLE && is_older(&id, &last)
                && (best == 0 || id.iteration != best)))
            remove_checkpoint(dir, &id);
    }
}
