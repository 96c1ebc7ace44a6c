/* CUDA kernels of linear_gelu.c: GELU and its derivative as epilogues of the
 * products, where others found that to pay, else by kernels of our own.
 *
 * Of the 10 bytes that a pass of its own each way moves for each element of
 * the MLP's inner matrix in 16 bits, 6 stay away: with hidden size h, 24 h for
 * a token and layer.  Computed, not measured, for rates of 3.35 (H100) and 4.8
 * TB/s (H200) and an iteration at half of 989 TFLOP/s otherwise:
 *
 *   gpt2-124m (12 layers, h = 768)   0.22 MB, 66 and 46 ns of 1.7 us a token
 *   gpt2-1.2b (40 layers, h = 1536)  1.47 MB, 440 and 310 ns of 16 us
 *
 * that is 2 to 4 %, from which comes what the epilogue costs the product.
 *
 * Others measured the two epilogues that are used here, with the auxiliary
 * matrix and backward, together, on H100 (llm.c, pull request 653): faster; the
 * author later left them off by default, since the validation loss seemed a
 * little worse, which was not pursued.  A forward one without that matrix was
 * faster on H100 and H200 (sglang, 34350) and B200 (28168), slower on an RTX
 * 4090 and an RTX 5090 (there).  By the names of the kernels in cuBLASLt 13.1
 * the forward one is among its newest for compute capability 9 ("nvjet"), the
 * gradient's only among those before them ("sm90_xmma").  Hence two kinds of
 * --epilogues, and auto for compute capability 9, until both have run
 * elsewhere.  On an H200 an iteration of gpt2-124m takes 1.5 to 2 % longer
 * without them, by single runs (perf/results/gpu-nvidia-h200.md);
 * perf/gpu-check --only epilogues compares.
 *
 * In single precision no epilogue: the library does not say how accurate its
 * GELU is, and there the products take many times what a pass does. */

#include "config.h"

#include "codelets/fusion.cuh"
#include "codelets/gelu.cuh"
#include "codelets/linear.cuh"
#include "codelets/linear.h"
#include "codelets/linear_gelu.h"
#include "codelets/rows.cuh"

static_assert((int) LG_X == (int) LINB_X && (int) LG_WEIGHT == (int) LINB_WEIGHT
                  && (int) LG_BIAS == (int) LINB_BIAS
                  && (int) LG_PRE == (int) LINB_Y,
              "all but the last are linear_bias_fwd's");

/* Returns what both directions share: all but the wish and the notes. */
static struct mtlm_fusion fusion(const struct mtlm_call *call,
                                 const struct mtlm_device *device)
{
    struct mtlm_fusion f = {};

    f.pays = device->capability / 10 == 9;
    f.why_not = call->value == MTLM_REAL ? "single precision"
                : call->attr.gelu.exact  ? "not by tanh"
                                         : NULL;
    return f;
}

/* Writes gelu(pre) to `to` [rows, n]; for a gradient, multiplies `to` by
 * gelu'(pre). */
template <typename T, int V, bool exact, bool gradient>
struct gelu_pass : mtlm_row_work<V> {
    const T *pre;
    T *to;
    int64_t n;

    __device__ void at(int64_t r, int64_t c, float (&)[V],
                       float (&)[1][V]) const
    {
        float v[V], d[V];

        mtlm_load(pre + r * n + c, v);
        if (gradient)
            mtlm_load(to + r * n + c, d);
        for (int i = 0; i < V; i++)
            v[i] = gradient ? d[i] * mtlm_gelu_slope_of<exact>(v[i])
                            : mtlm_gelu_of<exact>(v[i]);
        mtlm_store(to + r * n + c, v);
    }
};

template <bool gradient>
static void run(const struct mtlm_call *call, const struct mtlm_shape *shape,
                const void *pre, void *to, const struct mtlm_device *device)
{
    const int64_t rows = mtlm_shape_rows(shape), n = mtlm_shape_cols(shape);

    mtlm_dispatch_wide(call->value, n, {pre, to}, [&](auto t, auto width) {
        using T = decltype(t);
        constexpr int V = decltype(width)::value;
        const T *from = (const T *) pre;

        if (call->attr.gelu.exact)
            mtlm_over_rows(
                gelu_pass<T, V, true, gradient>{{}, from, (T *) to, n}, rows, n,
                device);
        else
            mtlm_over_rows(
                gelu_pass<T, V, false, gradient>{{}, from, (T *) to, n}, rows,
                n, device);
    });
}

void mtlm_linear_gelu_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                               const struct mtlm_context *context)
{
    const struct mtlm_device *device = context->device;
    struct mtlm_product p =
        mtlm_linear_forward(call, ptr[LG_X], ptr[LG_WEIGHT], ptr[LG_Y], device);
    struct mtlm_fusion f = fusion(call, device);

    p.epilogue = MTLM_BIAS_GELU;
    p.bias = ptr[LG_BIAS];
    p.aux = ptr[LG_PRE];
    f.kind = "gelu";
    f.wish = device->epilogues.gelu;
    f.fused = MTLM_NOTE_GELU, f.own = MTLM_NOTE_GELU_OWN;
    if (mtlm_fusion_matmul(device, &p, &f))
        return;
    mtlm_linear_bias_fwd_cuda(ptr, call, context);
    run<false>(call, &call->shape[LG_PRE], ptr[LG_PRE], ptr[LG_Y], device);
}

void mtlm_gelu_linear_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                               const struct mtlm_context *context)
{
    const struct mtlm_product p = mtlm_linear_forward(
        call, ptr[GL_X], ptr[GL_WEIGHT], ptr[GL_Y], context->device);

    mtlm_matmul(context->device, &p);
}

void mtlm_gelu_linear_dgrad_cuda(void *const ptr[],
                                 const struct mtlm_call *call,
                                 const struct mtlm_context *context)
{
    const struct mtlm_device *device = context->device;
    struct mtlm_product p = mtlm_linear_dgrad(
        call, ptr[GLD_DY], ptr[GLD_WEIGHT], ptr[GLD_DPRE], 0, device);
    struct mtlm_fusion f = fusion(call, device);

    p.epilogue = MTLM_GELU_GRADIENT;
    p.aux = ptr[GLD_PRE];
    f.kind = "gelu-gradient";
    f.wish = device->epilogues.gelu_gradient;
    f.fused = MTLM_NOTE_GELU_GRADIENT, f.own = MTLM_NOTE_GELU_GRADIENT_OWN;
    if (mtlm_fusion_matmul(device, &p, &f))
        return;
    p.epilogue = MTLM_PLAIN;
    p.aux = NULL;
    mtlm_matmul(device, &p);
    run<true>(call, &call->shape[GLD_PRE], ptr[GLD_PRE], ptr[GLD_DPRE], device);
}
