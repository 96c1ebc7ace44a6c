/* Output files: a temporary file beside the target, flushed, then renamed. */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/memory.h"
#include "runtime/file/disk.h"
#include "runtime/file/output_file.h"

enum { BUFFER_BYTES = 1 << 20 };

struct mtlm_output_file {
    /* name: in messages.  path: of the file.  temporary: NULL once removed, and
     * if bytes go to the path itself */
    char *name, *path, *temporary;
    bool published; /* the temporary file became the file */
    char *old;      /* name of the file before, once renamed; NULL: none is */
    int fd;         /* -1 once finished */
    char *buffer;   /* [BUFFER_BYTES] the first `held` are unwritten */
    size_t held;
};

static int failed(const struct mtlm_output_file *file, const char *what,
                  struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_IO, "cannot %s %s: %s", what,
                          file->name, strerror(errno));
}

/* Makes a unique name: another process may write the same file. */
static void open_temporary(struct mtlm_output_file *file)
{
    for (int i = 0; i < 100 && file->fd < 0; i++) {
        free(file->temporary);
        file->temporary =
            mtlm_sprintf("%s.tmp.%ld.%d", file->path, (long) getpid(), i);
        file->fd = mtlm_disk_open(file->temporary,
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
        if (file->fd < 0 && errno != EEXIST)
            break;
    }
}

/* Opens what the bytes go to.  Where that fails, fd is -1, with errno, and
 * there is no temporary file.  in_place: where no temporary file can be made,
 * the file of a link is overwritten. */
static void open_file(struct mtlm_output_file *file, bool in_place)
{
    const bool replaced = mtlm_disk_is_replaced(file->path);
    int reason;

    if (replaced)
        open_temporary(file);
    if (file->fd >= 0)
        return;
    reason = errno;
    free(file->temporary);
    file->temporary = NULL;
    errno = reason;
    if (!replaced
        || (in_place && mtlm_disk_is_in_place(file->name, file->path, reason)))
        file->fd = mtlm_disk_open(file->path, O_WRONLY | O_CREAT | O_TRUNC);
}

static struct mtlm_output_file *create(const char *path, bool in_place,
                                       struct mtlm_error *err)
{
    struct mtlm_output_file *file = mtlm_calloc(1, sizeof(*file));

    file->name = mtlm_strdup(path);
    file->path = mtlm_disk_resolve_link(path);
    file->fd = -1;
    open_file(file, in_place);
    if (file->fd < 0) {
        failed(file, "create", err);
        mtlm_output_file_destroy(file);
        return NULL;
    }
    file->buffer = mtlm_calloc(BUFFER_BYTES, 1);
    return file;
}

struct mtlm_output_file *mtlm_output_file_create(const char *path,
                                                 struct mtlm_error *err)
{
    return create(path, false, err);
}

struct mtlm_output_file *mtlm_output_file_create_in_place(
    const char *path, struct mtlm_error *err)
{
    return create(path, true, err);
}

static int flush(struct mtlm_output_file *file)
{
    const size_t bytes = file->held;

    file->held = 0;
    return mtlm_disk_write(file->fd, file->buffer, bytes);
}

int mtlm_output_file_write(struct mtlm_output_file *file, const void *data,
                           size_t bytes, struct mtlm_error *err)
{
    if (bytes > BUFFER_BYTES - file->held && flush(file) < 0)
        return failed(file, "write", err);
    if (bytes > BUFFER_BYTES)
        return mtlm_disk_write(file->fd, data, bytes) < 0
                   ? failed(file, "write", err)
                   : 0;
    if (bytes > 0)
        memcpy(file->buffer + file->held, data, bytes);
    file->held += bytes;
    return 0;
}

int mtlm_output_file_print(struct mtlm_output_file *file,
                           struct mtlm_error *err, const char *fmt, ...)
{
    va_list ap;
    char *text;
    int rc;

    va_start(ap, fmt);
    text = mtlm_vsprintf(fmt, ap);
    va_end(ap);
    rc = mtlm_output_file_write(file, text, strlen(text), err);
    free(text);
    return rc;
}

int mtlm_output_file_finish(struct mtlm_output_file *file,
                            struct mtlm_error *err)
{
    const int rc = flush(file) < 0 || mtlm_disk_sync(file->fd) < 0 ? -1 : 0;
    const int reason = errno;
    /* An interrupted close() has closed; the bytes are on the disk. */
    const bool closed = close(file->fd) == 0 || errno == EINTR;

    file->fd = -1;
    if (rc < 0)
        errno = reason;
    return rc < 0 || !closed ? failed(file, "write", err) : 0;
}

int mtlm_output_file_publish(struct mtlm_output_file *file,
                             struct mtlm_error *err)
{
    if (!file->temporary)
        return 0;
    if (rename(file->temporary, file->path) < 0)
        return failed(file, "create", err);
    free(file->temporary);
    file->temporary = NULL;
    file->published = true;
    /* Only then the new name is on the disk. */
    if (mtlm_disk_sync_above(file->path) < 0)
        return failed(file, "write the directory of", err);
    return 0;
}

/* ---- a pair ---- */

/* Returns a name beside the path that nothing has: a process that died may have
 * left the user's data under the first ones. */
static char *find_free_name(const char *path)
{
    struct stat there;

    for (int i = 0;; i++) {
        char *name = mtlm_sprintf("%s.old.%d", path, i);

        if (lstat(name, &there) < 0)
            return name;
        free(name);
    }
}

/* Renames the file that publish() would replace, if there is one. */
static int set_aside(struct mtlm_output_file *file, struct mtlm_error *err)
{
    struct stat there;
    int rc;

    if (!file->temporary)
        return 0;
    rc = lstat(file->path, &there);
    if (rc < 0 && errno == ENOENT)
        return 0;
    if (rc == 0 && S_ISDIR(there.st_mode)) {
        errno = EISDIR; /* as the rename to its name says */
        rc = -1;
    }
    if (rc < 0)
        return failed(file, "replace", err);
    file->old = find_free_name(file->path);
    if (rename(file->path, file->old) < 0) {
        /* Another process that writes the same file may have been faster. */
        rc = errno == ENOENT ? 0 : failed(file, "replace", err);
        free(file->old);
        file->old = NULL;
        return rc;
    }
    return mtlm_disk_sync_above(file->path) < 0
               ? failed(file, "write the directory of", err)
               : 0;
}

/* Removes the file that publish() gave its name. */
static int withdraw(const struct mtlm_output_file *file)
{
    const bool gone = !file->published || unlink(file->path) == 0
                      || errno == ENOENT;

    return gone ? 0 : -1;
}

/* Gives the old file its name again, in place of a published one. */
static int put_back(struct mtlm_output_file *file)
{
    const int rc = file->old ? rename(file->old, file->path) : withdraw(file);

    if (rc == 0) {
        free(file->old);
        file->old = NULL;
    }
    return rc;
}

static void remove_old(const struct mtlm_output_file *file)
{
    if (file->old)
        unlink(file->old);
}

/* Adds where an old file is to the reason in err. */
static void name_old(const struct mtlm_output_file *file,
                     struct mtlm_error *err)
{
    char *reason;

    if (!file->old || !err)
        return;
    reason = mtlm_strdup(err->text);
    mtlm_error_set(err, MTLM_EXIT_IO, "%s; the old file is now %s", reason,
                   file->old);
    free(reason);
}

int mtlm_output_file_publish_pair(struct mtlm_output_file *data,
                                  struct mtlm_output_file *index,
                                  struct mtlm_error *err)
{
    if (set_aside(index, err) == 0 && set_aside(data, err) == 0
        && mtlm_output_file_publish(data, err) == 0
        && mtlm_output_file_publish(index, err) == 0) {
        remove_old(data);
        remove_old(index);
        return 0;
    }
    /* The old index stands beside the old data only. */
    if (withdraw(index) < 0 || put_back(data) < 0 || put_back(index) < 0) {
        name_old(data, err);
        name_old(index, err);
    }
    mtlm_disk_sync_above(data->path); /* err has a reason already */
    return -1;
}

void mtlm_output_file_destroy(struct mtlm_output_file *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    if (file->temporary)
        unlink(file->temporary);
    free(file->buffer);
    free(file->old);
    free(file->temporary);
    free(file->path);
    free(file->name);
    free(file);
}

int mtlm_output_file_end(struct mtlm_output_file *file, int rc,
                         struct mtlm_error *err)
{
    if (rc == 0)
        rc = mtlm_output_file_finish(file, err);
    if (rc == 0)
        rc = mtlm_output_file_publish(file, err);
    mtlm_output_file_destroy(file);
    return rc;
}

int mtlm_output_file_write_text(const char *path, const char *text,
                                struct mtlm_error *err)
{
    struct mtlm_output_file *file = mtlm_output_file_create(path, err);
    const int rc =
        file ? mtlm_output_file_write(file, text, strlen(text), err) : -1;

    return mtlm_output_file_end(file, rc, err);
}
