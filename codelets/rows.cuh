#ifndef MTLM_ROWS_CUH
#define MTLM_ROWS_CUH

/* Kernels over the rows of a matrix, and sums over rows in a fixed order
 * without atomic additions: every run gives the same bits, on any GPU. */

#include <assert.h>
#include <stdint.h>

#include "codelets/launch.cuh"
#include "codelets/number.cuh"
#include "runtime/machine/device.h"

/* Adds the rows of x [rows, cols], of that value type, to sum [cols]. */
void mtlm_add_rows_cuda(float *sum, const void *x, enum mtlm_dtype value,
                        int64_t rows, int64_t cols,
                        const struct mtlm_device *device);

/* Adds the rows of parts[s] [n, cols] to sum[s] [cols], for s < sums. */
constexpr int MTLM_ROW_SUMS = 2; /* maximum */
void mtlm_add_parts_cuda(float *const sum[], int sums, const float *parts,
                         int64_t n, int64_t cols, cudaStream_t stream);

/* How blocks of threads divide a matrix: a thread owns columns and walks down
 * the rows of its block. */
struct mtlm_tiles {
    dim3 blocks;
    unsigned threads;
    int64_t rows; /* of a block */
};

/* Returns the division for threads of width columns each; sums: the threads add
 * up over rows.  The division depends on shapes only, so sums keep their order
 * everywhere. */
struct mtlm_tiles mtlm_tiles_of(int64_t rows, int64_t cols, int width,
                                bool sums);

constexpr int MTLM_TILE_THREADS = 256;

/* Base of the work F on a matrix:
 *
 *   begin(c, column)  reads what belongs to columns c .. c + V - 1 alone
 *   at(r, c, column, sum)  works on these columns of row r; adds to sum[i] what
 *       mtlm_over_rows() adds up over the rows
 *
 * F is passed to the GPU by value: pointers and numbers. */
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

/* Applies f to a matrix [rows, cols] and adds sum i over the rows to totals[i]
 * [cols]. */
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
