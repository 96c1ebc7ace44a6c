/* CUDA kernel of rows.c: one block of threads per MTLM_SUM_COLS columns. */

#include "config.h"

#include "codelets/launch.cuh"
#include "codelets/rows.cuh"
#include "runtime/device.h"

static __global__ void add_rows(float *sum, const float *x, int64_t rows,
                                int64_t cols)
{
    const int64_t c = (int64_t) blockIdx.x * MTLM_SUM_COLS + threadIdx.x;
    float v = 0;

    if (c < cols)
        for (int64_t r = threadIdx.y; r < rows; r += MTLM_SUM_ROWS)
            v += x[r * cols + c];
    v = mtlm_block_column_sum(v);
    if (threadIdx.y == 0 && c < cols)
        sum[c] += v;
}

void mtlm_add_rows_cuda(float *sum, const float *x, int64_t rows, int64_t cols,
                        cudaStream_t stream)
{
    const dim3 threads(MTLM_SUM_COLS, MTLM_SUM_ROWS);

    mtlm_launch(add_rows, (cols + MTLM_SUM_COLS - 1) / MTLM_SUM_COLS, threads,
                0, stream, sum, x, rows, cols);
}
