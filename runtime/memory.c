#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/error.h"
#include "runtime/memory.h"

static void *checked(void *p, size_t n, size_t size)
{
    if (!p)
        mtlm_fatal(__FILE__, __LINE__, "out of memory: %zu x %zu bytes", n,
                   size);
    return p;
}

void *mtlm_calloc(size_t n, size_t size)
{
    return checked(calloc(n ? n : 1, size), n, size);
}

void *mtlm_realloc(void *p, size_t n, size_t size)
{
    return checked(reallocarray(p, n ? n : 1, size), n, size);
}

char *mtlm_strdup(const char *text)
{
    return checked(strdup(text), 1, strlen(text) + 1);
}

char *mtlm_sprintf(const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    int len;

    va_start(ap, fmt);
    len = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (len < 0)
        mtlm_fatal(__FILE__, __LINE__, "out of memory formatting \"%s\"", fmt);
    return text;
}

/* The number that follows key in the file, or -1. */
static long long number_in(const char *path, const char *key)
{
    FILE *file = fopen(path, "r");
    char line[256];
    long long value = -1;

    if (!file)
        return -1;
    while (value < 0 && fgets(line, sizeof(line), file))
        if (strncmp(line, key, strlen(key)) == 0)
            sscanf(line + strlen(key), "%lld", &value);
    fclose(file);
    return value;
}

size_t mtlm_memory_available(void)
{
    long long kib = number_in("/proc/meminfo", "MemAvailable:");
    long long bytes = kib >= 0 ? kib * 1024
                               : (long long) sysconf(_SC_AVPHYS_PAGES)
                                     * sysconf(_SC_PAGESIZE);
    static const char *const cgroup[][2] = {
        {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
         "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};

    for (int i = 0; i < 2; i++) {
        const long long limit = number_in(cgroup[i][0], "");
        const long long used = number_in(cgroup[i][1], "");

        if (limit >= 0 && used >= 0 && limit - used < bytes)
            bytes = limit > used ? limit - used : 0;
    }
    return bytes;
}

void *mtlm_scratch_get(struct mtlm_scratch *scratch, size_t bytes)
{
    if (bytes > scratch->bytes) {
        free(scratch->data);
        bytes = (bytes + 4095) / 4096 * 4096;
        scratch->data = checked(aligned_alloc(64, bytes), 1, bytes);
        scratch->bytes = bytes;
    }
    return scratch->data;
}

void mtlm_scratch_free(struct mtlm_scratch *scratch)
{
    free(scratch->data);
    *scratch = (struct mtlm_scratch){0};
}
