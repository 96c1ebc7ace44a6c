/* CUDA kernels of layernorm.c: one block of threads per row; the weights'
 * gradients by a second kernel, in a fixed order. */

#include "config.h"

#include "codelets/launch.cuh"
#include "codelets/layernorm.h"
#include "codelets/op.h"
#include "codelets/rows.cuh"
#include "runtime/device.h"

constexpr int THREADS = 256, WARPS = THREADS / 32;

/* Sum of v over the block, the same in every thread. */
static __device__ float block_sum(float v)
{
    __shared__ float part[WARPS];
    float sum = 0;

    for (int n = 16; n > 0; n /= 2)
        v += __shfl_xor_sync(~0u, v, n);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    for (int i = 0; i < WARPS; i++)
        sum += part[i];
    return sum;
}

static __global__ void __launch_bounds__(THREADS)
    layernorm_fwd(const float *x, const float *gamma, const float *beta,
                  float *y, float *mean, float *rstd, int64_t h, float epsilon)
{
    const int64_t row = blockIdx.x;
    float sum = 0, square = 0;

    x += row * h;
    y += row * h;
    for (int64_t i = threadIdx.x; i < h; i += THREADS)
        sum += x[i];
    const float m = block_sum(sum) / h;
    for (int64_t i = threadIdx.x; i < h; i += THREADS)
        square += (x[i] - m) * (x[i] - m);
    const float s = 1 / sqrtf(block_sum(square) / h + epsilon);
    for (int64_t i = threadIdx.x; i < h; i += THREADS)
        y[i] = (x[i] - m) * s * gamma[i] + beta[i];
    if (threadIdx.x == 0) {
        mean[row] = m;
        rstd[row] = s;
    }
}

void mtlm_layernorm_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[LN_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[LN_X]);

    mtlm_launch(layernorm_fwd, rows, THREADS, 0, context->device->stream,
                (const float *) ptr[LN_X], (const float *) ptr[LN_GAMMA],
                (const float *) ptr[LN_BETA], (float *) ptr[LN_Y],
                (float *) ptr[LN_MEAN], (float *) ptr[LN_RSTD], h,
                (float) call->attr.layernorm.epsilon);
}

template <bool add>
static __global__ void __launch_bounds__(THREADS)
    layernorm_dx(const float *x, const float *gamma, const float *mean,
                 const float *rstd, const float *dy, float *dx, int64_t h)
{
    const int64_t row = blockIdx.x;
    const float m = mean[row], s = rstd[row];
    float sum = 0, dot = 0;

    x += row * h;
    dy += row * h;
    dx += row * h;
    for (int64_t i = threadIdx.x; i < h; i += THREADS) {
        const float g = dy[i] * gamma[i];

        sum += g;
        dot += g * (x[i] - m) * s;
    }
    sum = block_sum(sum) / h;
    dot = block_sum(dot) / h;
    for (int64_t i = threadIdx.x; i < h; i += THREADS) {
        const float d = s * (dy[i] * gamma[i] - sum - (x[i] - m) * s * dot);

        dx[i] = add ? dx[i] + d : d;
    }
}

/* dgamma += sum over rows of dy (x - mean) rstd, dbeta += that of dy. */
static __global__ void layernorm_dweight(const float *x, const float *mean,
                                         const float *rstd, const float *dy,
                                         float *dgamma, float *dbeta,
                                         int64_t rows, int64_t h)
{
    const int64_t c = (int64_t) blockIdx.x * MTLM_SUM_COLS + threadIdx.x;
    float gamma = 0, beta = 0;

    if (c < h)
        for (int64_t r = threadIdx.y; r < rows; r += MTLM_SUM_ROWS) {
            gamma += dy[r * h + c] * (x[r * h + c] - mean[r]) * rstd[r];
            beta += dy[r * h + c];
        }
    gamma = mtlm_block_column_sum(gamma);
    beta = mtlm_block_column_sum(beta);
    if (threadIdx.y == 0 && c < h) {
        dgamma[c] += gamma;
        dbeta[c] += beta;
    }
}

template <bool add>
static void backward(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[LNB_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[LNB_X]);
    const float *x = (const float *) ptr[LNB_X];
    const float *mean = (const float *) ptr[LNB_MEAN];
    const float *rstd = (const float *) ptr[LNB_RSTD];
    const float *dy = (const float *) ptr[LNB_DY];
    const dim3 threads(MTLM_SUM_COLS, MTLM_SUM_ROWS);
    cudaStream_t stream = context->device->stream;

    mtlm_launch(layernorm_dx<add>, rows, THREADS, 0, stream, x,
                (const float *) ptr[LNB_GAMMA], mean, rstd, dy,
                (float *) ptr[LNB_DX], h);
    mtlm_launch(layernorm_dweight, (h + MTLM_SUM_COLS - 1) / MTLM_SUM_COLS,
                threads, 0, stream, x, mean, rstd, dy,
                (float *) ptr[LNB_DGAMMA], (float *) ptr[LNB_DBETA], rows, h);
}

void mtlm_layernorm_bwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    backward<false>(ptr, call, context);
}

void mtlm_layernorm_bwd_add_cuda(void *const ptr[],
                                 const struct mtlm_call *call,
                                 const struct mtlm_context *context)
{
    backward<true>(ptr, call, context);
}
