/* CUDA kernels of bias_gelu.c: forward, and backward with the bias gradient's
 * sums over rows. */

#include "config.h"

#include "codelets/bias_gelu.h"
#include "codelets/gelu.cuh"
#include "codelets/op.h"
#include "codelets/rows.cuh"

template <typename T, int V, bool exact>
struct gelu_forward : mtlm_row_work<V> {
    const T *x, *bias;
    T *y;
    int64_t h;

    __device__ void begin(int64_t c, float (&add)[V]) const
    {
        mtlm_load(bias + c, add);
    }

    __device__ void at(int64_t r, int64_t c, float (&add)[V],
                       float (&)[1][V]) const
    {
        float v[V];

        mtlm_load(x + r * h + c, v);
        for (int i = 0; i < V; i++)
            v[i] = mtlm_gelu_of<exact>(v[i] + add[i]);
        mtlm_store(y + r * h + c, v);
    }
};

template <bool exact>
static void run_forward(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_device *device)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BG_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[BG_X]);

    mtlm_dispatch_wide(
        call->value, h, {ptr[BG_X], ptr[BG_BIAS], ptr[BG_Y]},
        [&](auto t, auto width) {
            using T = decltype(t);
            constexpr int V = decltype(width)::value;

            mtlm_over_rows(gelu_forward<T, V, exact>{{},
                                                     (const T *) ptr[BG_X],
                                                     (const T *) ptr[BG_BIAS],
                                                     (T *) ptr[BG_Y],
                                                     h},
                           rows, h, device);
        });
}

void mtlm_bias_gelu_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    if (call->attr.gelu.exact)
        run_forward<true>(ptr, call, context->device);
    else
        run_forward<false>(ptr, call, context->device);
}

template <typename T, int V, bool exact>
struct gelu_backward : mtlm_row_work<V, 1> {
    const T *x, *bias, *dy;
    T *dx;
    int64_t h;

    __device__ void begin(int64_t c, float (&add)[V]) const
    {
        mtlm_load(bias + c, add);
    }

    __device__ void at(int64_t r, int64_t c, float (&add)[V],
                       float (&dbias)[1][V]) const
    {
        float v[V], d[V];

        mtlm_load(x + r * h + c, v);
        mtlm_load(dy + r * h + c, d);
        for (int i = 0; i < V; i++) {
            d[i] *= mtlm_gelu_slope_of<exact>(v[i] + add[i]);
            dbias[0][i] += d[i];
        }
        mtlm_store(dx + r * h + c, d);
    }
};

template <bool exact>
static void run_backward(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_device *device)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BGB_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[BGB_X]);
    float *dbias = (float *) ptr[BGB_DBIAS];

    mtlm_dispatch_wide(
        call->value, h, {ptr[BGB_X], ptr[BGB_BIAS], ptr[BGB_DY], ptr[BGB_DX]},
        [&](auto t, auto width) {
            using T = decltype(t);
            constexpr int V = decltype(width)::value;

            mtlm_over_rows(gelu_backward<T, V, exact>{{},
                                                      (const T *) ptr[BGB_X],
                                                      (const T *) ptr[BGB_BIAS],
                                                      (const T *) ptr[BGB_DY],
                                                      (T *) ptr[BGB_DX],
                                                      h},
                           rows, h, device, &dbias);
        });
}

void mtlm_bias_gelu_bwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    if (call->attr.gelu.exact)
        run_backward<true>(ptr, call, context->device);
    else
        run_backward<false>(ptr, call, context->device);
}
