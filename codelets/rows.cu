/* CUDA kernels of rows.c and rows.cuh: sums over rows in a fixed order. */

#include "config.h"

#include "codelets/rows.cuh"

/* Threads along the columns, so that neighbours read 32 bytes, and along the
 * rows of a block: many, since a layer's width alone gives few blocks. */
constexpr int COLS = 8, ROWS = 128;

/* Blocks (c, 0) compute columns of the first sum, (c, 1) of the second.
 */
static __global__ void __launch_bounds__(COLS *ROWS)
    add_parts(float *first, float *second, const float *parts, int64_t n,
              int64_t cols)
{
    __shared__ float part[ROWS][COLS];
    const int64_t c = (int64_t) blockIdx.x * COLS + threadIdx.x;
    const int row = threadIdx.y;
    float *sum = blockIdx.y == 0 ? first : second;
    float v = 0;

    parts += blockIdx.y * n * cols;
    if (c < cols)
#ifdef __CUDACC__
#pragma unroll 8
#endif
        for (int64_t r = row; r < n; r += ROWS)
            v += parts[r * cols + c];
    part[row][threadIdx.x] = v;
    for (int half = ROWS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (row < half)
            part[row][threadIdx.x] += part[row + half][threadIdx.x];
    }
    if (row == 0 && c < cols)
        sum[c] += part[0][threadIdx.x];
}

void mtlm_add_parts_cuda(float *const sum[], int sums, const float *parts,
                         int64_t n, int64_t cols, cudaStream_t stream)
{
    mtlm_launch(add_parts, dim3((cols + COLS - 1) / COLS, sums),
                dim3(COLS, ROWS), 0, stream, sum[0], sum[sums - 1], parts, n,
                cols);
}

static int64_t quotient_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

struct mtlm_tiles mtlm_tiles_of(int64_t rows, int64_t cols, int width,
                                bool sums)
{
    /* Several times the threads that a GPU holds (an H200: 270 336), so that
     * few wait for the last; at most 65 535 blocks of a warp.  With sums, about
     * as many as the GPU holds, for fewer parts. */
    const int64_t enough = sums ? 1 << 18 : 1 << 20;
    const int64_t at_least = sums ? 8 : 1;
    const int64_t n = quotient_up(cols, width);
    const int64_t across = quotient_up(n, MTLM_TILE_THREADS);
    const int64_t threads = quotient_up(quotient_up(n, across), 32) * 32;
    const int64_t down = enough / (across * threads) + 1;
    int64_t tile_rows = quotient_up(rows, down);

    if (tile_rows < at_least)
        tile_rows = at_least;
    return {dim3((unsigned) across, (unsigned) quotient_up(rows, tile_rows)),
            (unsigned) threads, tile_rows};
}

template <typename T, int V> struct sum_rows : mtlm_row_work<V, 1> {
    const T *x;
    int64_t cols;

    __device__ void at(int64_t r, int64_t c, float (&)[V],
                       float (&sum)[1][V]) const
    {
        float v[V];

        mtlm_load(x + r * cols + c, v);
        for (int i = 0; i < V; i++)
            sum[0][i] += v[i];
    }
};

void mtlm_add_rows_cuda(float *sum, const void *x, enum mtlm_dtype value,
                        int64_t rows, int64_t cols,
                        const struct mtlm_device *device)
{
    mtlm_dispatch_wide(value, cols, {x}, [&](auto t, auto width) {
        using T = decltype(t);
        sum_rows<T, decltype(width)::value> f;

        f.x = (const T *) x;
        f.cols = cols;
        mtlm_over_rows(f, rows, cols, device, &sum);
    });
}
