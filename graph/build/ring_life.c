/* Finds the boxes that use each activation. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/ring_life.h"
#include "runtime/base/memory.h"

static void note_use(struct mtlm_ring_life *life, int stage,
                     enum mtlm_phase phase)
{
    for (int i = 0; i < life->n; i++)
        if (life->box[i].stage == stage && life->box[i].phase == phase)
            return;
    life->box = mtlm_realloc(life->box, life->n + 1, sizeof(*life->box));
    life->box[life->n++] = (struct mtlm_box){phase, stage, 0, 0};
}

static void note_list(struct mtlm_ring_life *life, const struct mtlm_list *list,
                      int stage, enum mtlm_phase phase)
{
    for (int i = 0; i < list->n; i++)
        for (int k = 0; k < mtlm_node_n_uses(list->node[i]); k++) {
            const struct mtlm_tensor *t =
                mtlm_tensor_owner(mtlm_node_use(list->node[i], k).tensor);

            if (t->storage == MTLM_STORE_ACTIVATION)
                note_use(&life[t->id], stage, phase);
        }
}

struct mtlm_ring_life *mtlm_ring_life_find(const struct mtlm_program *program)
{
    struct mtlm_ring_life *life =
        mtlm_calloc(program->graph->n_tensors, sizeof(*life));

    for (int c = 0; c < program->config.layout.virtual_stages; c++) {
        const struct mtlm_stage *stage = &program->stage[c];

        note_list(life, &stage->forward, stage->stage, MTLM_PHASE_FORWARD);
        note_list(life, &stage->backward, stage->stage, MTLM_PHASE_BACKWARD);
        note_list(life, &stage->weight, stage->stage, MTLM_PHASE_WEIGHT);
    }
    return life;
}

void mtlm_ring_life_free(struct mtlm_ring_life *life, int n)
{
    for (int i = 0; i < n; i++)
        free(life[i].box);
    free(life);
}
