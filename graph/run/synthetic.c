/* Computes durations and message sizes of synthetic runs. */

#include "config.h"

#include <math.h>

#include "graph/run/synthetic.h"

bool mtlm_synthetic_pretends(const struct mtlm_tensor *tensor)
{
    return tensor->storage != MTLM_STORE_GLOBAL;
}

bool mtlm_synthetic_computes(const struct mtlm_node *node)
{
    for (int i = 0; i < mtlm_node_n_uses(node); i++) {
        const struct mtlm_use use = mtlm_node_use(node, i);

        if (!use.control && mtlm_synthetic_pretends(use.tensor))
            return false;
    }
    return true;
}

/* Returns the factor of a computation. */
static double noise_of(const struct mtlm_synthetic *synthetic,
                       const struct mtlm_item *item, int64_t iteration)
{
    const struct mtlm_layout *layout = &synthetic->cost.program->config.layout;
    const struct mtlm_noise_pass pass = {.iteration = iteration,
                                         .replica = layout->dp_rank,
                                         .peer = layout->tp_rank,
                                         .stage = item->node->stage,
                                         .microbatch = item->microbatch,
                                         .phase = mtlm_node_pass(item->node)};

    return mtlm_noise_of_pass(&synthetic->noise, synthetic->seed, &pass)
           * mtlm_noise_of_ranks(&synthetic->noise, synthetic->rank, 1);
}

int64_t mtlm_synthetic_ns(const struct mtlm_synthetic *synthetic,
                          const struct mtlm_item *item, int64_t iteration)
{
    const enum mtlm_op_kind kind = item->node->call.kind;
    double seconds = mtlm_cost_seconds(&synthetic->cost, item->node);

    if (kind == MTLM_OP_RECV)
        return 0;
    if (mtlm_ops[kind]->op_class == MTLM_CLASS_COMPUTE)
        seconds *= noise_of(synthetic, item, iteration) / synthetic->speed;
    return llrint(1e9 * synthetic->stretch * seconds);
}

size_t mtlm_synthetic_bytes(const struct mtlm_layout *layout)
{
    const int most = layout->tp > layout->dp ? layout->tp : layout->dp;

    return most * sizeof(double);
}

int64_t mtlm_synthetic_count(const struct mtlm_node *node)
{
    switch (node->call.kind) {
    case MTLM_OP_REDUCE_SCATTER:
    case MTLM_OP_BUCKET_REDUCE_SCATTER:
        return node->call.attr.collective.size;
    default:
        return 1;
    }
}
