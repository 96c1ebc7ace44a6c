/* CUDA kernels of xent.c and xent_stats.c: a block of threads per row of
 * logits, which are read once forward, 16 bytes at a time where rows begin at
 * multiples of that, and read and overwritten once backward.  Sums over rows
 * are formed by one block, in a fixed order. */

#include "config.h"

#include <float.h>

#include "codelets/block_sum.cuh"
#include "codelets/control_slots.h"
#include "codelets/launch.cuh"
#include "codelets/number.cuh"
#include "codelets/xent.h"
#include "runtime/machine/device.h"

constexpr int THREADS = 512, WARPS = THREADS / 32, LOSS_THREADS = 1024;
/* Returns the blocks for one row each; with more rows, blocks take several. */
static unsigned blocks_for(int64_t rows)
{
    return rows < INT32_MAX ? (unsigned) rows : INT32_MAX;
}

constexpr float LOG2_E = 1.4426950408889634f;

/* The maximum of some logits, and their sum of e^(logit - max). */
struct stats {
    float max, sum;
};

static __device__ float exp_of(float x)
{
    return exp2f(x * LOG2_E);
}

static __device__ struct stats merge(struct stats a, struct stats b)
{
    const float max = fmaxf(a.max, b.max);

    return {max, a.sum * exp_of(a.max - max) + b.sum * exp_of(b.max - max)};
}

/* Adds logits: one exponential each, and one more if the maximum grows. */
template <typename T, int width>
static __device__ void add(struct stats *all, const T *logits)
{
    float x[width], max = all->max, sum = 0;

    mtlm_load<width>(logits, x);
    for (int i = 0; i < width; i++)
        max = fmaxf(max, x[i]);
    if (max > all->max) {
        all->sum *= exp_of(all->max - max);
        all->max = max;
    }
    for (int i = 0; i < width; i++)
        sum += exp_of(x[i] - max);
    all->sum += sum;
}

/* Merges over the block; the result is valid in the first warp. */
static __device__ struct stats merge_block(struct stats mine)
{
    __shared__ struct stats part[WARPS];
    struct stats all = {-FLT_MAX, 0};

    for (int n = 16; n > 0; n /= 2)
        mine = merge(mine, {__shfl_xor_sync(~0u, mine.max, n),
                            __shfl_xor_sync(~0u, mine.sum, n)});
    __syncthreads(); /* the previous row's parts have been read */
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x < 32)
        for (int i = 0; i < WARPS; i++)
            all = merge(all, part[i]);
    return all;
}

/* n: columns that count, of cols; first: this rank's first row of the
 * vocabulary. */
template <typename T, int width>
static __global__ void __launch_bounds__(THREADS)
    xent_stats(const T *logits, const int *labels, float *local, float *max,
               float *sum, float *target, int64_t rows, int64_t cols, int64_t n,
               int64_t first)
{
    const int64_t whole = n / width * width;

    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        const T *row = logits + r * cols;
        const int64_t label = labels[r] - first;
        struct stats all = {-FLT_MAX, 0};

        for (int64_t i = (int64_t) threadIdx.x * width; i < whole;
             i += THREADS * width)
            add<T, width>(&all, row + i);
        if (whole + threadIdx.x < n)
            add<T, 1>(&all, row + whole + threadIdx.x);
        all = merge_block(all);
        if (threadIdx.x == 0) {
            local[r] = max[r] = all.max;
            sum[r] = all.sum;
            target[r] = label >= 0 && label < n ? mtlm_float(row[label]) : 0.0f;
        }
    }
}

template <typename T, int width>
static void stats(void *const ptr[], const struct mtlm_call *call,
                  const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XS_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[XS_LOGITS]);
    float *sums = (float *) ptr[XS_SUMS];

    mtlm_launch(xent_stats<T, width>, blocks_for(rows), THREADS, 0,
                context->device->stream, (const T *) ptr[XS_LOGITS],
                (const int *) ptr[XS_LABELS], (float *) ptr[XS_LOCAL],
                (float *) ptr[XS_MAX], sums, sums + rows, rows, cols,
                mtlm_xent_columns(call, cols), call->attr.vocabulary.first);
}

void mtlm_xent_stats_cuda(void *const ptr[], const struct mtlm_call *call,
                          const struct mtlm_context *context)
{
    const int64_t cols = mtlm_shape_cols(&call->shape[XS_LOGITS]);

    mtlm_dispatch(call->value, [&](auto t) {
        using T = decltype(t);

        if (mtlm_wide<mtlm_width<T>>(cols, (const T *) ptr[XS_LOGITS]))
            stats<T, mtlm_width<T>>(ptr, call, context);
        else
            stats<T, 1>(ptr, call, context);
    });
}

/* In double, as on the CPU: rows are few. */
static __global__ void xent_rescale(const float *local, const float *max,
                                    float *sum, int64_t rows)
{
    const int64_t r = (int64_t) blockIdx.x * THREADS + threadIdx.x;

    if (r < rows)
        sum[r] *= exp((double) local[r] - (double) max[r]);
}

void mtlm_xent_rescale_cuda(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_elems(&call->shape[XR_LOCAL]);

    mtlm_launch(xent_rescale, blocks_for((rows + THREADS - 1) / THREADS),
                THREADS, 0, context->device->stream,
                (const float *) ptr[XR_LOCAL], (const float *) ptr[XR_MAX],
                (float *) ptr[XR_SUMS], rows);
}

/* One block of the largest size, so that the sum has one order. */
static __global__ void __launch_bounds__(LOSS_THREADS)
    xent_loss(const float *max, const float *sum, const float *target,
              const float *weight, double *loss, int64_t rows, double share)
{
    double total = 0;

    for (int64_t r = threadIdx.x; r < rows; r += LOSS_THREADS)
        if (weight[r] != 0)
            total += (double) weight[r]
                     * (log((double) sum[r])
                        + ((double) max[r] - (double) target[r]));
    total = mtlm_block_sum<LOSS_THREADS>(total);
    if (threadIdx.x == 0)
        *loss += share * total;
}

void mtlm_xent_loss_cuda(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XL_LOGITS]);
    const float *sums = (const float *) ptr[XL_SUMS];

    mtlm_launch(xent_loss, 1, LOSS_THREADS, 0, context->device->stream,
                (const float *) ptr[XL_MAX], sums, sums + rows,
                (const float *) ptr[XL_WEIGHTS],
                (double *) ptr[XL_LOSS] + call->attr.vocabulary.slot, rows,
                context->share);
}

/* share: without the loss scale, which the kernel multiplies. */
template <typename T, int width>
static __global__ void __launch_bounds__(THREADS)
    xent_bwd(const int *labels, const float *max, const float *sum,
             const float *weight, const double *control, T *logits,
             int64_t rows, int64_t cols, int64_t n, int64_t first, double share)
{
    share *= control[MTLM_CONTROL_LOSS_SCALE];
    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        T *row = logits + r * cols;
        const int64_t label = labels[r] - first;
        const float scale = share * weight[r];
        const float factor = scale / sum[r], m = max[r];

        for (int64_t i = (int64_t) threadIdx.x * width; i < cols;
             i += THREADS * width) {
            float x[width] = {};

            if (scale != 0 && i < n)
                mtlm_load<width>(row + i, x);
            for (int k = 0; k < width; k++)
                x[k] = scale == 0 || i + k >= n
                           ? 0.0f
                           : factor * exp_of(x[k] - m)
                                 - (i + k == label ? scale : 0.0f);
            mtlm_store<width>(row + i, x);
        }
    }
}

template <typename T, int width>
static void backward(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XB_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[XB_LOGITS]);

    mtlm_launch(xent_bwd<T, width>, blocks_for(rows), THREADS, 0,
                context->device->stream, (const int *) ptr[XB_LABELS],
                (const float *) ptr[XB_MAX], (const float *) ptr[XB_SUMS],
                (const float *) ptr[XB_WEIGHTS],
                (const double *) ptr[XB_CONTROL], (T *) ptr[XB_LOGITS], rows,
                cols, mtlm_xent_columns(call, cols),
                call->attr.vocabulary.first, context->share);
}

void mtlm_xent_bwd_cuda(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context)
{
    const int64_t cols = mtlm_shape_cols(&call->shape[XB_LOGITS]);

    mtlm_dispatch(call->value, [&](auto t) {
        using T = decltype(t);

        if (mtlm_wide<mtlm_width<T>>(cols, (const T *) ptr[XB_LOGITS]))
            backward<T, mtlm_width<T>>(ptr, call, context);
        else
            backward<T, 1>(ptr, call, context);
    });
}

/* Returns the index of the greatest of the n logits of a row, in every lane of
 * a warp; of equal logits, the first; -1 if one is a NaN. */
template <typename T>
static __device__ int64_t greatest(const T *row, int64_t n)
{
    float best = -INFINITY;
    int64_t at = 0;
    bool number = true;

    for (int64_t i = threadIdx.x % 32; i < n; i += 32) {
        const float x = mtlm_float(row[i]);

        number &= !isnan(x);
        if (x > best)
            best = x, at = i;
    }
    for (int step = 16; step > 0; step /= 2) {
        const float x = __shfl_xor_sync(~0u, best, step);
        const int64_t i = __shfl_xor_sync(~0u, at, step);

        if (x > best || (x == best && i < at))
            best = x, at = i;
    }
    return __all_sync(~0u, number) ? at : -1;
}

/* One block, a warp per row: the rows are the samples of a microbatch. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    accuracy(const T *logits, const int *labels, const float *weight,
             double *loss, int64_t rows, int64_t cols, int64_t n, double share)
{
    double total = 0;

    for (int64_t r = threadIdx.x / 32; r < rows; r += WARPS) {
        const bool hit = greatest(logits + r * cols, n) == labels[r];

        if (hit && threadIdx.x % 32 == 0)
            total += (double) weight[r];
    }
    total = mtlm_block_sum<THREADS>(total);
    if (threadIdx.x == 0)
        *loss += share * total;
}

void mtlm_accuracy_cuda(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[XA_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[XA_LOGITS]);

    mtlm_dispatch(call->value, [&](auto t) {
        using T = decltype(t);

        mtlm_launch(accuracy<T>, 1, THREADS, 0, context->device->stream,
                    (const T *) ptr[XA_LOGITS], (const int *) ptr[XA_LABELS],
                    (const float *) ptr[XA_WEIGHTS],
                    (double *) ptr[XA_LOSS] + call->attr.vocabulary.slot, rows,
                    cols, mtlm_xent_columns(call, cols), context->share);
    });
}
