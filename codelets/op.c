#include "config.h"

#include <stddef.h>

#include "codelets/op.h"

const struct mtlm_op *const mtlm_ops[MTLM_OP_COUNT] = {
#define OP(UC, lc) [MTLM_OP_##UC] = &mtlm_op_##lc,
    MTLM_OP_LIST(OP)
#undef OP
};

enum mtlm_dtype mtlm_call_dtype(const struct mtlm_call *call, int i)
{
    const enum mtlm_dtype dtype = mtlm_ops[call->kind]->dtype[i];

    return dtype == MTLM_VALUE ? call->value : dtype;
}

double mtlm_call_bytes(const struct mtlm_call *call)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];
    double bytes = 0;

    for (int i = 0; i < op->n_operands; i++)
        bytes += (op->access[i] == MTLM_RW ? 2.0 : 1.0)
                 * mtlm_shape_elems(&call->shape[i])
                 * mtlm_dtype_bytes(mtlm_call_dtype(call, i));
    return bytes;
}
