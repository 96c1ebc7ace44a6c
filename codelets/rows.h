#ifndef MTLM_ROWS_H
#define MTLM_ROWS_H

/* Sums over rows on the CPU: the gradient of a bias, for example. */

#include <stdint.h>

#include "runtime/base/dtype.h"
#include "runtime/base/memory.h"

/* Number of rows of a partial sum.  Partial sums keep the rounding error of
 * long sums small. */
enum { MTLM_ROW_BLOCK = 32 };

/* Elements before each row in scratch memory.  Operands begin at page borders;
 * rows that begin there, too, share their low address bits, and processors then
 * take some loads for others. */
enum { MTLM_ROWS_APART = 128 };

/* Returns a row [n] of scratch memory behind these elements.  The row is valid
 * until the next mtlm_scratch_get(). */
static inline mtlm_real *mtlm_rows_scratch(struct mtlm_scratch *scratch,
                                           int64_t n)
{
    return (mtlm_real *) mtlm_scratch_get(scratch, (MTLM_ROWS_APART + n)
                                                       * sizeof(mtlm_real))
           + MTLM_ROWS_APART;
}

/* Adds the rows of x [rows, cols] (contiguous) to sum [cols]. */
void mtlm_rows_add(mtlm_real *sum, const mtlm_real *x, int64_t rows,
                   int64_t cols);

/* The same with x of a 16-bit type. */
void mtlm_rows_add_16(mtlm_real *sum, enum mtlm_dtype type, const uint16_t *x,
                      int64_t rows, int64_t cols);

#endif /* MTLM_ROWS_H */
