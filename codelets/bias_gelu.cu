/* CUDA kernels of bias_gelu.c: a thread keeps to one column, whose bias it
 * reads once, and goes through rows. */

#include "config.h"

#include "codelets/bias_gelu.h"
#include "codelets/launch.cuh"
#include "codelets/op.h"
#include "codelets/rows.cuh"
#include "runtime/device.h"

constexpr int THREADS = 256;

/* Enough blocks of threads to fill any GPU; more rows go round. */
static dim3 blocks_for(int64_t rows, int64_t h)
{
    const int64_t columns = (h + THREADS - 1) / THREADS;

    return dim3((unsigned) columns, (unsigned) (rows < 4096 ? rows : 4096));
}

/* gelu(v) / v: the normal distribution function, or 1 / (1 + e^(-2u)). */
template <bool exact> static __device__ float gate(float v)
{
    if (exact)
        return 0.5f * erfcf(-(float) MTLM_SQRT_HALF * v);
    return 1
           / (1
              + expf(-(float) (2 * MTLM_GELU_SCALE)
                     * (v + (float) MTLM_GELU_CUBIC * v * v * v)));
}

/* The derivative of gate(v), whose value is g. */
template <bool exact> static __device__ float slope(float v, float g)
{
    if (exact)
        return (float) MTLM_NORMAL_0 * expf(-0.5f * v * v);
    return g * (1 - g) * (float) (2 * MTLM_GELU_SCALE)
           * (1 + (float) (3 * MTLM_GELU_CUBIC) * v * v);
}

template <bool exact>
static __global__ void bias_gelu_fwd(const float *x, const float *bias,
                                     float *y, int64_t rows, int64_t h)
{
    const int64_t c = (int64_t) blockIdx.x * THREADS + threadIdx.x;

    if (c >= h)
        return;
    const float add = bias[c];
    for (int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
        const float v = x[r * h + c] + add;

        y[r * h + c] = v * gate<exact>(v);
    }
}

void mtlm_bias_gelu_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BG_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[BG_X]);
    const auto kernel =
        call->attr.gelu.exact ? bias_gelu_fwd<true> : bias_gelu_fwd<false>;

    mtlm_launch(kernel, blocks_for(rows, h), THREADS, 0,
                context->device->stream, (const float *) ptr[BG_X],
                (const float *) ptr[BG_BIAS], (float *) ptr[BG_Y], rows, h);
}

template <bool exact>
static __global__ void bias_gelu_bwd(const float *x, const float *bias,
                                     const float *dy, float *dx, int64_t rows,
                                     int64_t h)
{
    const int64_t c = (int64_t) blockIdx.x * THREADS + threadIdx.x;

    if (c >= h)
        return;
    const float add = bias[c];
    for (int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
        const float v = x[r * h + c] + add, g = gate<exact>(v);

        dx[r * h + c] = dy[r * h + c] * (g + v * slope<exact>(v, g));
    }
}

void mtlm_bias_gelu_bwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BGB_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[BGB_X]);
    cudaStream_t stream = context->device->stream;
    const auto kernel =
        call->attr.gelu.exact ? bias_gelu_bwd<true> : bias_gelu_bwd<false>;

    mtlm_launch(kernel, blocks_for(rows, h), THREADS, 0, stream,
                (const float *) ptr[BGB_X], (const float *) ptr[BGB_BIAS],
                (const float *) ptr[BGB_DY], (float *) ptr[BGB_DX], rows, h);
    mtlm_add_rows_cuda((float *) ptr[BGB_DBIAS], (const float *) ptr[BGB_DX],
                       rows, h, stream);
}
