/* Merges small calls of one operation into shared nodes. */

#include "config.h"

#include "graph/build/bundle.h"

int64_t mtlm_bundle_elems(int64_t n)
{
    const int64_t part = n / MTLM_BUNDLE_PARTS;

    return part < MTLM_BUNDLE_ELEMS ? part : MTLM_BUNDLE_ELEMS;
}

/* Returns whether the call uses state of the units that the node uses: a node
 * holds the slots of its units. */
static bool shares_units(const struct mtlm_node *node,
                         struct mtlm_tensor *const given[])
{
    for (int i = 0; i < mtlm_ops[node->call.kind]->n_operands; i++)
        if (node->operand[i]->unit != given[i]->unit)
            return false;
    return true;
}

void mtlm_bundle_add(struct mtlm_bundle *bundle, const union mtlm_attr *attr,
                     struct mtlm_tensor *const given[])
{
    struct mtlm_program *program = bundle->program;

    if (bundle->node && bundle->elems < program->bundle_elems
        && bundle->calls < MTLM_MAX_CALLS
        && shares_units(bundle->node, given)) {
        mtlm_graph_add_call(bundle->node, attr, given);
    } else {
        bundle->node =
            mtlm_graph_call(program->graph, bundle->kind, attr, given);
        bundle->calls = 0;
        bundle->elems = 0;
    }
    bundle->calls++;
    bundle->elems += mtlm_shape_elems(&given[0]->shape);
}
