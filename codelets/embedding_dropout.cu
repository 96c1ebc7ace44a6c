/* CUDA kernel of embedding_dropout.c, forward and backward. */

#include "config.h"

#include "codelets/dropout.cuh"
#include "codelets/embedding_dropout.h"
#include "codelets/op.h"
#include "codelets/rows.cuh"

template <typename T, int V> struct drop_rows : mtlm_row_work<V> {
    const T *x;
    T *y;
    unsigned b;
    int64_t h;
    struct mtlm_mask mask;

    __device__ void at(int64_t r, int64_t c, float (&)[V],
                       float (&)[1][V]) const
    {
        float v[V], factor[V];

        mtlm_load(x + r * h + c, v);
        mtlm_mask_row_factors(mask, r, b, h, c, factor);
        for (int i = 0; i < V; i++)
            v[i] *= factor[i];
        mtlm_store(y + r * h + c, v);
    }
};

void mtlm_embedding_dropout_fwd_cuda(void *const ptr[],
                                     const struct mtlm_call *call,
                                     const struct mtlm_context *context)
{
    const int64_t *dim = call->shape[ED_X].dim, h = dim[2];
    const struct mtlm_mask mask =
        mtlm_mask_of(&call->attr.dropout, context->sample);

    mtlm_dispatch_wide<MTLM_MASK_WIDTH>(
        call->value, h, {ptr[ED_X], ptr[ED_Y]}, [&](auto t, auto width) {
            using T = decltype(t);
            constexpr int V = decltype(width)::value;

            mtlm_over_rows(drop_rows<T, V>{{},
                                           (const T *) ptr[ED_X],
                                           (T *) ptr[ED_Y],
                                           (unsigned) dim[1],
                                           h,
                                           mask},
                           dim[0] * dim[1], h, context->device);
        });
}

/* The gradient takes the same factors. */
void mtlm_embedding_dropout_bwd_cuda(void *const ptr[],
                                     const struct mtlm_call *call,
                                     const struct mtlm_context *context)
{
    mtlm_embedding_dropout_fwd_cuda(ptr, call, context);
}
