/* CUDA kernels of position_dropout.c: a thread does all samples of a
 * position. */

#include "config.h"

#include "codelets/dropout.cuh"
#include "codelets/op.h"
#include "codelets/position_dropout.h"
#include "codelets/rows.cuh"

template <typename T, int V> struct position_forward : mtlm_row_work<V> {
    const T *x, *position; /* the latter from the first row on */
    T *y;
    unsigned b;
    int64_t h, last; /* last: the last row of position to read */
    struct mtlm_mask mask;

    __device__ void at(int64_t s, int64_t c, float (&)[V],
                       float (&)[1][V]) const
    {
        float add[V];

        mtlm_load(position + (s < last ? s : last) * h + c, add);
        for (unsigned j = 0; j < b; j++) {
            const int64_t r = s * b + j;
            float v[V], factor[V];

            mtlm_load(x + r * h + c, v);
            mtlm_mask_row_factors(mask, r, b, h, c, factor);
            for (int i = 0; i < V; i++)
                v[i] = (v[i] + add[i]) * factor[i];
            mtlm_store(y + r * h + c, v);
        }
    }
};

void mtlm_position_dropout_fwd_cuda(void *const ptr[],
                                    const struct mtlm_call *call,
                                    const struct mtlm_context *context)
{
    const int64_t *dim = call->shape[PD_X].dim, h = dim[2];
    const int64_t first = call->attr.dropout.first_row + context->position;
    const struct mtlm_mask mask =
        mtlm_mask_of(&call->attr.dropout, context->sample);

    mtlm_dispatch_wide<MTLM_MASK_WIDTH>(
        call->value, h, {ptr[PD_X], ptr[PD_POS], ptr[PD_Y]},
        [&](auto t, auto width) {
            using T = decltype(t);
            constexpr int V = decltype(width)::value;

            mtlm_over_rows(
                position_forward<T, V>{{},
                                       (const T *) ptr[PD_X],
                                       (const T *) ptr[PD_POS] + first * h,
                                       (T *) ptr[PD_Y],
                                       (unsigned) dim[1],
                                       h,
                                       call->shape[PD_POS].dim[0] - 1 - first,
                                       mask},
                dim[0], h, context->device);
        });
}

template <typename T, int V> struct position_backward : mtlm_row_work<V> {
    const T *dy;
    T *dx;
    float *dposition; /* from the first row on */
    unsigned b;
    int64_t h;
    struct mtlm_mask mask;

    __device__ void at(int64_t s, int64_t c, float (&)[V],
                       float (&)[1][V]) const
    {
        float sum[V];

        mtlm_load(dposition + s * h + c, sum);
        for (unsigned j = 0; j < b; j++) {
            const int64_t r = s * b + j;
            float d[V], factor[V];

            mtlm_load(dy + r * h + c, d);
            mtlm_mask_row_factors(mask, r, b, h, c, factor);
            for (int i = 0; i < V; i++) {
                d[i] *= factor[i];
                sum[i] += d[i];
            }
            mtlm_store(dx + r * h + c, d);
        }
        mtlm_store(dposition + s * h + c, sum);
    }
};

void mtlm_position_dropout_bwd_cuda(void *const ptr[],
                                    const struct mtlm_call *call,
                                    const struct mtlm_context *context)
{
    const int64_t *dim = call->shape[PDB_DY].dim, h = dim[2];
    const int64_t first = call->attr.dropout.first_row * h;
    const struct mtlm_mask mask =
        mtlm_mask_of(&call->attr.dropout, context->sample);

    mtlm_dispatch_wide<MTLM_MASK_WIDTH>(
        call->value, h, {ptr[PDB_DY], ptr[PDB_DX], ptr[PDB_DPOS]},
        [&](auto t, auto width) {
            using T = decltype(t);
            constexpr int V = decltype(width)::value;

            mtlm_over_rows(
                position_backward<T, V>{{},
                                        (const T *) ptr[PDB_DY],
                                        (T *) ptr[PDB_DX],
                                        (float *) ptr[PDB_DPOS] + first,
                                        (unsigned) dim[1],
                                        h,
                                        mask},
                dim[0], h, context->device);
        });
}
