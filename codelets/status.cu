/* CUDA kernels of status.c.  All but the sums over gradients take no time to
 * speak of: they run on the GPU because the vector that they work on is there,
 * and a CPU's task would wait for it, and the optimizer for the CPU. */

#include "config.h"

#include "codelets/block_sum.cuh"
#include "codelets/control.h"
#include "codelets/launch.cuh"
#include "codelets/number.cuh"
#include "codelets/status.h"
#include "runtime/device.h"
#include "runtime/signals.h"

constexpr int THREADS = 256;

/* How a sum over a tensor is cut, by its size alone: parts of at least PART
 * elements, no more than MOST. */
constexpr int64_t PART = 8192, MOST = 1024;

struct square {
    static __device__ double of(float x)
    {
        return (double) x * (double) x;
    }
};

struct is_zero {
    static __device__ double of(float x)
    {
        return x == 0;
    }
};

/* Sum of term::of() over what the block is dealt; x must be aligned to width
 * elements. */
template <typename term, int width, typename T>
static __device__ double sum_of(const T *x, int64_t n)
{
    const int64_t whole = n / width * width;
    const int64_t thread = (int64_t) blockIdx.x * THREADS + threadIdx.x;
    double sum = 0;

#pragma unroll 4
    for (int64_t i = thread * width; i < whole;
         i += (int64_t) gridDim.x * THREADS * width) {
        float v[width];

        mtlm_load<width>(x + i, v);
        for (int k = 0; k < width; k++)
            sum += term::of(v[k]);
    }
    if (whole + thread < n)
        sum += term::of(mtlm_float(x[whole + thread]));
    return mtlm_block_sum<THREADS>(sum);
}

/* Where a sum goes. */
template <bool adds> static __device__ void put_sum(double *to, double sum)
{
    *to = adds ? *to + sum : sum;
}

/* Each block puts the sum of what it is dealt. */
template <typename term, bool adds, int width, typename T>
static __global__ void __launch_bounds__(THREADS)
    sum_parts(const T *x, int64_t n, double *part)
{
    const double sum = sum_of<term, width>(x, n);

    if (threadIdx.x == 0)
        put_sum<adds>(&part[blockIdx.x], sum);
}

/* One block. */
template <bool adds>
static __global__ void __launch_bounds__(THREADS)
    add_parts(const double *part, int n, double *to)
{
    double sum = 0;

    for (int i = threadIdx.x; i < n; i += THREADS)
        sum += part[i];
    sum = mtlm_block_sum<THREADS>(sum);
    if (threadIdx.x == 0)
        put_sum<adds>(to, sum);
}

template <typename term, bool adds>
static void sum_parts_of(const struct mtlm_call *call, const void *x,
                         double *part, int blocks, cudaStream_t stream)
{
    const int64_t n =
        mtlm_shape_elems(&call->shape[SQ_G]) - call->attr.status.padding;

    mtlm_dispatch(mtlm_call_dtype(call, SQ_G), [&](auto t) {
        using T = decltype(t);
        constexpr int width = mtlm_width<T>;
        const T *g = (const T *) x;

        mtlm_launch(mtlm_wide<width>(0, g) ? sum_parts<term, adds, width, T>
                                           : sum_parts<term, adds, 1, T>,
                    blocks, THREADS, 0, stream, g, n, part);
    });
}

/* Parts lie in the workspace, which is this stream's alone. */
template <typename term, bool adds>
static void sum_up(void *const ptr[], const struct mtlm_call *call,
                   const struct mtlm_context *context)
{
    const struct mtlm_device *device = context->device;
    const int64_t parts =
        (mtlm_shape_elems(&call->shape[SQ_G]) + PART - 1) / PART;
    const int blocks = (int) (parts < MOST ? parts : MOST);
    double *to = (double *) ptr[SQ_STATUS] + call->attr.status.slot;
    double *part = (double *) device->workspace;

    if (blocks == 1) {
        sum_parts_of<term, adds>(call, ptr[SQ_G], to, 1, device->stream);
        return;
    }
    sum_parts_of<term, false>(call, ptr[SQ_G], part, blocks, device->stream);
    mtlm_launch(add_parts<adds>, 1, THREADS, 0, device->stream,
                (const double *) part, blocks, to);
}

void mtlm_square_sum_cuda(void *const ptr[], const struct mtlm_call *call,
                          const struct mtlm_context *context)
{
    sum_up<square, false>(ptr, call, context);
}

void mtlm_count_zeros_cuda(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context)
{
    sum_up<is_zero, true>(ptr, call, context);
}

/* sums[0] + sums[1] + ... in this order, bit for bit as on the CPU: the block
 * reads ahead, its first thread adds, and has the sum. */
static __device__ double sum_in_order(const double *sums, int64_t n)
{
    __shared__ double ahead[THREADS];
    double sum = 0;

    for (int64_t i = 0; i < n; i += THREADS) {
        const int64_t left = n - i < THREADS ? n - i : THREADS;

        __syncthreads();
        if (threadIdx.x < left)
            ahead[threadIdx.x] = sums[i + threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0)
            for (int k = 0; k < left; k++)
                sum += ahead[k];
    }
    return sum;
}

static __global__ void __launch_bounds__(THREADS)
    norm(const double *sums, int64_t n, double *root)
{
    const double square = sum_in_order(sums, n);

    if (threadIdx.x == 0)
        *root = sqrt(square);
}

void mtlm_norm_cuda(void *const ptr[], const struct mtlm_call *call,
                    const struct mtlm_context *context)
{
    mtlm_launch(norm, 1, THREADS, 0, context->device->stream,
                (const double *) ptr[NORM_SUMS],
                mtlm_shape_elems(&call->shape[NORM_SUMS]),
                (double *) ptr[NORM_NORM]);
}

static __global__ void publish(double *loss, double *status, double factor)
{
    status[threadIdx.x] = loss[threadIdx.x] * factor;
    loss[threadIdx.x] = 0;
}

void mtlm_publish_cuda(void *const ptr[], const struct mtlm_call *call,
                       const struct mtlm_context *context)
{
    mtlm_launch(publish, 1, MTLM_LOSS_COUNT, 0, context->device->stream,
                (double *) ptr[PUBLISH_LOSS],
                (double *) ptr[PUBLISH_STATUS] + call->attr.status.slot,
                call->attr.status.factor);
}

static __global__ void put(double *slot, double value)
{
    *slot = value;
}

/* The host's state travels as an argument, read when the task's turn has come:
 * as late as a CPU would read it, and the status need not come to the CPU. */
void mtlm_flags_cuda(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context)
{
    mtlm_launch(put, 1, 1, 0, context->device->stream,
                (double *) ptr[FLAGS_STATUS] + call->attr.status.slot,
                (double) mtlm_stop_requested());
}

/* Begins the run. */
static __global__ void control_init(union mtlm_attr attr, double *control)
{
    mtlm_control_begin(&attr, control);
}

void mtlm_control_init_cuda(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    mtlm_launch(control_init, 1, 1, 0, context->device->stream, call->attr,
                (double *) ptr[CONTROL_INIT_CONTROL]);
}

/* What decides is the CPU's own (control.h). */
static __global__ void __launch_bounds__(THREADS)
    control(union mtlm_attr attr, const double *status, int64_t samples,
            double *state, double *report)
{
    const int64_t n = attr.control.n_sums;
    const double square = sum_in_order(status, n);

    if (threadIdx.x == 0)
        mtlm_control_advance(&attr, square, status + n, samples, state, report);
}

void mtlm_control_cuda(void *const ptr[], const struct mtlm_call *call,
                       const struct mtlm_context *context)
{
    mtlm_launch(control, 1, THREADS, 0, context->device->stream, call->attr,
                (const double *) ptr[CONTROL_STATUS], context->batch,
                (double *) ptr[CONTROL_CONTROL],
                (double *) ptr[CONTROL_REPORT]);
}

static __global__ void eval_report(double *status, double *report)
{
    report[threadIdx.x] = status[threadIdx.x];
    status[threadIdx.x] = 0;
}

void mtlm_eval_report_cuda(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context)
{
    (void) call;
    mtlm_launch(eval_report, 1, MTLM_STATUS_EXTRA, 0, context->device->stream,
                (double *) ptr[EVAL_STATUS], (double *) ptr[EVAL_REPORT]);
}
