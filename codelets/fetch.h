#ifndef MTLM_FETCH_H
#define MTLM_FETCH_H

/* Rows on their way from memory while a kernel computes something else: the
 * processor itself does not look so far ahead. */

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/dtype.h"

/* The size of a line of common processors; another size costs time only. */
enum { MTLM_LINE_BYTES = 64 };

/* Elements of a vector in loops that memory bounds: half a line.  Processors
 * foresee the next line when a loop touches a line twice. */
enum { MTLM_HALF_LINE = MTLM_LINE_BYTES / 2 / sizeof(mtlm_real) };

/* Fetches a row [n] that will be read, to the second-level cache.  Rows of
 * several tensors often begin at the same offset of a page.  The first level
 * has few lines for such rows, so next rows to read would drive the present
 * ones out.  Rows to write go to the first level, for which x86 has no choice.
 */
static inline void mtlm_fetch(const mtlm_real *row, int64_t n)
{
    for (size_t i = 0; i < n * sizeof(*row); i += MTLM_LINE_BYTES)
        __builtin_prefetch((const char *) row + i, 0, 2);
}

/* Fetches a row [n] that will be written. */
static inline void mtlm_fetch_to_write(const mtlm_real *row, int64_t n)
{
    for (size_t i = 0; i < n * sizeof(*row); i += MTLM_LINE_BYTES)
        __builtin_prefetch((const char *) row + i, 1, 3);
}

#endif /* MTLM_FETCH_H */
