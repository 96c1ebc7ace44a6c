/* CUDA kernels of adam.c: one launch for all calls of a task, one pass over
 * memory, 16 bytes at a time, by the CPU's formula (adam.h). */

#include "config.h"

#include <assert.h>

#include "codelets/adam.h"
#include "codelets/launch.cuh"
#include "codelets/number.cuh"
#include "runtime/machine/device.h"

constexpr int THREADS = 256, WIDTH = mtlm_width<float>;

/* Calls are cut into parts of PART elements, dealt out to at most MOST blocks.
 * Each block first computes the coefficients, which takes a while. */
constexpr int64_t PART = 2048, MOST = 2048;

struct operands {
    float *g, *w, *m, *v;
    void *values; /* rounded weights, or NULL */
};

/* The calls of a task; parts are numbered over all calls. */
struct calls {
    struct {
        struct operands x;
        int64_t n;
        int end; /* number of the part behind the call's last one */
        bool decay, keeps_g;
    } at[MTLM_MAX_CALLS];
    const double *control;
    bool keeps_w;         /* w is read only: the values are the next version */
    union mtlm_attr attr; /* of the first call, for all; decay, first and
                           * keeps_g differ */
    int parts;
};

static_assert(sizeof(struct calls) <= 4096, "they are a kernel's parameters");

/* What a step does not write: gradients, weights. */
struct kept {
    bool g, w;
};

/* Steps width elements from i on, aligned to width elements. */
template <int width, typename T>
static __device__ void step(const struct mtlm_adam *a, const struct operands *x,
                            struct kept kept, int64_t i)
{
    const float zeros[width] = {};
    float g[width], w[width], m[width], v[width];

    mtlm_load<width>(x->g + i, g);
    mtlm_load<width>(x->w + i, w);
    mtlm_load<width>(x->m + i, m);
    mtlm_load<width>(x->v + i, v);
    for (int k = 0; k < width; k++)
        mtlm_adam_step(a, g[k], &m[k], &v[k], &w[k]);
    if (!kept.g)
        mtlm_store<width>(x->g + i, zeros);
    if (!kept.w)
        mtlm_store<width>(x->w + i, w);
    mtlm_store<width>(x->m + i, m);
    mtlm_store<width>(x->v + i, v);
    if (x->values)
        mtlm_store<width>((T *) x->values + i, w);
}

/* Leaves out the step of width elements from i on. */
template <int width, typename T>
static __device__ void skip(const struct operands *x, struct kept kept,
                            int64_t i)
{
    const float zeros[width] = {};
    float w[width];

    if (!kept.g)
        mtlm_store<width>(x->g + i, zeros);
    if (!x->values)
        return;
    mtlm_load<width>(x->w + i, w);
    mtlm_store<width>((T *) x->values + i, w);
}

/* Elements [first, end) of a call. */
template <int width, typename T>
static __device__ void do_part(bool applies, const struct mtlm_adam *a,
                               const struct operands *x, struct kept kept,
                               int64_t first, int64_t end)
{
    const int64_t whole = first + (end - first) / width * width;

    for (int64_t i = first + threadIdx.x * width; i < whole;
         i += THREADS * width)
        applies ? step<width, T>(a, x, kept, i) : skip<width, T>(x, kept, i);
    if (whole + threadIdx.x < end)
        applies ? step<1, T>(a, x, kept, whole + threadIdx.x)
                : skip<1, T>(x, kept, whole + threadIdx.x);
}

template <int width, typename T>
static __global__ void __launch_bounds__(THREADS) adam(struct calls calls)
{
    const bool applies = calls.control[MTLM_CONTROL_APPLY] != 0;
    __shared__ struct mtlm_adam begun;
    int k = 0;

    if (applies && threadIdx.x == 0) {
        const union mtlm_attr attr = calls.attr; /* a parameter's address makes
                                                  * a copy of all of it */

        begun = mtlm_adam_begin(&attr, calls.control);
    }
    __syncthreads();
    for (int part = blockIdx.x; part < calls.parts; part += gridDim.x) {
        while (part >= calls.at[k].end)
            k++;

        const int64_t n = calls.at[k].n;
        const int64_t first = (part - (k ? calls.at[k - 1].end : 0)) * PART;
        const struct operands x = calls.at[k].x;
        const struct kept kept = {calls.at[k].keeps_g, calls.keeps_w};
        struct mtlm_adam a = begun;

        if (!calls.at[k].decay)
            a.decay = 0;
        do_part<width, T>(applies, &a, &x, kept, first,
                          first + PART < n ? first + PART : n);
    }
}

/* Of a call of adam, whose weights are their own masters; of adam_master, with
 * weights of type T. */
static struct operands operands_of(void *const ptr[],
                                   const struct mtlm_call *call)
{
    return {(float *) ptr[ADAM_G],
            (float *) ptr[ADAM_WEIGHT] + call->attr.adam.first,
            (float *) ptr[ADAM_M], (float *) ptr[ADAM_V], NULL};
}

template <typename T>
static struct operands master_operands_of(void *const ptr[],
                                          const struct mtlm_call *call)
{
    return {(float *) ptr[ADAMM_G], (float *) ptr[ADAMM_MASTER],
            (float *) ptr[ADAMM_M], (float *) ptr[ADAMM_V],
            (T *) ptr[ADAMM_WEIGHT] + call->attr.adam.first};
}

/* Of a call of adam_version, whose version before has weight's shape. */
static struct operands version_operands_of(void *const ptr[],
                                           const struct mtlm_call *call)
{
    struct operands x = master_operands_of<float>(ptr, call);

    x.w += call->attr.adam.first;
    return x;
}

/* Returns whether a and b have the same constants. */
static bool same_rule(const union mtlm_attr *a, const union mtlm_attr *b)
{
    return a->adam.beta1 == b->adam.beta1 && a->adam.beta2 == b->adam.beta2
           && a->adam.epsilon == b->adam.epsilon;
}

/* of: one of these. */
template <typename T>
static void launch(void *const ptr[], const struct mtlm_call *call,
                   const struct mtlm_context *context,
                   struct operands (*of)(void *const ptr[],
                                         const struct mtlm_call *call))
{
    struct calls calls = {};
    bool wide = true;

    calls.control = (const double *) ptr[ADAM_CONTROL];
    calls.keeps_w = call->kind == MTLM_OP_ADAM_VERSION;
    calls.attr = call->attr;
    calls.attr.adam.decay = true;
    for (int k = 0; call; call = call->next, k++) {
        const int64_t n = mtlm_shape_elems(&call->shape[ADAM_G]);
        const struct operands x = of(ptr, call);

        assert(same_rule(&call->attr, &calls.attr));
        calls.parts += (int) ((n + PART - 1) / PART);
        calls.at[k] = {x, n, calls.parts, call->attr.adam.decay,
                       call->attr.adam.keeps_g};
        wide = wide && mtlm_wide<WIDTH>(0, x.g, x.w, x.m, x.v)
               && mtlm_wide<WIDTH>(0, (const T *) x.values);
        ptr +=
            call->kind == MTLM_OP_ADAM ? (int) ADAM_COUNT : (int) ADAMM_COUNT;
    }
    mtlm_launch(wide ? adam<WIDTH, T> : adam<1, T>,
                (unsigned) (calls.parts < MOST ? calls.parts : MOST), THREADS,
                0, context->device->stream, calls);
}

void mtlm_adam_cuda(void *const ptr[], const struct mtlm_call *call,
                    const struct mtlm_context *context)
{
    launch<float>(ptr, call, context, operands_of);
}

/* Its first operands are adam's, with the master in place of the weight. */
void mtlm_adam_master_cuda(void *const ptr[], const struct mtlm_call *call,
                           const struct mtlm_context *context)
{
    mtlm_dispatch(call->value, [&](auto t) {
        using T = decltype(t);

        launch<T>(ptr, call, context, master_operands_of<T>);
    });
}

void mtlm_adam_version_cuda(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    launch<float>(ptr, call, context, version_operands_of);
}
