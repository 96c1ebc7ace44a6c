/* The files of a directory, one after the other. */

#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "models/task/text_files.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"
#include "runtime/file/disk.h"

/* Names of files, sorted. */
struct names {
    char **name;
    size_t n, room;
};

static void add_name(struct names *names, const char *name)
{
    names->name = mtlm_make_room(names->name, &names->room, names->n + 1,
                                 sizeof(*names->name));
    names->name[names->n++] = mtlm_strdup(name);
}

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->name[i]);
    free(names->name);
}

/* Takes the names that end with `end`.  A directory that is read in part fails:
 * a score of some files looks like a score of all. */
static int list_names(struct names *names, const char *path, const char *end,
                      struct mtlm_error *err)
{
    const size_t length = strlen(end);
    DIR *dir = mtlm_disk_open_dir(path);
    const char *name;
    int rc = 0;

    if (!dir)
        return mtlm_disk_cannot_read(path, err);
    while ((name = mtlm_disk_next_name(dir))) {
        const size_t bytes = strlen(name);

        if (bytes >= length && name[0] != '.'
            && strcmp(name + bytes - length, end) == 0)
            add_name(names, name);
    }
    if (errno)
        rc = mtlm_disk_cannot_read(path, err);
    closedir(dir);
    if (rc < 0)
        return rc;
    if (names->n == 0)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: the directory has no file *%s", path, end);
    qsort(names->name, names->n, sizeof(*names->name), mtlm_compare_text);
    return 0;
}

int mtlm_text_files_read(const char *path, const char *end,
                         int (*read)(void *context, const char *file,
                                     struct mtlm_error *err),
                         void *context, struct mtlm_error *err)
{
    struct names names = {0};
    struct stat st;
    int rc;

    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return read(context, path, err); /* says what is wrong */
    rc = list_names(&names, path, end, err);
    for (size_t i = 0; i < names.n && rc == 0; i++) {
        char *file = mtlm_sprintf("%s/%s", path, names.name[i]);

        rc = read(context, file, err);
        free(file);
    }
    free_names(&names);
    return rc;
}
