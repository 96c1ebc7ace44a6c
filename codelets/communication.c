/* Communication as operations: the engine of runtime/ runs them, so they have
 * shapes and gradients but no kernels.
 *
 * all_reduce is Megatron-LM's operator g (arXiv 1909.08053, section 3): the
 * sum forward, the identity backward.  tp_copy is its conjugate f: nothing
 * forward, the sum of the gradients backward.  Under sequence parallelism
 * (arXiv 2205.05198, section 4.2.2) all_gather and reduce_scatter along the
 * first dimension take their place, each the other's gradient. */

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
    .dtype = {[0] = MTLM_VALUE},
    .infer = any_infer,
};

/* From x [n s, ..] of each rank: y [s, ..] is this rank's block of the sum. */
static int scatter_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    const int n = call->attr.collective.size;

    call->shape[1] = call->shape[0];
    if (n < 1 || call->shape[0].dim[0] % n != 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "x has %lld rows, needs a multiple of %d ranks",
                              (long long) call->shape[0].dim[0], n);
    call->shape[1].dim[0] /= n;
    return 0;
}

/* From x [s, ..] of each rank: y [n s, ..] holds all ranks' blocks in rank
 * order. */
static int gather_infer(struct mtlm_call *call, struct mtlm_error *err)
{
    (void) err;
    call->shape[1] = call->shape[0];
    call->shape[1].dim[0] *= call->attr.collective.size;
    return 0;
}

const struct mtlm_op mtlm_op_reduce_scatter = {
    .name = "reduce_scatter",
    .op_class = MTLM_CLASS_COLLECTIVE,
    .n_operands = 2,
    .access = {MTLM_R, MTLM_W},
    .dtype = {[0] = MTLM_VALUE, [1] = MTLM_VALUE},
    .infer = scatter_infer,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_ALL_GATHER,
                       .arg = {{MTLM_GRAD_OF, 1}, {MTLM_GRAD_OF, 0}}}}},
};

const struct mtlm_op mtlm_op_all_gather = {
    .name = "all_gather",
    .op_class = MTLM_CLASS_COLLECTIVE,
    .n_operands = 2,
    .access = {MTLM_R, MTLM_W},
    .dtype = {[0] = MTLM_VALUE, [1] = MTLM_VALUE},
    .infer = gather_infer,
    .grad = {.call = {{.used = true,
                       .phase = MTLM_GRAD_B,
                       .kind = MTLM_OP_REDUCE_SCATTER,
                       .arg = {{MTLM_GRAD_OF, 1}, {MTLM_GRAD_OF, 0}}}}},
};

/* The bucket operations carry many tensors, contiguous in an arena.  The
 * tensors are the node's further uses (graph/graph.h): sent before received. */
const struct mtlm_op mtlm_op_bucket_all_reduce = {
    .name = "bucket_all_reduce",
    .op_class = MTLM_CLASS_COLLECTIVE,
    .infer = any_infer,
};

const struct mtlm_op mtlm_op_bucket_reduce_scatter = {
    .name = "bucket_reduce_scatter",
    .op_class = MTLM_CLASS_COLLECTIVE,
    .infer = any_infer,
};

const struct mtlm_op mtlm_op_bucket_all_gather = {
    .name = "bucket_all_gather",
    .op_class = MTLM_CLASS_COLLECTIVE,
    .infer = any_infer,
};

const struct mtlm_op mtlm_op_tp_copy = {
    .name = "tp_copy",
    .op_class = MTLM_CLASS_ALIAS,
    .n_operands = 2,
    .access = {MTLM_R, MTLM_W},
    .dtype = {[0] = MTLM_VALUE, [1] = MTLM_VALUE},
    .infer = copy_infer,
    .grad = {.pass = {[0] = {true, 1}}, .reduce = true},
};

const struct mtlm_op mtlm_op_send = {
    .name = "send",
    .op_class = MTLM_CLASS_P2P,
    .n_operands = 1,
    .access = {MTLM_R},
    .dtype = {[0] = MTLM_VALUE},
    .infer = any_infer,
};

/* The caller sets the shape: that of the peer's send. */
const struct mtlm_op mtlm_op_recv = {
    .name = "recv",
    .op_class = MTLM_CLASS_P2P,
    .n_operands = 1,
    .access = {MTLM_W},
    .dtype = {[0] = MTLM_VALUE},
    .infer = any_infer,
};

/* Reads attr.disk from the disk into a slot. */
const struct mtlm_op mtlm_op_load = {
    .name = "load",
    .op_class = MTLM_CLASS_DISK,
    .n_operands = 1,
    .access = {MTLM_W},
    .dtype = {[0] = MTLM_VALUE},
    .infer = any_infer,
};

/* Writes a slot to attr.disk.  MTLM_RW: waits for the nodes that change what
 * lies in the slot, which read the slot. */
const struct mtlm_op mtlm_op_store = {
    .name = "store",
    .op_class = MTLM_CLASS_DISK,
    .n_operands = 1,
    .access = {MTLM_RW},
    .dtype = {[0] = MTLM_VALUE},
    .infer = any_infer,
};
