#ifndef MTLM_MEMORY_H
#define MTLM_MEMORY_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Host memory. */

/* Allocate memory for metadata; the caller frees it with free().  mtlm_calloc()
 * zeroes the memory.  Never NULL: running out of memory ends the job. */
void *mtlm_calloc(size_t n, size_t size);
void *mtlm_realloc(void *p, size_t n, size_t size);
char *mtlm_strdup(const char *text);

/* Grows array, of *room elements of size bytes, to n of them, and some more
 * where memory allows, and *room with it; array may be NULL.  Returns the
 * array, which the caller frees; NULL: no memory, array and *room are as
 * before. */
void *mtlm_grow(void *array, size_t *room, size_t n, size_t size);

/* As mtlm_grow(), but never NULL: running out of memory ends the job. */
void *mtlm_make_room(void *array, size_t *room, size_t n, size_t size);

/* Return formatted text, which the caller frees.  Running out of memory ends
 * the job. */
char *mtlm_sprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *mtlm_vsprintf(const char *fmt, va_list ap)
    __attribute__((format(printf, 1, 0)));

/* Appends separator and word to text, which is freed.  text NULL: copies word.
 * Returns the new text, which the caller frees. */
char *mtlm_join(char *text, const char *separator, const char *word);

/* Returns the bytes that this process may still allocate: the least of the
 * machine's available memory, the limits of its control groups, and its limit
 * of address space. */
size_t mtlm_memory_available(void);

/* Returns the bytes that the control groups of this process still allow;
 * LLONG_MAX: no limit.  root: where proc and sys are, "" except in tests. */
long long mtlm_memory_groups_allow(const char *root);

/* Prepares for the start of n threads where the process has a limit of address
 * space (ulimit -v): threads share one heap.  Returns the bytes of address
 * space of their stacks; 0 without a limit. */
size_t mtlm_memory_for_threads(int n);

/* Returns the bytes that this process holds now.  Counts its own pages, and
 * pages shared with other processes for communication.  Does not count pages of
 * files, such as program code and mapped data sets: the system takes them back
 * on demand. */
size_t mtlm_memory_resident(void);

/* Returns the largest value of mtlm_memory_resident() so far. */
size_t mtlm_memory_peak(void);

/* Returns zeroed pages, for mtlm_pages_free().  Freed pages go back to the
 * system at once; malloc() would keep later blocks after a large one is freed.
 */
void *mtlm_pages_get(size_t bytes);

/* Gives the pages back; bytes as in mtlm_pages_get(). */
void mtlm_pages_free(void *pages, size_t bytes);

/* A worker's memory for a kernel's intermediates.  Grows on demand, never
 * shrinks; contents are undefined at the start of a kernel. */
struct mtlm_scratch {
    void *data;
    size_t bytes;
};

/* Returns at least bytes of memory, aligned to 64 bytes, valid until the next
 * call with this scratch. */
void *mtlm_scratch_get(struct mtlm_scratch *scratch, size_t bytes);

/* Frees the memory. */
void mtlm_scratch_free(struct mtlm_scratch *scratch);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_MEMORY_H */
