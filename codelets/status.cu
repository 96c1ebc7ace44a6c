/* CUDA kernels of status.c.  All but the sums over gradients take no time to
 * speak of: they run on the GPU because the vector that they work on is there,
 * and a CPU's task would wait for it, and the optimizer for the CPU. */

#include "config.h"

#include "codelets/block_sum.cuh"
#include "codelets/control.h"
#include "codelets/launch.cuh"
#include "codelets/number.cuh"
#include "codelets/status.h"
#include "runtime/machine/device.h"
#include "runtime/machine/signals.h"

constexpr int THREADS = 256;

/* Cuts a sum over a tensor, by its size alone: at most MOST parts of at least
 * PART elements.  The elements that a thread adds up also depend on whether all
 * tensors of the task are aligned to 16 bytes.  The alignment of a program's
 * tensors is the same in every run. */
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

/* Returns the sum of term::of() over the share of block number `block` of
 * `blocks`.  x must be aligned to width elements. */
template <typename term, int width, typename T>
static __device__ double sum_of(const T *x, int64_t n, int block, int blocks)
{
    const int64_t whole = n / width * width;
    const int64_t thread = (int64_t) block * THREADS + threadIdx.x;
    double sum = 0;

#pragma unroll 4
    for (int64_t i = thread * width; i < whole;
         i += (int64_t) blocks * THREADS * width) {
        float v[width];

        mtlm_load<width>(x + i, v);
        for (int k = 0; k < width; k++)
            sum += term::of(v[k]);
    }
    if (whole + thread < n)
        sum += term::of(mtlm_float(x[whole + thread]));
    return mtlm_block_sum<THREADS>(sum);
}

/* The calls of a task; blocks are numbered over all calls. */
struct sums {
    struct {
        const void *x;
        int64_t n;
        double *to;
        int begin, end; /* of its blocks */
    } at[MTLM_MAX_CALLS];
};

static_assert(sizeof(struct sums) <= 4000, "they are a kernel's parameters");

/* Writes the sum, or adds it. */
template <bool adds> static __device__ void put_sum(double *to, double sum)
{
    *to = adds ? *to + sum : sum;
}

/* Each block sums its share: into the result, or into a part if the call has
 * several blocks. */
template <typename term, bool adds, int width, typename T>
static __global__ void __launch_bounds__(THREADS)
    sum_parts(struct sums sums, double *part)
{
    const int block = blockIdx.x;
    int k = 0;

    while (block >= sums.at[k].end)
        k++;

    const int begin = sums.at[k].begin, blocks = sums.at[k].end - begin;
    const double sum = sum_of<term, width>((const T *) sums.at[k].x,
                                           sums.at[k].n, block - begin, blocks);

    if (threadIdx.x == 0) {
        if (blocks == 1)
            put_sum<adds>(sums.at[k].to, sum);
        else
            part[block] = sum;
    }
}

/* A block for each call. */
template <bool adds>
static __global__ void __launch_bounds__(THREADS)
    add_parts(struct sums sums, const double *part)
{
    const int k = blockIdx.x;
    const int begin = sums.at[k].begin, end = sums.at[k].end;
    double sum = 0;

    if (end - begin == 1)
        return;
    for (int i = begin + (int) threadIdx.x; i < end; i += THREADS)
        sum += part[i];
    sum = mtlm_block_sum<THREADS>(sum);
    if (threadIdx.x == 0)
        put_sum<adds>(sums.at[k].to, sum);
}

/* Appends the k-th call. */
static void add_sum(struct sums *sums, int k, void *const ptr[],
                    const struct mtlm_call *call)
{
    const int64_t n = mtlm_shape_elems(&call->shape[SQ_G]);
    const int64_t parts = (n + PART - 1) / PART;
    const int begin = k ? sums->at[k - 1].end : 0;

    sums->at[k] = {ptr[SQ_G], n - call->attr.status.padding,
                   (double *) ptr[SQ_STATUS] + call->attr.status.slot, begin,
                   begin + (int) (parts < MOST ? parts : MOST)};
}

template <typename term, bool adds, typename T>
static void launch_parts(const struct sums *sums, int calls, double *part,
                         cudaStream_t stream)
{
    constexpr int width = mtlm_width<T>;
    bool wide = true;

    for (int k = 0; k < calls; k++)
        wide = wide && mtlm_wide<width>(0, (const T *) sums->at[k].x);
    mtlm_launch(
        wide ? sum_parts<term, adds, width, T> : sum_parts<term, adds, 1, T>,
        (unsigned) sums->at[calls - 1].end, THREADS, 0, stream, *sums, part);
}

/* Parts lie in the workspace, which only this stream uses. */
template <typename term, bool adds>
static void launch(const struct sums *sums, int calls, enum mtlm_dtype dtype,
                   const struct mtlm_device *device)
{
    double *part = (double *) device->workspace;

    assert(MTLM_MAX_CALLS * MOST * sizeof(*part) <= device->workspace_bytes);
    mtlm_dispatch(dtype, [&](auto t) {
        launch_parts<term, adds, decltype(t)>(sums, calls, part,
                                              device->stream);
    });
    if (sums->at[calls - 1].end > calls)
        mtlm_launch(add_parts<adds>, (unsigned) calls, THREADS, 0,
                    device->stream, *sums, (const double *) part);
}

void mtlm_square_sum_cuda(void *const ptr[], const struct mtlm_call *call,
                          const struct mtlm_context *context)
{
    const enum mtlm_dtype dtype = mtlm_call_dtype(call, SQ_G);
    struct sums sums = {};
    int calls = 0;

    for (; call; call = call->next) {
        add_sum(&sums, calls++, ptr, call);
        ptr += SQ_COUNT;
    }
    launch<square, false>(&sums, calls, dtype, context->device);
}

/* One call: all calls add to the same number. */
void mtlm_count_zeros_cuda(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context)
{
    struct sums sums = {};

    add_sum(&sums, 0, ptr, call);
    launch<is_zero, true>(&sums, 1, mtlm_call_dtype(call, SQ_G),
                          context->device);
}

/* Returns sums[0] + sums[1] + ... in the first thread, in this order, bit for
 * bit as on the CPU.  The block reads ahead; the first thread adds. */
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

/* The kernel takes the host's state as an argument, read when the task starts:
 * as late as on a CPU, and without moving the status to the CPU. */
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

/* Decides by the code that the CPU runs too (control.h). */
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
