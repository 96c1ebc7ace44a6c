#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/memory.h"
#include "runtime/file/mapped_file.h"
#include "tests/fuzz/memory_file.h"

static struct memory_file {
    const char *end;
    const void *data;
    size_t bytes;
} files[MEMORY_FILES];
static bool any;

void memory_file_put(int i, const char *end, const void *data, size_t bytes)
{
    files[i] = (struct memory_file){end, data, bytes};
    any = true;
}

void memory_file_forget(void)
{
    memset(files, 0, sizeof(files));
    any = false;
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

int mtlm_mapped_file_read(struct mtlm_mapped_file *file, const char *path,
                          int64_t max_bytes, struct mtlm_error *err)
{
    (void) max_bytes; /* more than is put */
    return mtlm_mapped_file_open(file, path, err);
}

int mtlm_mapped_file_each_piece(const char *path, int64_t bytes,
                                mtlm_mapped_file_take *take, void *arg,
                                int64_t *found, struct mtlm_error *err)
{
    struct mtlm_mapped_file file;

    if (mtlm_mapped_file_open(&file, path, err) < 0)
        return -1;
    *found = file.bytes;
    if (file.bytes == bytes)
        take(arg, file.data, (size_t) bytes);
    mtlm_mapped_file_close(&file);
    return 0;
}

/* It has no pages that the system could take back. */
void mtlm_mapped_file_forget(const void *data, int64_t bytes)
{
    (void) data, (void) bytes;
}

void mtlm_mapped_file_close(struct mtlm_mapped_file *file)
{
    free((void *) file->data);
    free(file->path);
    *file = (struct mtlm_mapped_file){0};
}

/* The linker's --wrap leads here, libFuzzer, too: while no file is put, it is
 * the system's that are meant. */
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __real_stat(const char *path, struct stat *st);
int __wrap_stat(const char *path, struct stat *st);
int __wrap_strcmp(const char *a, const char *b);

FILE *__wrap_fopen(const char *path, const char *mode)
{
    const struct memory_file *from = find(path);

    if (!any)
        return __real_fopen(path, mode);
    return from ? fmemopen((void *) from->data, from->bytes, "r") : NULL;
}

int __wrap_access(const char *path, int mode)
{
    if (!any)
        return __real_access(path, mode);
    return find(path) ? 0 : -1;
}

int __wrap_stat(const char *path, struct stat *st)
{
    const struct memory_file *from = find(path);

    if (!any)
        return __real_stat(path, st);
    *st = (struct stat){.st_mode = from ? S_IFREG : S_IFDIR,
                        .st_size = from ? (off_t) from->bytes : 0};
    return 0;
}

/* A table of options is searched by comparing hundreds of names, and what
 * libFuzzer and the sanitizer do for each takes longer than all the rest. Reads
 * behind the end show here, too. */
int __wrap_strcmp(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return (unsigned char) *a - (unsigned char) *b;
}
