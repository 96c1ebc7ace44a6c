/* Sums over rows on the CPU, block by block. */

#include "config.h"

#include "codelets/rows.h"
#include "runtime/base/value16.h"

/* Columns at a time: their sums stay in the nearest cache. */
enum { COLS = 512 };

static void add_block(mtlm_real *restrict sum, const mtlm_real *restrict x,
                      int64_t rows, int64_t cols, int64_t ld)
{
    mtlm_real part[COLS] = {0};

    for (int64_t r = 0; r < rows; r++, x += ld)
#pragma omp simd
        for (int64_t c = 0; c < cols; c++)
            part[c] += x[c];
#pragma omp simd
    for (int64_t c = 0; c < cols; c++)
        sum[c] += part[c];
}

void mtlm_rows_add(mtlm_real *sum, const mtlm_real *x, int64_t rows,
                   int64_t cols)
{
    for (int64_t r = 0; r < rows; r += MTLM_ROW_BLOCK)
        for (int64_t c = 0; c < cols; c += COLS)
            add_block(sum + c, x + r * cols + c,
                      rows - r < MTLM_ROW_BLOCK ? rows - r : MTLM_ROW_BLOCK,
                      cols - c < COLS ? cols - c : COLS, cols);
}

static void add_block_16(mtlm_real *sum, enum mtlm_dtype type,
                         const uint16_t *x, int64_t rows, int64_t cols,
                         int64_t ld)
{
    float row[COLS], part[COLS] = {0};

    for (int64_t r = 0; r < rows; r++, x += ld) {
        mtlm_value16_widen(type, x, cols, row);
#pragma omp simd
        for (int64_t c = 0; c < cols; c++)
            part[c] += row[c];
    }
#pragma omp simd
    for (int64_t c = 0; c < cols; c++)
        sum[c] += part[c];
}

void mtlm_rows_add_16(mtlm_real *sum, enum mtlm_dtype type, const uint16_t *x,
                      int64_t rows, int64_t cols)
{
    for (int64_t r = 0; r < rows; r += MTLM_ROW_BLOCK)
        for (int64_t c = 0; c < cols; c += COLS)
            add_block_16(sum + c, type, x + r * cols + c,
                         rows - r < MTLM_ROW_BLOCK ? rows - r : MTLM_ROW_BLOCK,
                         cols - c < COLS ? cols - c : COLS, cols);
}
