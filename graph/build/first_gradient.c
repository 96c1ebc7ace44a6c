/* Marks the products that set gradients of weights. */

#include "config.h"

#include <stdlib.h>

#include "codelets/linear.h"
#include "graph/build/first_gradient.h"
#include "runtime/base/memory.h"

static bool is_wgrad(const struct mtlm_node *node)
{
    return node->call.kind == MTLM_OP_LINEAR_WGRAD
           || node->call.kind == MTLM_OP_LINEAR_BIAS_WGRAD;
}

/* Notes in first [tensor id] which node of the list uses a gradient first. */
static void note_first(const struct mtlm_list *list, struct mtlm_node **first)
{
    for (int i = 0; i < list->n; i++) {
        struct mtlm_node *node = list->node[i];

        for (int k = 0; k < mtlm_node_n_uses(node); k++) {
            const struct mtlm_tensor *t = mtlm_node_use(node, k).tensor;

            if (t->storage == MTLM_STORE_GRAD && !first[t->id])
                first[t->id] = node;
        }
    }
}

/* B of a microbatch comes before W. */
static struct mtlm_node **find_first(const struct mtlm_program *program)
{
    struct mtlm_node **first =
        mtlm_calloc(program->graph->n_tensors, sizeof(struct mtlm_node *));

    for (int c = 0; c < program->config.layout.virtual_stages; c++) {
        note_first(&program->stage[c].backward, first);
        note_first(&program->stage[c].weight, first);
    }
    return first;
}

void mtlm_first_gradient_mark(struct mtlm_program *program)
{
    struct mtlm_node **first = find_first(program);

    for (int i = 0; i < program->n_params; i++) {
        struct mtlm_parameter *p = &program->param[i];
        struct mtlm_node *node = p->grad ? first[p->grad->id] : NULL;

        if (!node || p->reduced != p->grad || !is_wgrad(node)
            || node->operand[LINW_DWEIGHT] != p->grad)
            continue;
        node->call.sets = true;
        p->grad_is_set = true;
    }
    free(first);
}
