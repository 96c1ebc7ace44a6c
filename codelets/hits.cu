/* CUDA kernels of hits.c: a warp per sample, since few rows of a sample have
 * weight. */

#include "config.h"

#include "codelets/hits.h"
#include "codelets/launch.cuh"
#include "codelets/number.cuh"
#include "codelets/xent.h"
#include "runtime/machine/device.h"

constexpr int WARP = 32;

/* Whether one of the n logits of a row comes before the label, which is column
 * `label` here; the same in every lane. */
template <typename T>
static __device__ bool any_before(const T *row, int64_t n, int64_t label,
                                  float target)
{
    int before = 0;

    for (int64_t i = threadIdx.x; i < n; i += WARP) {
        const float x = mtlm_float(row[i]);

        before |= i < label ? !(x < target) : !(x <= target);
    }
    return __any_sync(~0u, before);
}

/* n: columns that count, of cols; first: this rank's first row of the
 * vocabulary. */
template <typename T>
static __global__ void __launch_bounds__(WARP)
    label_misses(const T *logits, const int *labels, const float *target,
                 const float *weight, float *misses, int64_t rows, int64_t b,
                 int64_t cols, int64_t n, int64_t first)
{
    for (int64_t j = blockIdx.x; j < b; j += gridDim.x) {
        int missed = 0, counted = 0;

        for (int64_t r = j; r < rows; r += b) {
            if (weight[r] == 0)
                continue;
            missed += any_before(logits + r * cols, n, labels[r] - first,
                                 target[r]);
            counted++;
        }
        if (threadIdx.x == 0) {
            misses[j] += (float) missed;
            misses[b + j] += (float) counted;
        }
    }
}

void mtlm_label_misses_cuda(void *const ptr[], const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[LM_LOGITS]);
    const int64_t cols = mtlm_shape_cols(&call->shape[LM_LOGITS]);
    const int64_t b = call->shape[LM_MISSES].dim[1];
    const float *sums = (const float *) ptr[LM_SUMS];

    mtlm_dispatch(call->value, [&](auto t) {
        using T = decltype(t);

        mtlm_launch(label_misses<T>, b < INT32_MAX ? (unsigned) b : INT32_MAX,
                    WARP, 0, context->device->stream,
                    (const T *) ptr[LM_LOGITS], (const int *) ptr[LM_LABELS],
                    sums + rows, (const float *) ptr[LM_WEIGHTS],
                    (float *) ptr[LM_MISSES], rows, b, cols,
                    mtlm_xent_columns(call, cols), call->attr.vocabulary.first);
    });
}

/* One thread: a microbatch has few samples. */
static __global__ void label_hits(const float *misses, double *loss, int64_t b,
                                  double share)
{
    int64_t hits = 0;

    for (int64_t j = 0; j < b; j++)
        hits += misses[j] == 0 && misses[b + j] > 0;
    *loss += share * (double) hits;
}

void mtlm_label_hits_cuda(void *const ptr[], const struct mtlm_call *call,
                          const struct mtlm_context *context)
{
    mtlm_launch(label_hits, 1, 1, 0, context->device->stream,
                (const float *) ptr[LH_MISSES],
                (double *) ptr[LH_LOSS] + call->attr.vocabulary.slot,
                call->shape[LH_MISSES].dim[1], context->share);
}
