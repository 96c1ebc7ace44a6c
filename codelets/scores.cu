/* CUDA kernels of scores.c: a thread adds an element of x or of dx. */

#include "config.h"

#include "codelets/op.h"
#include "codelets/rows.cuh"
#include "codelets/scores.h"

/* Adds from x to y, or from y to x. */
template <typename T, bool forward> struct add_scores : mtlm_row_work<1> {
    T *x, *y; /* x: from the column on */
    const int *length;
    int64_t b, k, n, cols, first;

    __device__ void at(int64_t i, int64_t j, float (&)[1],
                       float (&)[1][1]) const
    {
        T *of_x = x + (i * b + j) * k;
        T *of_y = y + j / n * cols + first + i * n + j % n;
        const bool padding = first + i >= length[j];
        float v[1], sum[1];

        mtlm_load(forward ? of_x : of_y, v);
        mtlm_load(forward ? of_y : of_x, sum);
        sum[0] += !padding ? v[0] : forward ? MTLM_SCORE_OF_PADDING : 0.0f;
        mtlm_store(forward ? of_y : of_x, sum);
    }
};

template <bool forward>
static void run(void *x, const struct mtlm_shape *shape, const void *lengths,
                void *y, int64_t cols, const struct mtlm_call *call,
                const struct mtlm_context *context)
{
    const int64_t *dim = shape->dim;

    mtlm_dispatch(call->value, [&](auto t) {
        using T = decltype(t);

        mtlm_over_rows(
            add_scores<T, forward>{{},
                                   (T *) x + call->attr.scores.column,
                                   (T *) y,
                                   (const int *) lengths,
                                   dim[1],
                                   dim[2],
                                   call->attr.scores.choices,
                                   cols,
                                   call->attr.scores.first},
            dim[0], dim[1], context->device);
    });
}

void mtlm_scores_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                          const struct mtlm_context *context)
{
    run<true>(ptr[SC_X], &call->shape[SC_X], ptr[SC_LENGTHS], ptr[SC_Y],
              call->shape[SC_Y].dim[2], call, context);
}

void mtlm_scores_bwd_cuda(void *const ptr[], const struct mtlm_call *call,
                          const struct mtlm_context *context)
{
    run<false>(ptr[SCB_DX], &call->shape[SCB_DX], ptr[SCB_LENGTHS], ptr[SCB_DY],
               call->shape[SCB_DY].dim[2], call, context);
}
