/* CUDA kernels of bias_dropout_add.c: forward, and backward with the bias
 * gradient's sums over rows. */

#include "config.h"

#include "codelets/bias_dropout_add.h"
#include "codelets/dropout.cuh"
#include "codelets/op.h"
#include "codelets/rows.cuh"

template <typename T, int V> struct bda_forward : mtlm_row_work<V> {
    const T *x, *bias, *residual;
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
        float v[V], sum[V], factor[V];

        mtlm_load(x + r * h + c, v);
        mtlm_load(residual + r * h + c, sum);
        mtlm_mask_row_factors(mask, r, b, h, c, factor);
        for (int i = 0; i < V; i++)
            sum[i] += (v[i] + add[i]) * factor[i];
        mtlm_store(y + r * h + c, sum);
    }
};

void mtlm_bias_dropout_add_fwd_cuda(void *const ptr[],
                                    const struct mtlm_call *call,
                                    const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BDA_X]);
    const int64_t *dim = call->shape[BDA_X].dim, h = dim[2];
    const struct mtlm_mask mask =
        mtlm_mask_of(&call->attr.dropout, context->sample);

    mtlm_dispatch_wide<MTLM_MASK_WIDTH>(
        call->value, h,
        {ptr[BDA_X], ptr[BDA_BIAS], ptr[BDA_RESIDUAL], ptr[BDA_Y]},
        [&](auto t, auto width) {
            using T = decltype(t);
            constexpr int V = decltype(width)::value;

            mtlm_over_rows(bda_forward<T, V>{{},
                                             (const T *) ptr[BDA_X],
                                             (const T *) ptr[BDA_BIAS],
                                             (const T *) ptr[BDA_RESIDUAL],
                                             (T *) ptr[BDA_Y],
                                             (unsigned) dim[1],
                                             h,
                                             mask},
                           rows, h, context->device);
        });
}

template <typename T, int V> struct bda_backward : mtlm_row_work<V, 1> {
    const T *dy;
    T *dx;
    unsigned b;
    int64_t h;
    struct mtlm_mask mask;

    __device__ void at(int64_t r, int64_t c, float (&)[V],
                       float (&dbias)[1][V]) const
    {
        float d[V], factor[V];

        mtlm_load(dy + r * h + c, d);
        mtlm_mask_row_factors(mask, r, b, h, c, factor);
        for (int i = 0; i < V; i++) {
            d[i] *= factor[i];
            dbias[0][i] += d[i];
        }
        mtlm_store(dx + r * h + c, d);
    }
};

void mtlm_bias_dropout_add_bwd_cuda(void *const ptr[],
                                    const struct mtlm_call *call,
                                    const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[BDAB_DY]);
    const int64_t *dim = call->shape[BDAB_DY].dim, h = dim[2];
    const struct mtlm_mask mask =
        mtlm_mask_of(&call->attr.dropout, context->sample);
    float *dbias = (float *) ptr[BDAB_DBIAS];

    mtlm_dispatch_wide<MTLM_MASK_WIDTH>(
        call->value, h, {ptr[BDAB_DY], ptr[BDAB_DX]}, [&](auto t, auto width) {
            using T = decltype(t);
            constexpr int V = decltype(width)::value;

            mtlm_over_rows(bda_backward<T, V>{{},
                                              (const T *) ptr[BDAB_DY],
                                              (T *) ptr[BDAB_DX],
                                              (unsigned) dim[1],
                                              h,
                                              mask},
                           rows, h, context->device, &dbias);
        });
}
