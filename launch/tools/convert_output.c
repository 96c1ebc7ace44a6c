/* The directory that an export writes: claimed, then committed or discarded.
 *
 * A directory that is there may be a mount point or the working directory,
 * which nothing can replace: files are moved into it. */

#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/tools/convert_output.h"
#include "models/weights/checkpoint_dir.h"
#include "runtime/base/memory.h"
#include "runtime/file/disk.h"

/* The temporary directory in a directory that is there. */
#define INSIDE "export.tmp"

static int refuse_occupied(const char *path, struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "%s exists and is not an empty directory; choose "
                          "another one",
                          path);
}

/* Refuses a directory with files.  INSIDE may be there: mkdir() finds it.  So
 * may what an empty ext4 file system has. */
static int check_empty(const char *path, struct mtlm_error *err)
{
    DIR *dir = mtlm_disk_open_dir(path);
    const char *name;
    int rc = 0;

    if (!dir)
        return mtlm_disk_cannot_read(path, err);
    do
        name = mtlm_disk_next_name(dir);
    while (name
           && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0
               || strcmp(name, "lost+found") == 0
               || strcmp(name, INSIDE) == 0));
    if (name)
        rc = refuse_occupied(path, err);
    else if (errno)
        rc = mtlm_disk_cannot_read(path, err);
    closedir(dir);
    return rc;
}

/* Refuses what is there, unless it is an empty directory. */
static int check_free(struct mtlm_convert_output *output,
                      struct mtlm_error *err)
{
    struct stat there;

    output->inside = lstat(output->path, &there) == 0;
    if (!output->inside)
        return 0;
    if (S_ISLNK(there.st_mode))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s is a link; choose a directory", output->path);
    return S_ISDIR(there.st_mode) ? check_empty(output->path, err)
                                  : refuse_occupied(output->path, err);
}

int mtlm_convert_output_claim(struct mtlm_convert_output *output, int64_t bytes,
                              struct mtlm_error *err)
{
    char *path;

    if (check_free(output, err) < 0)
        return -1;
    path = output->inside ? mtlm_sprintf("%s/" INSIDE, output->path)
                          : mtlm_sprintf("%s.tmp", output->path);
    if (mkdir(path, 0777) == 0) {
        output->temporary = path;
        return mtlm_checkpoint_dir_space(path, bytes, err);
    }
    if (errno == EEXIST)
        mtlm_error_set(err, MTLM_EXIT_IO,
                       "%s exists: a conversion runs, or was killed; remove "
                       "the directory if none runs",
                       path);
    else
        mtlm_disk_cannot_make(path, err);
    free(path);
    return -1;
}

/* ---- its files ---- */

/* Does something with the file of that name; -1 with errno. */
typedef int act_on_file(const struct mtlm_convert_output *output,
                        const char *name);

/* Calls act for each file, config.json last, until one call fails. */
static int each_file(const struct mtlm_convert_output *output, act_on_file *act)
{
    int rc = 0;

    for (int i = 0; i < output->shards->n && rc == 0; i++) {
        char *name = mtlm_shards_name(output->shards, i);

        rc = act(output, name);
        free(name);
    }
    if (rc == 0 && output->shards->n > 1)
        rc = act(output, MTLM_CONVERT_INDEX);
    return rc == 0 ? act(output, MTLM_CONVERT_CONFIG) : rc;
}

static int move_file(const char *name, const char *from_dir, const char *to_dir)
{
    char *from = mtlm_sprintf("%s/%s", from_dir, name);
    char *to = mtlm_sprintf("%s/%s", to_dir, name);
    const int rc = rename(from, to), reason = errno;

    free(to);
    free(from);
    errno = reason;
    return rc;
}

static int move_in(const struct mtlm_convert_output *output, const char *name)
{
    return move_file(name, output->temporary, output->path);
}

static int move_back(const struct mtlm_convert_output *output, const char *name)
{
    return move_file(name, output->path, output->temporary);
}

static int remove_file(const struct mtlm_convert_output *output,
                       const char *name)
{
    char *path = mtlm_sprintf("%s/%s", output->temporary, name);

    unlink(path);
    free(path);
    return 0;
}

/* ---- the end ---- */

static int rename_all(const struct mtlm_convert_output *output)
{
    return rename(output->temporary, output->path) == 0
                   && mtlm_disk_sync_above(output->path) == 0
               ? 0
               : -1;
}

/* Moves all files into the directory, or none. */
static int move_all(const struct mtlm_convert_output *output)
{
    int reason;

    if (each_file(output, move_in) == 0
        && mtlm_disk_sync_dir(output->path) == 0) {
        rmdir(output->temporary);
        return 0;
    }
    reason = errno;
    each_file(output, move_back);
    errno = reason;
    return -1;
}

/* Keeps errno. */
static bool is_there(const char *path)
{
    const int reason = errno;
    struct stat there;
    const bool is = lstat(path, &there) == 0;

    errno = reason;
    return is;
}

int mtlm_convert_output_commit(const struct mtlm_convert_output *output,
                               struct mtlm_error *err)
{
    /* What others wrote meanwhile is not replaced. */
    if (output->inside && check_empty(output->path, err) < 0)
        return -1;
    if (mtlm_disk_sync_dir(output->temporary) == 0
        && (output->inside ? move_all(output) : rename_all(output)) == 0)
        return 0;
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR)
        return refuse_occupied(output->path, err);
    if (output->inside || is_there(output->path))
        return mtlm_error_set(err, MTLM_EXIT_IO, "%s: cannot be written: %s",
                              output->path, strerror(errno));
    return mtlm_disk_cannot_make(output->path, err);
}

void mtlm_convert_output_discard(const struct mtlm_convert_output *output)
{
    if (!output->temporary)
        return;
    each_file(output, remove_file);
    rmdir(output->temporary);
}
