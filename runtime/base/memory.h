#ifndef MTLM_MEMORY_H
#define MTLM_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Host memory for metadata: zeroed, never NULL (running out ends the job);
 * the caller frees it with free(). */
void *mtlm_calloc(size_t n, size_t size);
void *mtlm_realloc(void *p, size_t n, size_t size);
char *mtlm_strdup(const char *text);

/* printf into memory that the caller frees. */
char *mtlm_sprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Bytes of memory that this process may still take: the least of what the
 * machine has available and what its control groups (version 2) and its limit
 * of address space still allow. */
size_t mtlm_memory_available(void);

/* Bytes of memory that this process holds now, and the most that it has held:
 * its own pages and those that it shares with other processes to talk to them.
 * Pages of files, such as program code and a mapped data set, do not count:
 * the system takes them back when it needs them. */
size_t mtlm_memory_resident(void);
size_t mtlm_memory_peak(void);

/* Zeroed pages of their own, which go back to the system when they are given
 * back: malloc() would learn from large blocks that are freed, and keep later
 * ones. */
void *mtlm_pages_get(size_t bytes);
void mtlm_pages_free(void *pages, size_t bytes);

/* A worker's own memory for a kernel's intermediates: grows on demand, never
 * shrinks, contents undefined at the start of each kernel. */
struct mtlm_scratch {
    void *data;
    size_t bytes;
};

/* At least bytes of memory aligned to 64 bytes, valid until the next call on
 * the same scratch. */
void *mtlm_scratch_get(struct mtlm_scratch *scratch, size_t bytes);
void mtlm_scratch_free(struct mtlm_scratch *scratch);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_MEMORY_H */
