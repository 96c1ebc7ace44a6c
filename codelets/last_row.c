/* The last row in use of a chunk of positions, from which the next token is
 * predicted: y = x[context->rows - 1].
 *
 * x [r, b, h]; y [1, b, h]. */

#include "config.h"

#include <assert.h>
#include <string.h>

#include "codelets/infer.h"

enum { X, Y };

static int last_row_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const int64_t *dim = call->shape[X].dim;

    if (mtlm_infer_expect_rank(call, X, "x", 3, err))
        return -1;
    call->shape[Y] = MTLM_SHAPE(1, dim[1], dim[2]);
    return 0;
}

static void last_row_cpu(void *const ptr[], const struct mtlm_call *call,
                         const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[Y]);

    assert(context->rows >= 1 && context->rows <= call->shape[X].dim[0]);
    memcpy(ptr[Y], (const mtlm_real *) ptr[X] + (context->rows - 1) * n,
           n * sizeof(mtlm_real));
}

const struct mtlm_op mtlm_op_last_row = {
    .name = "last_row",
    .n_operands = 2,
    .access = {[X] = MTLM_R, [Y] = MTLM_W},
    .dtype = {[X] = MTLM_VALUE, [Y] = MTLM_VALUE},
    .infer = last_row_infer,
    .cpu = last_row_cpu,
};
