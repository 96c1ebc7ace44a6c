/* Writes a file under another name first, then renames the file. */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "launch/trace/export/whole_file.h"
#include "runtime/base/memory.h"
#include "runtime/file/disk.h"
#include "runtime/file/unfinished.h"

/* Returns 0 or errno. */
static int write_to(const char *path, mtlm_whole_file_writer *write,
                    const void *what)
{
    FILE *f = fopen(path, "w");
    int error = 0;

    if (!f)
        return errno;
    errno = 0;
    write(f, what);
    if (ferror(f) || fflush(f))
        error = errno ? errno : EIO;
    if (fclose(f) && !error)
        error = errno;
    return error;
}

/* Replaces the file at the path.  Returns 0 or errno. */
static int replace(const char *path, mtlm_whole_file_writer *write,
                   const void *what)
{
    char *temporary = mtlm_sprintf("%s.tmp", path);
    int error;

    mtlm_unfinished_add(temporary);
    error = write_to(temporary, write, what);
    if (!error && rename(temporary, path))
        error = errno;
    if (error)
        unlink(temporary);
    mtlm_unfinished_drop(1);
    free(temporary);
    return error;
}

int mtlm_whole_file_write(const char *path, mtlm_whole_file_writer *write,
                          const void *what)
{
    char *target = mtlm_disk_resolve_link(path);
    const bool replaced = mtlm_disk_is_replaced(target);
    int error =
        replaced ? replace(target, write, what) : write_to(target, write, what);

    if (replaced && mtlm_disk_is_in_place(path, target, error))
        error = write_to(target, write, what);
    free(target);
    return error;
}
