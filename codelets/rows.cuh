#ifndef MTLM_ROWS_CUH
#define MTLM_ROWS_CUH

#include <assert.h>
#include <stdint.h>

#include "codelets/launch.cuh"
#include "codelets/number.cuh"
#include "runtime/machine/device.h"

/* Kernels that go over the rows of a matrix, and sums over rows in a fixed
 * order, without atomic additions: two runs give the same bits, on any GPU. */

/* sum [cols] += the rows of x [rows, cols], of that value type. */
void mtlm_add_rows_cuda(float *sum, const void *x, enum mtlm_dtype value,
                        int64_t rows, int64_t cols,
                        const struct mtlm_device *device);

/* sum[s] [cols] += the rows of parts[s] [n, cols], for s < sums. */
constexpr int MTLM_ROW_SUMS = 2; /* at most */
void mtlm_add_parts_cuda(float *const sum[], int sums, const float *parts,
                         int64_t n, int64_t cols, cudaStream_t stream);

/* How blocks of threads divide a matrix: a thread has its columns and goes
 * down the rows of its block. */
struct mtlm_tiles {
    dim3 blocks;
    unsigned threads;
    int64_t rows; /* of a block */
};

/* For threads of width columns each, that add up over their rows or do not.
 * Depends on nothing but shapes, so that sums keep their order everywhere. */
struct mtlm_tiles mtlm_tiles_of(int64_t rows, int64_t cols, int width,
                                bool sums);

constexpr int MTLM_TILE_THREADS = 256;

/* What is done to a matrix: F is made from this.
 *
 *   begin(c, column)  reads what belongs to columns c .. c + V - 1 alone
 *   at(r, c, column, sum)  does what is to be done to these columns of row r;
 *       adds to sum[i] what mtlm_over_rows() is to add up over the rows
 *
 * It goes to the GPU by value: pointers and numbers. */
template <int V, int N = 0> struct mtlm_row_work {
    static constexpr int width = V, sums = N;
    typedef float values[V];

    __device__ void begin(int64_t, values &) const
    {
    }
};

template <typename F>
static __global__ void __launch_bounds__(MTLM_TILE_THREADS)
    mtlm_rows_kernel(F f, int64_t rows, int64_t cols, int64_t tile_rows,
                     float *parts)
{
    constexpr int V = F::width;
    const int64_t c = ((int64_t) blockIdx.x * blockDim.x + threadIdx.x) * V;
    const int64_t first = blockIdx.y * tile_rows;
    const int64_t end = first + tile_rows < rows ? first + tile_rows : rows;
    typename F::values column, sum[F::sums > 0 ? F::sums : 1] = {};

    if (c >= cols)
        return;
    f.begin(c, column);
    for (int64_t r = first; r < end; r++)
        f.at(r, c, column, sum);
    for (int s = 0; s < F::sums; s++)
        mtlm_store(parts + ((int64_t) s * gridDim.y + blockIdx.y) * cols + c,
                   sum[s]);
}

/* Does f to a matrix [rows, cols]; totals[i] [cols] += the sums i over its
 * rows. */
template <typename F>
static inline void mtlm_over_rows(const F &f, int64_t rows, int64_t cols,
                                  const struct mtlm_device *device,
                                  float *const *totals = NULL)
{
    const struct mtlm_tiles tiles =
        mtlm_tiles_of(rows, cols, F::width, F::sums > 0);
    const int64_t n = tiles.blocks.y;
    float *parts = (float *) device->workspace;

    assert(F::sums * n * cols * sizeof(*parts) <= device->workspace_bytes);
    mtlm_launch(mtlm_rows_kernel<F>, tiles.blocks, tiles.threads, 0,
                device->stream, f, rows, cols, tiles.rows, parts);
    static_assert(F::sums <= MTLM_ROW_SUMS, "a launch adds up no more");
    if (F::sums > 0)
        mtlm_add_parts_cuda(totals, F::sums, parts, n, cols, device->stream);
}

#endif /* MTLM_ROWS_CUH */
