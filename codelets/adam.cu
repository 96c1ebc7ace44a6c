/* CUDA kernels of adam.c: one pass over memory, 16 bytes at a time, by the
 * CPU's formula (adam.h). */

#include "config.h"

#include "codelets/adam.h"
#include "codelets/launch.cuh"
#include "codelets/number.cuh"
#include "runtime/device.h"

constexpr int THREADS = 256, WIDTH = mtlm_width<float>;

/* Elements of a block, and blocks at the most: a block begins with what does
 * not depend on the element, which takes a while. */
constexpr int64_t PART = 2048, MOST = 2048;

struct operands {
    float *g, *w, *m, *v;
};

/* Steps width elements from i on, which lie in memory as that needs.  values:
 * where weights go, rounded, or NULL. */
template <int width, typename T>
static __device__ void step(const struct mtlm_adam *a, const struct operands *x,
                            T *values, int64_t i)
{
    float g[width], w[width], m[width], v[width];

    mtlm_load<width>(x->g + i, g);
    mtlm_load<width>(x->w + i, w);
    mtlm_load<width>(x->m + i, m);
    mtlm_load<width>(x->v + i, v);
    for (int k = 0; k < width; k++) {
        mtlm_adam_step(a, g[k], &m[k], &v[k], &w[k]);
        g[k] = 0;
    }
    mtlm_store<width>(x->g + i, g);
    mtlm_store<width>(x->w + i, w);
    mtlm_store<width>(x->m + i, m);
    mtlm_store<width>(x->v + i, v);
    if (values)
        mtlm_store<width>(values + i, w);
}

template <int width> static __device__ void zero(float *g)
{
    const float zeros[width] = {};

    mtlm_store<width>(g, zeros);
}

template <int width, typename T>
static __global__ void __launch_bounds__(THREADS)
    adam(union mtlm_attr attr, const double *control, struct operands x,
         T *values, int64_t n)
{
    const int64_t thread = (int64_t) blockIdx.x * THREADS + threadIdx.x;
    const int64_t stride = (int64_t) gridDim.x * THREADS * width;
    const int64_t whole = n / width * width;
    __shared__ struct mtlm_adam begun;

    if (control[MTLM_CONTROL_APPLY] == 0) {
        for (int64_t i = thread * width; i < whole; i += stride)
            zero<width>(x.g + i);
        if (whole + thread < n)
            zero<1>(x.g + whole + thread);
        return;
    }
    if (threadIdx.x == 0)
        begun = mtlm_adam_begin(&attr, control);
    __syncthreads();

    const struct mtlm_adam a = begun;

    for (int64_t i = thread * width; i < whole; i += stride)
        step<width>(&a, &x, values, i);
    if (whole + thread < n)
        step<1>(&a, &x, values, whole + thread);
}

/* w: the weights that belong to g, or their masters. */
template <typename T>
static void launch(void *const ptr[], const struct mtlm_call *call,
                   const struct mtlm_context *context, float *w, T *values)
{
    const struct operands x = {(float *) ptr[ADAM_G], w, (float *) ptr[ADAM_M],
                               (float *) ptr[ADAM_V]};
    const int64_t n = mtlm_shape_elems(&call->shape[ADAM_G]);
    const int64_t parts = (n + PART - 1) / PART;

    mtlm_launch(mtlm_wide<WIDTH>(0, x.g, x.w, x.m, x.v)
                        && mtlm_wide<WIDTH>(0, values)
                    ? adam<WIDTH, T>
                    : adam<1, T>,
                (unsigned) (parts < MOST ? parts : MOST), THREADS, 0,
                context->device->stream, call->attr,
                (const double *) ptr[ADAM_CONTROL], x, values, n);
}

void mtlm_adam_cuda(void *const ptr[], const struct mtlm_call *call,
                    const struct mtlm_context *context)
{
    launch(ptr, call, context,
           (float *) ptr[ADAM_WEIGHT] + call->attr.adam.first, (float *) NULL);
}

/* Its operands are adam's, with the master in place of the weight. */
void mtlm_adam_master_cuda(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context)
{
    mtlm_dispatch(call->value, [&](auto t) {
        using T = decltype(t);

        launch(ptr, call, context, (float *) ptr[ADAMM_MASTER],
               (T *) ptr[ADAMM_WEIGHT] + call->attr.adam.first);
    });
}
