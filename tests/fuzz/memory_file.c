#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/mapped_file.h"
#include "runtime/memory.h"
#include "tests/fuzz/memory_file.h"

static struct memory_file {
    const char *end;
    const void *data;
    size_t bytes;
} files[MEMORY_FILES];

void memory_file_put(int i, const char *end, const void *data, size_t bytes)
{
    files[i] = (struct memory_file){end, data, bytes};
}

void memory_file_forget(void)
{
    memset(files, 0, sizeof(files));
}

static const struct memory_file *find(const char *path)
{
    for (int i = 0; i < MEMORY_FILES; i++)
        if (files[i].end && strlen(path) >= strlen(files[i].end)
            && strcmp(path + strlen(path) - strlen(files[i].end), files[i].end)
                   == 0)
            return &files[i];
    errno = ENOENT;
    return NULL;
}

int mtlm_mapped_file_open(struct mtlm_mapped_file *file, const char *path,
                          struct mtlm_error *err)
{
    const struct memory_file *from = find(path);
    void *data = NULL;

    *file = (struct mtlm_mapped_file){0};
    if (!from)
        return mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: %s", path,
                              strerror(errno));
    file->path = mtlm_strdup(path);
    file->bytes = (int64_t) from->bytes;
    if (from->bytes > 0) {
        data = mtlm_calloc(from->bytes, 1);
        memcpy(data, from->data, from->bytes);
    }
    file->data = data;
    return 0;
}

void mtlm_mapped_file_close(struct mtlm_mapped_file *file)
{
    free((void *) file->data);
    free(file->path);
    *file = (struct mtlm_mapped_file){0};
}

/* The linker's --wrap leads here. */
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_access(const char *path, int mode);

FILE *__wrap_fopen(const char *path, const char *mode)
{
    const struct memory_file *from = find(path);

    (void) mode;
    return from ? fmemopen((void *) from->data, from->bytes, "r") : NULL;
}

int __wrap_access(const char *path, int mode)
{
    (void) mode;
    return find(path) ? 0 : -1;
}
