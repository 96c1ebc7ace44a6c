/* Tensors that nodes only read need no order of their nodes. */

#include "config.h"

#include <stdlib.h>

#include "graph/run/constant.h"
#include "graph/run/watch.h"
#include "runtime/base/memory.h"

enum { READ = 1, WRITTEN = 2 };

/* Sets access [tensor id] to how the items use the owner of the tensor. */
static void note_uses(const struct mtlm_items *items, int *access)
{
    for (int i = 0; i < items->n; i++) {
        const struct mtlm_node *node = items->item[i].node;

        for (int u = 0; u < mtlm_node_n_uses(node); u++) {
            const struct mtlm_use use = mtlm_node_use(node, u);

            access[mtlm_tensor_slot(use.tensor, 0).owner->id] |=
                use.access == MTLM_R ? READ : WRITTEN;
        }
    }
}

/* Returns whether loads acquire the tensor, which then needs an order: beside a
 * GPU (graph/run/held.h). */
static bool is_held(const struct mtlm_run *run,
                    const struct mtlm_tensor *tensor)
{
    return run->held && tensor->unit >= 0;
}

void mtlm_run_fix_constants(struct mtlm_run *run,
                            const struct mtlm_items *const *list, int n)
{
    const struct mtlm_graph *graph = run->program->graph;
    int *access = mtlm_calloc(graph->n_tensors, sizeof(*access));

    for (int i = 0; i < n; i++)
        note_uses(list[i], access);
    for (int i = 0; i < graph->n_tensors; i++) {
        if (access[i] != READ || is_held(run, graph->tensor[i]))
            continue;
        mtlm_run_watch_fix(run->watch, graph->tensor[i]);
        for (int s = 0; s < graph->tensor[i]->slots; s++)
            starpu_data_set_sequential_consistency_flag(run->data.handle[i][s],
                                                        0);
    }
    free(access);
}
