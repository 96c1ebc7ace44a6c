/* Rings for microbatches that go through one virtual stage after another. */

#include "config.h"

#include "graph/build/offload.h"
#include "graph/build/offload_rings.h"
#include "graph/build/ring_life.h"
#include "graph/build/stage.h"

/* Returns whether the tensor outlives a box. */
static bool outlives_box(const struct mtlm_ring_life *life)
{
    for (int i = 1; i < life->n; i++)
        if (life->box[i].stage != life->box[0].stage
            || (life->box[i].phase == MTLM_PHASE_FORWARD)
                   != (life->box[0].phase == MTLM_PHASE_FORWARD))
            return true;
    return false;
}

/* Returns whether the tensor lives in several stages, and in no forward
 * pass. */
static bool is_gradient_between(const struct mtlm_ring_life *life)
{
    for (int i = 0; i < life->n; i++)
        if (life->box[i].phase == MTLM_PHASE_FORWARD)
            return false;
    return outlives_box(life);
}

/* Makes the tensor between stages k and k + 1 use every second slot of *ring,
 * which the first call creates. */
static void join(struct mtlm_program *program, struct mtlm_tensor **ring,
                 struct mtlm_tensor *tensor, int k)
{
    tensor = mtlm_tensor_owner(tensor);
    if (!*ring) {
        program->graph->stage = tensor->stage;
        program->graph->phase = tensor->first_use;
        *ring = mtlm_graph_tensor(program->graph, MTLM_STORE_ACTIVATION,
                                  "ring between stages", tensor->shape,
                                  tensor->dtype);
        (*ring)->slots = 2 * mtlm_offload_group(&program->config);
        (*ring)->last_use = tensor->last_use;
    }
    tensor->pool = *ring;
    tensor->pool_size = 2;
    tensor->pool_index = k % 2;
}

/* Part `part` of what goes from stage to stage on this rank. */
static void share_part(struct mtlm_program *program,
                       const struct mtlm_ring_life *life, int part)
{
    struct mtlm_tensor *gradients = NULL, *outputs = NULL;
    const struct mtlm_program_config *config = &program->config;

    for (int c = 0; c + 1 < config->layout.virtual_stages; c++) {
        const struct mtlm_stage *stage = &program->stage[c];
        struct mtlm_tensor *output =
            config->eval_only || stage->last ? NULL : stage->output.part[part];
        struct mtlm_tensor *grad =
            output && output->grad ? mtlm_tensor_owner(output->grad) : NULL;

        if (grad && is_gradient_between(&life[grad->id]))
            join(program, &gradients, grad, stage->stage);
        if (config->eval_microbatches > 0 && !stage->last
            && program->stage[c + 1].stage == stage->stage + 1)
            join(program, &outputs, stage->eval_output.part[part],
                 stage->stage);
    }
}

void mtlm_offload_rings_apply(struct mtlm_program *program)
{
    const struct mtlm_graph *graph = program->graph;
    const int n = graph->n_tensors;
    const int group = mtlm_offload_group(&program->config);
    struct mtlm_ring_life *life = mtlm_ring_life_find(program);

    for (int i = 0; i < n; i++)
        if (outlives_box(&life[i]) && graph->tensor[i]->slots < group)
            graph->tensor[i]->slots = group;
    for (int k = 0; k < mtlm_stage_parts(&program->config); k++)
        share_part(program, life, k);
    mtlm_ring_life_free(life, n);
}
