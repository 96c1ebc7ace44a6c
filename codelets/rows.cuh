#ifndef MTLM_ROWS_CUH
#define MTLM_ROWS_CUH

#include <cuda_runtime.h>
#include <stdint.h>

/* What the CUDA kernels have in common with rows.h: sums in a fixed order,
 * without atomic additions, so that two runs give the same bits. */

/* sum [cols] += the rows of x [rows, cols]. */
void mtlm_add_rows_cuda(float *sum, const float *x, int64_t rows, int64_t cols,
                        cudaStream_t stream);

/* Threads along the columns and along the rows of a block that sums rows:
 * the whole warp reads neighbours. */
constexpr int MTLM_SUM_COLS = 32, MTLM_SUM_ROWS = 16;

/* Adds up, over the threads of a block [MTLM_SUM_ROWS][MTLM_SUM_COLS], what
 * those of one column hold; the total is valid where threadIdx.y is 0. */
static inline __device__ float mtlm_block_column_sum(float v)
{
    __shared__ float part[MTLM_SUM_ROWS][MTLM_SUM_COLS];

    __syncthreads();
    part[threadIdx.y][threadIdx.x] = v;
    for (int n = MTLM_SUM_ROWS / 2; n > 0; n /= 2) {
        __syncthreads();
        if ((int) threadIdx.y < n)
            part[threadIdx.y][threadIdx.x] +=
                part[threadIdx.y + n][threadIdx.x];
    }
    return part[threadIdx.y][threadIdx.x];
}

#endif /* MTLM_ROWS_CUH */
