/* CUDA kernels of elementwise.c and pool.c. */

#include "config.h"

#include "codelets/elementwise.h"
#include "codelets/normal.h"
#include "codelets/op.h"
#include "codelets/pool.h"
#include "codelets/rows.cuh"
#include "runtime/base/philox.h"

/* x += y, or x = y; both are one row. */
template <typename T, int V, bool add> struct combine : mtlm_row_work<V> {
    const T *y;
    T *x;

    __device__ void at(int64_t, int64_t c, float (&)[V], float (&)[1][V]) const
    {
        float v[V], sum[V];

        mtlm_load(y + c, v);
        if (add) {
            mtlm_load(x + c, sum);
            for (int i = 0; i < V; i++)
                v[i] += sum[i];
        }
        mtlm_store(x + c, v);
    }
};

/* Of n elements. */
template <bool add>
static void run(const void *y, void *x, int64_t n, const struct mtlm_call *call,
                const struct mtlm_context *context)
{
    mtlm_dispatch_wide(call->value, n, {y, x}, [&](auto t, auto width) {
        using T = decltype(t);
        constexpr int V = decltype(width)::value;

        mtlm_over_rows(combine<T, V, add>{{}, (const T *) y, (T *) x}, 1, n,
                       context->device);
    });
}

void mtlm_add_cuda(void *const ptr[], const struct mtlm_call *call,
                   const struct mtlm_context *context)
{
    run<true>(ptr[ADD_Y], ptr[ADD_X], mtlm_shape_elems(&call->shape[ADD_X]),
              call, context);
}

/* x += y, y = 0; both are one row. */
template <int V> struct add_clear : mtlm_row_work<V> {
    float *y, *x;

    __device__ void at(int64_t, int64_t c, float (&)[V], float (&)[1][V]) const
    {
        const float zeros[V] = {};
        float v[V], sum[V];
        bool found = false;

        mtlm_load(y + c, v);
        for (int i = 0; i < V; i++)
            found |= v[i] != 0;
        if (!found)
            return;
        mtlm_load(x + c, sum);
        for (int i = 0; i < V; i++)
            sum[i] += v[i];
        mtlm_store(x + c, sum);
        mtlm_store(y + c, zeros);
    }
};

void mtlm_add_clear_cuda(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[ADD_X]);

    mtlm_dispatch_wide(
        MTLM_REAL, n, {ptr[ADD_Y], ptr[ADD_X]}, [&](auto, auto width) {
            constexpr int V = decltype(width)::value;

            mtlm_over_rows(
                add_clear<V>{{}, (float *) ptr[ADD_Y], (float *) ptr[ADD_X]}, 1,
                n, context->device);
        });
}

void mtlm_pool_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context)
{
    run<false>(ptr[POOL_X], ptr[POOL_Y], mtlm_shape_elems(&call->shape[POOL_Y]),
               call, context);
}

void mtlm_pool_bwd_cuda(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context)
{
    run<true>(ptr[POOLB_DY], ptr[POOLB_DX],
              mtlm_shape_elems(&call->shape[POOLB_DY]), call, context);
}

/* x [., across] is a part of a tensor of full_cols columns: a shard of cols
 * columns that begins at element `first` of the tensor, from the shard's
 * element `piece` on. */
template <typename T> struct fill : mtlm_row_work<1> {
    T *x;
    int64_t across, piece, cols, first, full_cols;
    uint64_t seed, stream;
    double mean, std;

    __device__ void at(int64_t r, int64_t c, float (&)[1],
                       float (&)[1][1]) const
    {
        const int64_t i = r * across + c;
        const int64_t e =
            first + (piece + i) / cols * full_cols + (piece + i) % cols;
        uint32_t word[4];
        double normal[2];

        mtlm_philox(seed, stream, e / 4, word);
        mtlm_normal_pair(e % 4 < 2 ? word : word + 2, normal);
        x[i] = mtlm_round<T>(
            (float) (mean + std * (e % 2 ? normal[1] : normal[0])));
    }
};

template <typename T> struct fill_one : mtlm_row_work<1> {
    T *x;
    T value;

    __device__ void at(int64_t, int64_t c, float (&)[1], float (&)[1][1]) const
    {
        x[c] = value;
    }
};

void mtlm_fill_cuda(void *const ptr[], const struct mtlm_call *call,
                    const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[FILL_X]);
    const int64_t across = mtlm_shape_cols(&call->shape[FILL_X]);
    const auto &attr = call->attr.fill;

    mtlm_dispatch(call->value, [&](auto t) {
        using T = decltype(t);

        if (attr.std == 0)
            mtlm_over_rows(fill_one<T>{{},
                                       (T *) ptr[FILL_X],
                                       mtlm_round<T>((float) attr.mean)},
                           1, n, context->device);
        else
            mtlm_over_rows(
                fill<T>{{},
                        (T *) ptr[FILL_X],
                        across,
                        attr.first,
                        attr.cols ? attr.cols : across,
                        attr.first_row * attr.full_cols + attr.first_col,
                        attr.full_cols,
                        attr.seed,
                        mtlm_philox_param_stream(attr.param),
                        attr.mean,
                        attr.std},
                n / across, across, context->device);
    });
}

void mtlm_zero_cuda(void *const ptr[], const struct mtlm_call *call,
                    const struct mtlm_context *context)
{
    mtlm_over_rows(fill_one<double>{{}, (double *) ptr[FILL_X], 0}, 1,
                   mtlm_shape_elems(&call->shape[FILL_X]), context->device);
}
