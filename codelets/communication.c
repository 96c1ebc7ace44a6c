/* Communication as operations: the engine of runtime/ runs them, so they have
 * shapes and gradients but no kernels.
 *
 * all_reduce is Megatron-LM's operator g (arXiv 1909.08053, section 3): the
 * sum forward, the identity backward.  tp_copy is its conjugate f: nothing
 * forward, the sum of the gradients backward. */

#include "config.h"

#include "codelets/op.h"

static int any_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    (void) call, (void) err;
    return 0;
}

static int copy_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    (void) err;
    call->shape[1] = call->shape[0];
    return 0;
}

const struct mtlm_op mtlm_op_all_reduce = {
    .name = "all_reduce",
    .op_class = MTLM_CLASS_COLLECTIVE,
    .n_operands = 1,
    .access = {MTLM_RW},
    .infer = any_infer,
};

const struct mtlm_op mtlm_op_tp_copy = {
    .name = "tp_copy",
    .op_class = MTLM_CLASS_ALIAS,
    .n_operands = 2,
    .access = {MTLM_R, MTLM_W},
    .infer = copy_infer,
    .grad = {.pass = {[0] = {true, 1}}, .reduce = true},
};

const struct mtlm_op mtlm_op_send = {
    .name = "send",
    .op_class = MTLM_CLASS_P2P,
    .n_operands = 1,
    .access = {MTLM_R},
    .infer = any_infer,
};

/* What arrives has the shape that the peer's send has: the caller sets it. */
const struct mtlm_op mtlm_op_recv = {
    .name = "recv",
    .op_class = MTLM_CLASS_P2P,
    .n_operands = 1,
    .access = {MTLM_W},
    .infer = any_infer,
};
