/* Bytes that nodes read and write. */

#include "config.h"

#include "graph/predict/memory_cost.h"

double mtlm_memory_cost_element(const struct mtlm_cluster *cluster,
                                const struct mtlm_program *program)
{
    return program->config.value == MTLM_REAL ? cluster->element_bytes
                                              : mtlm_dtype_bytes(MTLM_REAL);
}

struct mtlm_touched mtlm_memory_cost_touched(const struct mtlm_node *node,
                                             double real)
{
    const bool steps = node->call.kind == MTLM_OP_ADAM
                       || node->call.kind == MTLM_OP_ADAM_MASTER
                       || node->call.kind == MTLM_OP_ADAM_VERSION;
    const struct mtlm_tensor *gradient = NULL;
    struct mtlm_touched bytes = {0};

    for (int i = 0; i < mtlm_node_n_uses(node); i++) {
        const struct mtlm_use use = mtlm_node_use(node, i);
        const enum mtlm_dtype dtype = use.tensor->dtype;
        const struct mtlm_tensor *t = use.tensor;
        double all;

        if (use.control)
            continue;
        /* Adam touches the piece of a weight that the gradient, an earlier
         * operand, belongs to. */
        if (t->storage == MTLM_STORE_GRAD)
            gradient = t;
        if (steps && dtype != MTLM_F64)
            t = gradient;
        all = mtlm_tensor_elems(t)
              * (dtype == MTLM_REAL ? real : mtlm_dtype_bytes(dtype));
        bytes.read += use.access == MTLM_W ? 0 : all;
        bytes.written += use.access == MTLM_R ? 0 : all;
    }
    return bytes;
}

double mtlm_memory_cost_seconds(const struct mtlm_cluster *cluster,
                                double bytes)
{
    return bytes / (cluster->memory_efficiency * cluster->bytes_per_s);
}
