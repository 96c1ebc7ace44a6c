/* CUDA kernels of bias_tanh.c: forward, and backward with the bias gradient's
 * sums over rows. */

#include "config.h"

#include "codelets/bias_tanh.h"
#include "codelets/dropout.cuh"
#include "codelets/op.h"
#include "codelets/rows.cuh"

template <typename T, int V> struct tanh_forward : mtlm_row_work<V> {
    const T *x, *bias;
    T *y;
    unsigned b;
    int64_t h;
    struct mtlm_mask mask;

    __device__ void begin(int64_t c, float (&add)[V]) const
    {
        mtlm_load(bias + c, add);
    }

    __device__ void at(int64_t r, int64_t c, float (&add)[V],
                       float (&)[1][V]) const
    {
        float v[V], factor[V];

        mtlm_load(x + r * h + c, v);
        mtlm_mask_row_factors(mask, r, b, h, c, factor);
        for (int i = 0; i < V; i++)
            v[i] = factor[i] * tanhf(v[i] + add[i]);
        mtlm_store(y + r * h + c, v);
    }
};

void mtlm_bias_tanh_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BT_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[BT_X]);
    const struct mtlm_mask mask =
        mtlm_mask_of(&call->attr.dropout, context->sample);

    mtlm_dispatch_wide<MTLM_MASK_WIDTH>(
        call->value, h, {ptr[BT_X], ptr[BT_BIAS], ptr[BT_Y]},
        [&](auto t, auto width) {
            using T = decltype(t);
            constexpr int V = decltype(width)::value;

            mtlm_over_rows(
                tanh_forward<T, V>{{},
                                   (const T *) ptr[BT_X],
                                   (const T *) ptr[BT_BIAS],
                                   (T *) ptr[BT_Y],
                                   (unsigned) call->shape[BT_X].dim[1],
                                   h,
                                   mask},
                rows, h, context->device);
        });
}

template <typename T, int V> struct tanh_backward : mtlm_row_work<V, 1> {
    const T *y, *dy;
    T *dx;
    unsigned b;
    int64_t h;
    struct mtlm_mask mask;

    __device__ void at(int64_t r, int64_t c, float (&)[V],
                       float (&dbias)[1][V]) const
    {
        float v[V], d[V], factor[V];

        mtlm_load(y + r * h + c, v);
        mtlm_load(dy + r * h + c, d);
        mtlm_mask_row_factors(mask, r, b, h, c, factor);
        for (int i = 0; i < V; i++) {
            const float whole = factor[i] > 0 ? v[i] / factor[i] : 0;

            d[i] *= factor[i] * (1 - whole * whole);
            dbias[0][i] += d[i];
        }
        mtlm_store(dx + r * h + c, d);
    }
};

void mtlm_bias_tanh_bwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BTB_Y]);
    const int64_t h = mtlm_shape_cols(&call->shape[BTB_Y]);
    float *dbias = (float *) ptr[BTB_DBIAS];
    const struct mtlm_mask mask =
        mtlm_mask_of(&call->attr.dropout, context->sample);

    mtlm_dispatch_wide<MTLM_MASK_WIDTH>(
        call->value, h, {ptr[BTB_Y], ptr[BTB_DY], ptr[BTB_DX]},
        [&](auto t, auto width) {
            using T = decltype(t);
            constexpr int V = decltype(width)::value;

            mtlm_over_rows(
                tanh_backward<T, V>{{},
                                    (const T *) ptr[BTB_Y],
                                    (const T *) ptr[BTB_DY],
                                    (T *) ptr[BTB_DX],
                                    (unsigned) call->shape[BTB_Y].dim[1],
                                    h,
                                    mask},
                rows, h, context->device, &dbias);
        });
}
