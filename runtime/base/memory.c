/* Host memory that never fails silently, and how much of it there is. */

#include "config.h"

#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/control_group.h"
#include "runtime/base/error.h"
#include "runtime/base/least.h"
#include "runtime/base/memory.h"

static void *checked(void *p, size_t n, size_t size)
{
    if (!p)
        mtlm_out_of_memory(n * size);
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

void *mtlm_grow(void *array, size_t *room, size_t n, size_t size)
{
    /* Near the largest number the sum would wrap round. */
    size_t more = n <= SIZE_MAX / 2 ? n + n / 2 + 4 : n;
    void *grown;

    if (array && n <= *room)
        return array;
    grown = reallocarray(array, more, size);
    /* With n alone, an array that grows by one element at a time would be moved
     * for each. */
    while (!grown && more > n) {
        more = n + (more - n) / 2;
        grown = reallocarray(array, more, size);
    }
    if (grown)
        *room = more;
    return grown;
}

void *mtlm_make_room(void *array, size_t *room, size_t n, size_t size)
{
    return checked(mtlm_grow(array, room, n, size), n, size);
}

char *mtlm_strdup(const char *text)
{
    return checked(strdup(text), 1, strlen(text) + 1);
}

char *mtlm_vsprintf(const char *fmt, va_list ap)
{
    char *text = NULL;

    if (vasprintf(&text, fmt, ap) < 0)
        mtlm_out_of_memory(strlen(fmt) + 1);
    return text;
}

char *mtlm_sprintf(const char *fmt, ...)
{
    char *text;
    va_list ap;

    va_start(ap, fmt);
    text = mtlm_vsprintf(fmt, ap);
    va_end(ap);
    return text;
}

char *mtlm_join(char *text, const char *separator, const char *word)
{
    char *joined = text ? mtlm_sprintf("%s%s%s", text, separator, word)
                        : mtlm_strdup(word);

    free(text);
    return joined;
}

/* Returns the number behind key in a file; -1: none. */
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

/* Files of a control group, and the key of cached pages. */
struct group_names {
    const char *limit, *used, *cached;
};

/* Returns the bytes that a control group still allows; LLONG_MAX: no limit. The
 * group counts cached pages of files as used, but frees them on demand. */
static long long group_allows(const char *dir, const struct group_names *names)
{
    char *max = mtlm_sprintf("%s/%s", dir, names->limit);
    char *current = mtlm_sprintf("%s/%s", dir, names->used);
    char *stat = mtlm_sprintf("%s/memory.stat", dir);
    const long long limit = number_in(max, ""), used = number_in(current, "");
    const long long cached = number_in(stat, names->cached);

    free(max);
    free(current);
    free(stat);
    if (limit < 0 || used < 0)
        return LLONG_MAX;
    /* Version 1 without a limit has one near LLONG_MAX. */
    return limit - (cached < used ? used - (cached > 0 ? cached : 0) : 0);
}

static long long group_1_allows(const char *dir)
{
    return group_allows(dir, &(struct group_names){"memory.limit_in_bytes",
                                                   "memory.usage_in_bytes",
                                                   "total_inactive_file"});
}

static long long group_2_allows(const char *dir)
{
    return group_allows(
        dir,
        &(struct group_names){"memory.max", "memory.current", "inactive_file"});
}

long long mtlm_memory_groups_allow(const char *root)
{
    return mtlm_least(mtlm_control_group_least(root, "memory", group_1_allows),
                      mtlm_control_group_least(root, "", group_2_allows));
}

/* Returns the bytes that ulimit -v leaves. */
static long long limit_allows(void)
{
    const long long kib = number_in("/proc/self/status", "VmSize:");
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return LLONG_MAX;
    return (long long) limit.rlim_cur - 1024 * kib;
}

size_t mtlm_memory_available(void)
{
    const long long kib = number_in("/proc/meminfo", "MemAvailable:");
    const long long other[] = {mtlm_memory_groups_allow(""), limit_allows()};
    long long bytes = kib >= 0 ? kib * 1024
                               : (long long) sysconf(_SC_AVPHYS_PAGES)
                                     * sysconf(_SC_PAGESIZE);

    for (int i = 0; i < 2; i++)
        bytes = other[i] < bytes ? other[i] : bytes;
    return bytes > 0 ? bytes : 0;
}

size_t mtlm_memory_for_threads(int n)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    mallopt(M_ARENA_MAX, 1);
    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        limit.rlim_cur = 8 << 20; /* at least what the C library takes */
    return n * limit.rlim_cur;
}

static size_t own_status(const char *key)
{
    const long long kib = number_in("/proc/self/status", key);

    return kib > 0 ? 1024 * (size_t) kib : 0;
}

size_t mtlm_memory_resident(void)
{
    return own_status("RssAnon:") + own_status("RssShmem:");
}

/* The system keeps the peak of all pages together.  Pages of files are a few
 * tens of MiB, and change little. */
size_t mtlm_memory_peak(void)
{
    const size_t all = own_status("VmHWM:"), files = own_status("RssFile:");

    return all > files ? all - files : 0;
}

void *mtlm_pages_get(size_t bytes)
{
    void *pages = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return checked(pages == MAP_FAILED ? NULL : pages, 1, bytes);
}

void mtlm_pages_free(void *pages, size_t bytes)
{
    munmap(pages, bytes ? bytes : 1);
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
