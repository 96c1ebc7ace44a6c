/* CUDA kernels of bias_gelu.c: one thread per element. */

#include "config.h"

#include "codelets/bias_gelu.h"
#include "codelets/op.h"
#include "codelets/rows.cuh"
#include "runtime/device.h"

constexpr int THREADS = 256;

/* Blocks of threads for n elements, each thread taking several when there
 * are more than a GPU can hold at once. */
static unsigned blocks_for(int64_t n)
{
    const int64_t blocks = (n + THREADS - 1) / THREADS;

    return (unsigned) (blocks < 65536 ? blocks : 65536);
}

/* 1 / (1 + e^(-2u)). */
static __device__ float gate(float v)
{
    const float two_u = (float) (2 * MTLM_GELU_SCALE)
                        * (v + (float) MTLM_GELU_CUBIC * v * v * v);

    return 1 / (1 + expf(-two_u));
}

static __global__ void bias_gelu_fwd(const float *x, const float *bias,
                                     float *y, int64_t n, int64_t h)
{
    for (int64_t i = (int64_t) blockIdx.x * THREADS + threadIdx.x; i < n;
         i += (int64_t) gridDim.x * THREADS) {
        const float v = x[i] + bias[i % h];

        y[i] = v * gate(v);
    }
}

void mtlm_bias_gelu_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[BG_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[BG_X]);

    bias_gelu_fwd<<<blocks_for(n), THREADS, 0, context->device->stream>>>(
        (const float *) ptr[BG_X], (const float *) ptr[BG_BIAS],
        (float *) ptr[BG_Y], n, h);
}

static __global__ void bias_gelu_bwd(const float *x, const float *bias,
                                     const float *dy, float *dx, int64_t n,
                                     int64_t h)
{
    for (int64_t i = (int64_t) blockIdx.x * THREADS + threadIdx.x; i < n;
         i += (int64_t) gridDim.x * THREADS) {
        const float v = x[i] + bias[i % h], g = gate(v);
        const float slope = (float) (2 * MTLM_GELU_SCALE)
                            * (1 + (float) (3 * MTLM_GELU_CUBIC) * v * v);

        dx[i] = dy[i] * (g + v * g * (1 - g) * slope);
    }
}

void mtlm_bias_gelu_bwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[BGB_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[BGB_X]);
    cudaStream_t stream = context->device->stream;

    bias_gelu_bwd<<<blocks_for(n), THREADS, 0, stream>>>(
        (const float *) ptr[BGB_X], (const float *) ptr[BGB_BIAS],
        (const float *) ptr[BGB_DY], (float *) ptr[BGB_DX], n, h);
    mtlm_add_rows_cuda((float *) ptr[BGB_DBIAS], (const float *) ptr[BGB_DX],
                       n / h, h, stream);
}
