/* The two linear layers of an MLP on bf16 matrices; formulas and shapes:
 * linear_gelu.c.  GELU and its slope take pre as it is stored, rounded. */

#include "config.h"

#include "codelets/gelu.h"
#include "codelets/linear_gelu.h"
#include "codelets/op.h"
#include "runtime/base/value16.h"

/* Elements converted at a time; they stay in the nearest cache. */
enum { BLOCK = 1024 };

static void apply_gelu(bool exact, mtlm_real *v, int64_t n)
{
    if (exact) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            v[i] = mtlm_gelu_exact(v[i]);
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            v[i] = mtlm_gelu(v[i]);
    }
}

void mtlm_linear_gelu_fwd_bf16(void *const ptr[], const struct mtlm_call *call,
                               const struct mtlm_context *context)
{
    const int64_t elems = mtlm_shape_elems(&call->shape[LG_PRE]);
    const uint16_t *pre = ptr[LG_PRE];
    uint16_t *y = ptr[LG_Y];
    mtlm_real v[BLOCK];

    mtlm_linear_bias_fwd_bf16(ptr, call, context);
    for (int64_t i = 0; i < elems; i += BLOCK) {
        const int64_t n = elems - i < BLOCK ? elems - i : BLOCK;

        mtlm_value16_widen(MTLM_BF16, pre + i, n, v);
        apply_gelu(call->attr.gelu.exact, v, n);
        mtlm_value16_round(MTLM_BF16, v, n, y + i);
    }
}

void mtlm_gelu_linear_fwd_bf16(void *const ptr[], const struct mtlm_call *call,
                               const struct mtlm_context *context)
{
    mtlm_linear_fwd_bf16((void *[]){ptr[GL_X], ptr[GL_WEIGHT], ptr[GL_Y]}, call,
                         context);
}

static void times_slope(bool exact, mtlm_real *d, const mtlm_real *pre,
                        int64_t n)
{
    if (exact) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            d[i] *= mtlm_gelu_exact_slope(pre[i]);
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            d[i] *= mtlm_gelu_slope(pre[i]);
    }
}

void mtlm_gelu_linear_dgrad_bf16(void *const ptr[],
                                 const struct mtlm_call *call,
                                 const struct mtlm_context *context)
{
    const int64_t elems = mtlm_shape_elems(&call->shape[GLD_PRE]);
    const uint16_t *pre = ptr[GLD_PRE];
    uint16_t *dpre = ptr[GLD_DPRE];
    mtlm_real d[BLOCK], v[BLOCK];

    mtlm_linear_dgrad_bf16((void *[]){ptr[GLD_DY], ptr[GLD_WEIGHT], dpre}, call,
                           context);
    for (int64_t i = 0; i < elems; i += BLOCK) {
        const int64_t n = elems - i < BLOCK ? elems - i : BLOCK;

        mtlm_value16_widen(MTLM_BF16, dpre + i, n, d);
        mtlm_value16_widen(MTLM_BF16, pre + i, n, v);
        times_slope(call->attr.gelu.exact, d, v, n);
        mtlm_value16_round(MTLM_BF16, d, n, dpre + i);
    }
}
