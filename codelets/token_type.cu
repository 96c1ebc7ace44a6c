/* CUDA kernel of token_type.c: adds a row of the table to each token. */

#include "config.h"

#include "codelets/op.h"
#include "codelets/rows.cuh"
#include "codelets/token_type.h"

template <typename T, int V> struct token_type_forward : mtlm_row_work<V> {
    const int32_t *types;
    const T *table;
    T *x;
    int64_t h;

    __device__ void at(int64_t r, int64_t c, float (&)[V],
                       float (&)[1][V]) const
    {
        float v[V], add[V];

        mtlm_load(x + r * h + c, v);
        mtlm_load(table + types[r] * h + c, add);
        for (int i = 0; i < V; i++)
            v[i] += add[i];
        mtlm_store(x + r * h + c, v);
    }
};

void mtlm_token_type_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_elems(&call->shape[TT_TYPES]);
    const int64_t h = mtlm_shape_cols(&call->shape[TT_X]);

    mtlm_dispatch_wide(
        call->value, h, {ptr[TT_TABLE], ptr[TT_X]}, [&](auto t, auto width) {
            using T = decltype(t);
            constexpr int V = decltype(width)::value;

            mtlm_over_rows(
                token_type_forward<T, V>{{},
                                         (const int32_t *) ptr[TT_TYPES],
                                         (const T *) ptr[TT_TABLE],
                                         (T *) ptr[TT_X],
                                         h},
                rows, h, context->device);
        });
}
