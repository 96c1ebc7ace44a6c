/* Finds the layer of each tensor, for traces. */

#include "config.h"

#include "graph/build/tensor_layer.h"
#include "runtime/base/memory.h"

static void note_layer(int *layer, const struct mtlm_tensor *tensor, int is)
{
    if (tensor && layer[mtlm_tensor_slot(tensor, 0).owner->id] < 0)
        layer[mtlm_tensor_slot(tensor, 0).owner->id] = is;
}

int *mtlm_tensor_layers(const struct mtlm_program *program)
{
    const struct mtlm_graph *graph = program->graph;
    int *layer = mtlm_calloc(graph->n_tensors, sizeof(*layer));

    for (int i = 0; i < graph->n_tensors; i++)
        layer[i] = -1;
    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *p = &program->param[i];

        note_layer(layer, p->weight, p->layer);
        note_layer(layer, p->grad, p->layer);
        note_layer(layer, p->reduced, p->layer);
        note_layer(layer, p->m, p->layer);
        note_layer(layer, p->v, p->layer);
        note_layer(layer, p->master, p->layer);
        for (int s = 0; s < MTLM_SAVED_COUNT; s++)
            note_layer(layer, p->saved[s], p->layer);
    }
    for (int i = 0; i < graph->all.n; i++) {
        const struct mtlm_node *node = graph->all.node[i];

        for (int u = 0; u < mtlm_node_n_uses(node); u++)
            note_layer(layer, mtlm_node_use(node, u).tensor, node->layer);
    }
    return layer;
}
