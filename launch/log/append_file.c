/* Appends whole pieces to a file.  Truncates a piece that was written in
 * part. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/log/append_file.h"
#include "launch/log/progress.h"
#include "runtime/base/memory.h"

struct mtlm_append_file {
    char *path;
    int fd;
    bool regular, made; /* made: created here, nothing written yet */
    bool quiet;
    int error; /* why pieces are missing, or 0 */
};

/* Opens the path for appending.  A FIFO without a reader fails with ENXIO: it
 * would hang the open.  Later writes do block. */
static int open_to_append(const char *path)
{
    const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
    const int fd = open(path, flags | O_NONBLOCK, 0666);

    if (fd >= 0)
        fcntl(fd, F_SETFL, O_APPEND);
    return fd;
}

/* Says why open_to_append() failed with errno. */
static const char *describe_failure(const char *path)
{
    const int error = errno;
    struct stat st;

    return error == ENXIO && stat(path, &st) == 0 && S_ISFIFO(st.st_mode)
               ? "a FIFO that no program reads"
               : strerror(error);
}

struct mtlm_append_file *mtlm_append_file_open(const char *path,
                                               struct mtlm_error *err)
{
    const bool there = access(path, F_OK) == 0;
    const int fd = open_to_append(path);
    struct mtlm_append_file *file;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        mtlm_error_set(err, MTLM_EXIT_IO, "%s: cannot be written: %s", path,
                       describe_failure(path));
        return NULL;
    }
    file = mtlm_calloc(1, sizeof(*file));
    file->path = mtlm_strdup(path);
    file->fd = fd;
    file->regular = S_ISREG(st.st_mode);
    file->made = !there;
    return file;
}

void mtlm_append_file_quiet(struct mtlm_append_file *file)
{
    file->quiet = true;
}

static bool has_bytes(const struct mtlm_append_file *file, off_t bytes)
{
    struct stat st;

    return fstat(file->fd, &st) == 0 && st.st_size == bytes;
}

/* Truncates a piece that was written in part, from begin to end, unless another
 * process has appended behind the part. */
static void truncate_piece(struct mtlm_append_file *file, off_t begin,
                           off_t end)
{
    if (file->regular && end > begin && has_bytes(file, end)
        && ftruncate(file->fd, begin) < 0)
        file->error = errno;
}

void mtlm_append_file_end_line(struct mtlm_append_file *file)
{
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char last = '\n';

    if (fd < 0)
        return;
    if (file->regular && fstat(fd, &st) == 0 && st.st_size > 0
        && pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n')
        mtlm_append_file_put(file, "\n", 1);
    close(fd);
}

/* Drops the part from begin to end of a piece, and reports the error. */
static void drop_piece(struct mtlm_append_file *file, int error, off_t begin,
                       off_t end)
{
    file->error = error;
    truncate_piece(file, begin, end);
    if (file->quiet)
        return;
    mtlm_progress_hide();
    mtlm_warn("cannot write %s: %s; training continues without it", file->path,
              strerror(file->error));
}

void mtlm_append_file_put(struct mtlm_append_file *file, const void *data,
                          size_t bytes)
{
    const char *at = data;
    off_t begin = 0, end = 0; /* of what was written in a row */

    for (size_t left = bytes; left > 0 && !file->error;) {
        const ssize_t n = write(file->fd, at, left);

        if (n > 0) {
            const off_t now = lseek(file->fd, 0, SEEK_CUR);

            begin = end == now - n ? begin : now - n;
            end = now;
            at += n;
            left -= n;
        } else if (n == 0 || errno != EINTR) {
            drop_piece(file, n == 0 ? ENOSPC : errno, begin, end);
        }
    }
    if (!file->error)
        file->made = false;
}

int mtlm_append_file_close(struct mtlm_append_file *file)
{
    int rc;

    if (!file)
        return 0;
    file->made = file->made && has_bytes(file, 0);
    /* Some file systems report errors at close only. */
    if (close(file->fd) < 0 && !file->error)
        file->error = errno;
    if (file->error)
        mtlm_warn("%s is %s: %s", file->path,
                  file->made ? "missing" : "incomplete", strerror(file->error));
    if (file->made)
        unlink(file->path);
    rc = file->error ? -1 : 0;
    free(file->path);
    free(file);
    return rc;
}
