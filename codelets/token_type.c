/* Token types (BERT's sentences A and B): x += table[type], in place.
 *
 * types [s, b]; table [n, h]; x [s, b, h].  The gradient of x passes by; that
 * of the table is that of a word embedding. */

#include "config.h"

#include <assert.h>

#include "codelets/infer.h"
#include "codelets/token_type.h"

static int token_type_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;

    if (mtlm_infer_expect_rank(call, TT_TYPES, "types", 2, err)
        || mtlm_infer_expect_rank(call, TT_TABLE, "table", 2, err))
        return -1;
    return mtlm_infer_expect_shape(call, TT_X, "x",
                                   MTLM_SHAPE(shape[TT_TYPES].dim[0],
                                              shape[TT_TYPES].dim[1],
                                              shape[TT_TABLE].dim[1]),
                                   err);
}

static double token_type_fwd_flops(const struct mtlm_call *call)
{
    return mtlm_shape_elems(&call->shape[TT_X]);
}

static void token_type_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                               const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[TT_TYPES]);
    const int64_t rows = call->shape[TT_TABLE].dim[0];
    const int64_t h = call->shape[TT_TABLE].dim[1];
    const int32_t *types = ptr[TT_TYPES];
    mtlm_real *x = ptr[TT_X];

    (void) context;
    for (int64_t i = 0; i < n; i++, x += h) {
        const mtlm_real *row = (const mtlm_real *) ptr[TT_TABLE] + types[i] * h;

        assert(types[i] >= 0 && types[i] < rows);
#pragma omp simd
        for (int64_t c = 0; c < h; c++)
            x[c] += row[c];
    }
}

const struct mtlm_op mtlm_op_token_type_fwd = {
    .name = "token_type_fwd",
    .n_operands = 3,
    .access = {[TT_TYPES] = MTLM_R, [TT_TABLE] = MTLM_R, [TT_X] = MTLM_RW},
    .dtype =
        {[TT_TABLE] = MTLM_VALUE, [TT_X] = MTLM_VALUE, [TT_TYPES] = MTLM_I32},
    .infer = token_type_fwd_infer,
    .flops = token_type_fwd_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_W,
                       .kind = MTLM_OP_EMBEDDING_WGRAD,
                       .arg = {{MTLM_GRAD_VALUE, TT_TYPES},
                               {MTLM_GRAD_OF, TT_X},
                               {MTLM_GRAD_OF, TT_TABLE}}}}},
    .cpu = token_type_fwd_cpu,
    .cuda = MTLM_CUDA_KERNEL(token_type_fwd),
};
