#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/output_file.h"
#include "runtime/memory.h"

enum { BUFFER_BYTES = 1 << 20 };

struct mtlm_output_file {
    char *path, *temporary; /* temporary: NULL once it is gone */
    FILE *stream;           /* NULL once finished */
};

static int failed(const struct mtlm_output_file *file, const char *what,
                  struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_IO, "cannot %s %s: %s", what,
                          file->path, strerror(errno));
}

/* A name of our own: another process may be writing the same file. */
static int open_temporary(struct mtlm_output_file *file)
{
    int fd = -1;

    for (int i = 0; i < 100 && fd < 0; i++) {
        free(file->temporary);
        file->temporary =
            mtlm_sprintf("%s.tmp.%ld.%d", file->path, (long) getpid(), i);
        fd = open(file->temporary,
                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

struct mtlm_output_file *mtlm_output_file_create(const char *path,
                                                 struct mtlm_error *err)
{
    struct mtlm_output_file *file = mtlm_calloc(1, sizeof(*file));
    int fd;

    file->path = mtlm_strdup(path);
    fd = open_temporary(file);
    if (fd < 0) {
        failed(file, "create", err);
        free(file->temporary);
        file->temporary = NULL;
        mtlm_output_file_destroy(file);
        return NULL;
    }
    file->stream = fdopen(fd, "w");
    if (!file->stream) {
        failed(file, "create", err);
        close(fd);
        mtlm_output_file_destroy(file);
        return NULL;
    }
    setvbuf(file->stream, NULL, _IOFBF, BUFFER_BYTES);
    return file;
}

int mtlm_output_file_write(struct mtlm_output_file *file, const void *data,
                           size_t bytes, struct mtlm_error *err)
{
    if (bytes && fwrite(data, 1, bytes, file->stream) != bytes)
        return failed(file, "write", err);
    return 0;
}

int mtlm_output_file_finish(struct mtlm_output_file *file,
                            struct mtlm_error *err)
{
    const bool ok =
        fflush(file->stream) == 0 && fsync(fileno(file->stream)) == 0;
    const int reason = errno;
    const bool closed = fclose(file->stream) == 0;

    file->stream = NULL;
    if (!ok)
        errno = reason;
    return ok && closed ? 0 : failed(file, "write", err);
}

/* The new name is on the disk only once its directory is. */
static int sync_directory(const char *path)
{
    char *copy = mtlm_strdup(path);
    const int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -1 : fsync(fd);

    /* Some file systems cannot synchronise a directory; others need not. */
    if (rc < 0 && (errno == EINVAL || errno == EACCES))
        rc = 0;
    if (fd >= 0)
        close(fd);
    free(copy);
    return rc;
}

int mtlm_output_file_publish(struct mtlm_output_file *file,
                             struct mtlm_error *err)
{
    if (rename(file->temporary, file->path) < 0)
        return failed(file, "create", err);
    free(file->temporary);
    file->temporary = NULL;
    if (sync_directory(file->path) < 0)
        return failed(file, "write the directory of", err);
    return 0;
}

void mtlm_output_file_destroy(struct mtlm_output_file *file)
{
    if (!file)
        return;
    if (file->stream)
        fclose(file->stream);
    if (file->temporary)
        unlink(file->temporary);
    free(file->temporary);
    free(file->path);
    free(file);
}
