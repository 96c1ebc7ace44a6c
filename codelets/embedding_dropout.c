/* y = dropout(x), after the embedding of a model without a position embedding.
 *
 * x, y, dx, dy [s, b, h], of which row 0 is position dropout.first_row of the
 * samples.  Backward is the same function: dx = dropout(dy). */

#include "config.h"

#include <string.h>

#include "codelets/dropout.h"
#include "codelets/embedding_dropout.h"
#include "codelets/fetch.h"
#include "codelets/infer.h"
#include "runtime/base/least.h"

_Static_assert((int) ED_X == (int) EDB_DY && (int) ED_Y == (int) EDB_DX,
               "forward and backward are one function");

static int embedding_dropout_infer(struct mtlm_call *call,
                                   struct mtlm_error *err)
{
    call->shape[ED_Y] = call->shape[ED_X];
    return mtlm_infer_expect_rank(call, ED_X, "x", 3, err);
}

static double embedding_dropout_flops(const struct mtlm_call *call)
{
    return mtlm_shape_elems(&call->shape[ED_X]);
}

static void multiply(const mtlm_real *x, const mtlm_real *factor, mtlm_real *y,
                     int64_t n)
{
#pragma omp simd simdlen(MTLM_HALF_LINE)
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * factor[i];
}

static void embedding_dropout_cpu(void *const ptr[],
                                  const struct mtlm_call *call,
                                  const struct mtlm_context *context)
{
    const int64_t *dim = call->shape[ED_X].dim, b = dim[1], h = dim[2];
    const struct mtlm_dropout *dropout = &call->attr.dropout;
    const mtlm_real *x = ptr[ED_X];
    mtlm_real *y = ptr[ED_Y], factor[MTLM_DROPOUT_PART];

    if (dropout->p <= 0) {
        memcpy(y, x, dim[0] * b * h * sizeof(*y));
        return;
    }
    for (int64_t r = 0; r < dim[0] * b; r++)
        for (int64_t c = 0, n; c < h; c += n, x += n, y += n) {
            n = mtlm_least(h - c, MTLM_DROPOUT_PART);
            mtlm_fetch(x + n, n);
            mtlm_fetch_to_write(y + n, n);
            mtlm_dropout_factors(dropout, context->sample + r % b,
                                 (dropout->first_row + r / b) * h + c, n,
                                 factor);
            multiply(x, factor, y, n);
        }
}

const struct mtlm_op mtlm_op_embedding_dropout_fwd = {
    .name = "embedding_dropout_fwd",
    .n_operands = 2,
    .access = {[ED_X] = MTLM_R, [ED_Y] = MTLM_W},
    .dtype = {[ED_X] = MTLM_VALUE, [ED_Y] = MTLM_VALUE},
    .infer = embedding_dropout_infer,
    .flops = embedding_dropout_flops,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_EMBEDDING_DROPOUT_BWD,
                       .arg = {{MTLM_GRAD_OF, ED_Y}, {MTLM_GRAD_OF, ED_X}}}}},
    .cpu = embedding_dropout_cpu,
    .cuda = MTLM_CUDA_KERNEL(embedding_dropout_fwd),
};

const struct mtlm_op mtlm_op_embedding_dropout_bwd = {
    .name = "embedding_dropout_bwd",
    .n_operands = 2,
    .access = {[EDB_DY] = MTLM_R, [EDB_DX] = MTLM_W},
    .dtype = {[EDB_DY] = MTLM_VALUE, [EDB_DX] = MTLM_VALUE},
    .infer = embedding_dropout_infer,
    .flops = embedding_dropout_flops,
    .cpu = embedding_dropout_cpu,
    .cuda = MTLM_CUDA_KERNEL(embedding_dropout_bwd),
};
