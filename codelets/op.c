/* Properties of calls that follow from the table of operations. */

#include "config.h"

#include <stddef.h>

#include "codelets/adam.h"
#include "codelets/op.h"

int mtlm_call_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];

    return op->infer(call, err) < 0 ? mtlm_error_prefix(err, "%s", op->name)
                                    : 0;
}

enum mtlm_dtype mtlm_call_dtype(const struct mtlm_call *call, int i)
{
    const enum mtlm_dtype dtype = mtlm_ops[call->kind]->dtype[i];

    return dtype == MTLM_VALUE ? call->value : dtype;
}

int mtlm_call_n_operands(const struct mtlm_call *call)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];
    int own = op->n_operands, n = op->n_operands;

    for (int i = 0; i < op->n_operands; i++)
        own -= op->shared[i];
    for (call = call->next; call; call = call->next)
        n += own;
    return n;
}

void mtlm_call_spread(const struct mtlm_call *call, void *const operand[],
                      void *ptr[])
{
    const struct mtlm_op *op = mtlm_ops[call->kind];
    void *const *first = ptr;

    for (const struct mtlm_call *c = call; c; c = c->next)
        for (int i = 0; i < op->n_operands; i++)
            *ptr++ = c != call && op->shared[i] ? first[i] : *operand++;
}

void mtlm_call_run_cuda(void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];

    op->cuda(ptr, call, context);
    while (!op->cuda_together && (call = call->next))
        op->cuda(ptr += op->n_operands, call, context);
}

double mtlm_call_flops(const struct mtlm_call *call)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];
    double flops = 0;

    for (; call && op->flops; call = call->next)
        flops += op->flops(call);
    return flops;
}

/* Returns how often the call moves the operand: what it adds to or updates is
 * read and written.  Gradients of weights count as added to, also in the one
 * microbatch that sets them. */
static double count_moves(const struct mtlm_call *call, int i)
{
    const bool steps = call->kind == MTLM_OP_ADAM
                       || call->kind == MTLM_OP_ADAM_MASTER
                       || call->kind == MTLM_OP_ADAM_VERSION;

    if (steps && i == ADAM_G && call->attr.adam.keeps_g)
        return 1;
    return mtlm_ops[call->kind]->access[i] == MTLM_RW ? 2 : 1;
}

double mtlm_call_bytes(const struct mtlm_call *call)
{
    const struct mtlm_op *op = mtlm_ops[call->kind];
    double bytes = 0;

    for (const struct mtlm_call *c = call; c; c = c->next)
        for (int i = 0; i < op->n_operands; i++)
            if (!op->untouched[i] && (c == call || !op->shared[i]))
                bytes += count_moves(c, i) * mtlm_shape_elems(&c->shape[i])
                         * mtlm_dtype_bytes(mtlm_call_dtype(c, i));
    return bytes;
}
