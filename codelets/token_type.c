/* Token types (BERT's sentences A and B): x += table[type], in place.
 *
 * types [s, b]; table [n, h]; x [s, b, h].  The gradient of x passes by; that
 * of the table is that of a word embedding. */

#include "config.h"

#include <assert.h>

#include "codelets/infer.h"

enum { TYPES, TABLE, X };

static int token_type_fwd_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_shape *shape = call->shape;

    if (mtlm_expect_rank(call, TYPES, "types", 2, err)
        || mtlm_expect_rank(call, TABLE, "table", 2, err))
        return -1;
    return mtlm_expect_shape(call, X, "x",
                             MTLM_SHAPE(shape[TYPES].dim[0],
                                        shape[TYPES].dim[1],
                                        shape[TABLE].dim[1]),
                             err);
}

static double token_type_fwd_flops(const struct mtlm_call *call)
{
    return mtlm_shape_elems(&call->shape[X]);
}

static void token_type_fwd_cpu(void *const ptr[], const struct mtlm_call *call,
                               const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[TYPES]);
    const int64_t rows = call->shape[TABLE].dim[0];
    const int64_t h = call->shape[TABLE].dim[1];
    const int32_t *types = ptr[TYPES];
    mtlm_real *x = ptr[X];

    (void) context;
    for (int64_t i = 0; i < n; i++, x += h) {
        const mtlm_real *row = (const mtlm_real *) ptr[TABLE] + types[i] * h;

        assert(types[i] >= 0 && types[i] < rows);
#pragma omp simd
        for (int64_t c = 0; c < h; c++)
            x[c] += row[c];
    }
}

const struct mtlm_op mtlm_op_token_type_fwd = {
    .name = "token_type_fwd",
    .n_operands = 3,
    .access = {[TYPES] = MTLM_R, [TABLE] = MTLM_R, [X] = MTLM_RW},
    .dtype = {[TABLE] = MTLM_VALUE, [X] = MTLM_VALUE, [TYPES] = MTLM_I32},
    .infer = token_type_fwd_infer,
    .flops = token_type_fwd_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_W,
                       .kind = MTLM_OP_EMBEDDING_WGRAD,
                       .arg = {{MTLM_GRAD_VALUE, TYPES},
                               {MTLM_GRAD_OF, X},
                               {MTLM_GRAD_OF, TABLE}}}}},
    .cpu = token_type_fwd_cpu,
};
