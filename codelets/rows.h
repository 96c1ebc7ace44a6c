#ifndef MTLM_ROWS_H
#define MTLM_ROWS_H

#include <stdint.h>

#include "runtime/base/dtype.h"

/* Sums over rows: the gradient of what was added to every row. */

/* Rows whose sum is formed apart before it is added to the total: keeps the
 * rounding error of long sums small. */
enum { MTLM_ROW_BLOCK = 32 };

/* sum [cols] += the rows of x [rows, cols] (contiguous). */
void mtlm_rows_add(mtlm_real *sum, const mtlm_real *x, int64_t rows,
                   int64_t cols);

#endif /* MTLM_ROWS_H */
