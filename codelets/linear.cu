/* CUDA kernels of linear.c.  y = x weight^T becomes y' = weight'^T x' with n x
 * m = (k x n)^T times k x m for cuBLASLt, which counts by columns, and so
 * on. */

#include "config.h"

#include "codelets/fusion.cuh"
#include "codelets/launch.cuh"
#include "codelets/linear.cuh"
#include "codelets/linear.h"
#include "codelets/number.cuh"
#include "codelets/rows.cuh"

static struct mtlm_product product(const struct mtlm_device *device,
                                   struct mtlm_matrix a, struct mtlm_matrix b,
                                   struct mtlm_matrix c, float beta)
{
    return {a, b, c, beta, MTLM_PLAIN, NULL, NULL, device->workspace_bytes};
}

struct mtlm_product mtlm_linear_forward(const struct mtlm_call *call,
                                        const void *x, const void *weight,
                                        const void *y,
                                        const struct mtlm_device *device)
{
    const int64_t m = mtlm_shape_rows(&call->shape[LIN_X]);
    const int64_t n = call->shape[LIN_WEIGHT].dim[0];
    const int64_t k = call->shape[LIN_WEIGHT].dim[1];

    return product(device, {weight, k, n, true, call->value},
                   {x, k, m, false, call->value}, {y, n, m, false, call->value},
                   0);
}

void mtlm_linear_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                          const struct mtlm_context *context)
{
    const struct mtlm_product p = mtlm_linear_forward(
        call, ptr[LIN_X], ptr[LIN_WEIGHT], ptr[LIN_Y], context->device);

    mtlm_matmul(context->device, &p);
}

template <typename T>
static __global__ void repeat_row(const T *row, T *y, int64_t cols,
                                  int64_t elems)
{
    const int64_t i = (int64_t) blockIdx.x * blockDim.x + threadIdx.x;

    if (i < elems)
        y[i] = row[i % cols];
}

/* Fills y with rows of bias and makes p add to y: for biases that the library
 * cannot add. */
static void add_to_bias(struct mtlm_product *p, const struct mtlm_call *call,
                        const void *bias, void *y,
                        const struct mtlm_context *context)
{
    const int64_t cols = p->c.rows, elems = p->c.rows * p->c.cols;

    mtlm_dispatch(call->value, [&](auto t) {
        using T = decltype(t);

        mtlm_launch(repeat_row<T>, dim3((elems + 255) / 256), dim3(256), 0,
                    context->device->stream, (const T *) bias, (T *) y, cols,
                    elems);
    });
    p->epilogue = MTLM_PLAIN;
    p->bias = NULL;
    p->beta = 1;
    mtlm_matmul(context->device, p);
}

void mtlm_linear_bias_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                               const struct mtlm_context *context)
{
    static_assert((int) LINB_X == (int) LIN_X
                      && (int) LINB_WEIGHT == (int) LIN_WEIGHT,
                  "mtlm_linear_forward() takes the shapes of these two");
    struct mtlm_product p = mtlm_linear_forward(
        call, ptr[LINB_X], ptr[LINB_WEIGHT], ptr[LINB_Y], context->device);

    p.epilogue = MTLM_BIAS;
    p.bias = ptr[LINB_BIAS];
    if (mtlm_matmul(context->device, &p))
        add_to_bias(&p, call, ptr[LINB_BIAS], ptr[LINB_Y], context);
}

struct mtlm_product mtlm_linear_dgrad(const struct mtlm_call *call,
                                      const void *dy, const void *weight,
                                      const void *dx, float beta,
                                      const struct mtlm_device *device)
{
    const int64_t m = mtlm_shape_rows(&call->shape[LIND_DY]);
    const int64_t n = call->shape[LIND_WEIGHT].dim[0];
    const int64_t k = call->shape[LIND_WEIGHT].dim[1];

    return product(device, {weight, k, n, false, call->value},
                   {dy, n, m, false, call->value},
                   {dx, k, m, false, call->value}, beta);
}

static void dgrad(void *const ptr[], const struct mtlm_call *call, float beta,
                  const struct mtlm_context *context)
{
    const struct mtlm_product p =
        mtlm_linear_dgrad(call, ptr[LIND_DY], ptr[LIND_WEIGHT], ptr[LIND_DX],
                          beta, context->device);

    mtlm_matmul(context->device, &p);
}

void mtlm_linear_dgrad_cuda(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    dgrad(ptr, call, 0, context);
}

void mtlm_linear_dgrad_add_cuda(void *const ptr[], const struct mtlm_call *call,
                                const struct mtlm_context *context)
{
    dgrad(ptr, call, 1, context);
}

/* Returns the product dy^T x, which is added to dweight or sets dweight, in
 * single precision. */
static struct mtlm_product wgrad(void *const ptr[],
                                 const struct mtlm_call *call,
                                 const struct mtlm_context *context)
{
    const int64_t m = mtlm_shape_rows(&call->shape[LINW_X]);
    const int64_t n = call->shape[LINW_DWEIGHT].dim[0];
    const int64_t k = call->shape[LINW_DWEIGHT].dim[1];

    return product(context->device, {ptr[LINW_X], k, m, false, call->value},
                   {ptr[LINW_DY], n, m, true, call->value},
                   {ptr[LINW_DWEIGHT], k, n, false, MTLM_REAL},
                   mtlm_linear_adds(call, context) ? 1.0f : 0.0f);
}

void mtlm_linear_wgrad_cuda(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    const struct mtlm_product p = wgrad(ptr, call, context);

    mtlm_matmul(context->device, &p);
}

static __global__ void add(float *to, const float *x, int64_t n)
{
    const int64_t i = (int64_t) blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        to[i] += x[i];
}

/* Adds to dbias the sums of dy that the library computes during the product.
 * The library cannot add: it writes the sums to the end of the workspace first.
 *
 * By the names of the kernels in cuBLASLt 13.1 none of those made for compute
 * capability 9 does this and writes in single precision: there it is done by
 * one for 8.0, or by a pass of the library's own.  Ours over dy takes 18 %
 * of the product's time where x has 768 columns and 7 % where it has 2048
 * (computed for 600 TFLOP/s and 4.3 TB/s), so that a product that is half as
 * fast costs more.  On an H200 an iteration of gpt2-124m takes 1 % longer with
 * the epilogue (perf/results/gpu-nvidia-h200.md).  Others measured on A100
 * that it pays for some models and not for others (CUDALibrarySamples, issue
 * 90). */
static bool wgrad_with_bias(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    const struct mtlm_device *device = context->device;
    const int64_t n = call->shape[LINW_DWEIGHT].dim[0];
    const size_t whole = device->workspace_bytes / 256 * 256;
    const size_t room = (n * sizeof(float) + 255) / 256 * 256;
    const struct mtlm_fusion fusion = {"bias-gradient",
                                       device->epilogues.bias_gradient,
                                       device->capability / 10 != 9,
                                       room > whole ? "too wide" : NULL,
                                       MTLM_NOTE_BIAS_GRADIENT,
                                       MTLM_NOTE_BIAS_GRADIENT_OWN};
    struct mtlm_product p = wgrad(ptr, call, context);
    float *part;

    p.workspace_bytes = whole - (fusion.why_not ? 0 : room);
    part = (float *) ((char *) device->workspace + p.workspace_bytes);
    p.epilogue = MTLM_BIAS_GRADIENT;
    p.bias = part;
    if (!mtlm_fusion_matmul(device, &p, &fusion))
        return false;
    mtlm_launch(add, dim3((n + 255) / 256), dim3(256), 0, device->stream,
                (float *) ptr[LINW_DBIAS], (const float *) part, n);
    return true;
}

void mtlm_linear_bias_wgrad_cuda(void *const ptr[],
                                 const struct mtlm_call *call,
                                 const struct mtlm_context *context)
{
    if (wgrad_with_bias(ptr, call, context))
        return;
    mtlm_linear_wgrad_cuda(ptr, call, context);
    mtlm_add_rows_cuda((float *) ptr[LINW_DBIAS], ptr[LINW_DY], call->value,
                       mtlm_shape_rows(&call->shape[LINW_DY]),
                       mtlm_shape_cols(&call->shape[LINW_DY]), context->device);
}
