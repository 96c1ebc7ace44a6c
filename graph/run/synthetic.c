/* Computes durations and message sizes of synthetic runs. */

#include "config.h"

#include <math.h>

#include "graph/run/synthetic.h"
#include "runtime/base/philox.h"

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

/* Returns a number that is unique for item and iteration; the pieces of a
 * validation share numbers. */
static int64_t number_of(const struct mtlm_program *program,
                         const struct mtlm_item *item, int64_t iteration)
{
    const struct mtlm_items *const lists[] = {&program->init, &program->train,
                                              &program->eval};
    int64_t all = 0, number = 0;

    for (int i = 0; i < 3; i++) {
        if (item >= lists[i]->item && item < lists[i]->item + lists[i]->n)
            number = all + (item - lists[i]->item);
        all += lists[i]->n;
    }
    return iteration * all + number;
}

/* In -1 .. 1. */
static double draw_jitter(const struct mtlm_synthetic *synthetic,
                          int64_t number)
{
    uint32_t bits[4];

    mtlm_philox(synthetic->seed, synthetic->rank, number, bits);
    return ldexp(bits[0], -31) - 1;
}

int64_t mtlm_synthetic_ns(const struct mtlm_synthetic *synthetic,
                          const struct mtlm_item *item, int64_t iteration)
{
    const enum mtlm_op_kind kind = item->node->call.kind;
    double seconds = mtlm_cost_seconds(&synthetic->cost, item->node);

    if (kind == MTLM_OP_RECV)
        return 0;
    if (mtlm_ops[kind]->op_class == MTLM_CLASS_COMPUTE)
        seconds *=
            (1
             + synthetic->jitter
                   * draw_jitter(synthetic, number_of(synthetic->cost.program,
                                                      item, iteration)))
            / synthetic->speed;
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
