#ifndef MTLM_TESTS_GUARDED_H
#define MTLM_TESTS_GUARDED_H

#include <stdbool.h>
#include <stddef.h>

/* Memory that stands for a GPU's: its contents are undefined (all ones: not a
 * number), and behind its end lies a page that cannot be touched.  Aligned to
 * 16 bytes, as most operands are: then up to 15 bytes lie between the two,
 * which guarded_free() looks at (and AddressSanitizer guards).  Otherwise
 * nothing does, and the address is a multiple of element_bytes only. */
struct guarded {
    void *data;
    /* Private. */
    char *map;
    size_t bytes, map_bytes;
};

struct guarded guarded_new(size_t bytes, size_t element_bytes, bool aligned);

/* Returns whether nothing was written behind the end. */
bool guarded_free(struct guarded *memory);

#endif /* MTLM_TESTS_GUARDED_H */
