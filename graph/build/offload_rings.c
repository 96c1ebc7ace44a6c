/* Rings for microbatches that go through one virtual stage after another. */

#include "config.h"

#include "graph/build/offload.h"
#include "graph/build/offload_frontier.h"
#include "graph/build/offload_inputs.h"
#include "graph/build/offload_rings.h"
#include "graph/build/ring_life.h"
#include "graph/build/stage.h"

/* Returns whether all boxes that use the tensor are those of the last stage,
 * where B follows F at once. */
static bool is_of_last_stage(const struct mtlm_program *program,
                             const struct mtlm_ring_life *life)
{
    const int last = mtlm_layout_stages(&program->config.layout) - 1;

    for (int i = 0; i < life->n; i++)
        if (life->box[i].stage != last)
            return false;
    return !mtlm_program_is_ordered(&program->config);
}

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

/* Returns whether the tensor comes from another stage, and lives in no forward
 * pass. */
static bool is_gradient_between(const struct mtlm_tensor *tensor,
                                const struct mtlm_ring_life *life)
{
    for (int i = 0; i < life->n; i++)
        if (life->box[i].phase == MTLM_PHASE_FORWARD)
            return false;
    return tensor->received || outlives_box(life);
}

/* Part `part` of the gradients between stages, from the last stage to the
 * first. */
static void share_gradients(struct mtlm_program *program,
                            const struct mtlm_ring_life *life, int part)
{
    struct mtlm_offload_frontier frontier = {0};

    for (int c = program->config.layout.virtual_stages - 1; c >= 0; c--) {
        const struct mtlm_stage *stage = &program->stage[c];
        struct mtlm_tensor *output =
            stage->last ? NULL : stage->output.part[part];
        struct mtlm_tensor *grad =
            output && output->grad ? mtlm_tensor_owner(output->grad) : NULL;

        if (grad && is_gradient_between(grad, &life[grad->id]))
            mtlm_offload_frontier_join(program, &frontier, grad);
    }
}

/* Returns the input of a stage in a validation; NULL: the first stage. */
static struct mtlm_tensor *find_eval_input(const struct mtlm_program *program,
                                           int c, int part)
{
    const struct mtlm_list *eval = &program->stage[c].eval;

    if (c > 0 && program->stage[c - 1].stage + 1 == program->stage[c].stage)
        return program->stage[c - 1].eval_output.part[part];
    for (int i = 0; i < eval->n; i++)
        if (eval->node[i]->call.kind == MTLM_OP_RECV && part-- == 0)
            return eval->node[i]->operand[0];
    return NULL;
}

/* Part `part` of the activations between the stages of a validation. */
static void share_eval(struct mtlm_program *program, int part)
{
    struct mtlm_offload_frontier frontier = {0};

    for (int c = 0; c < program->config.layout.virtual_stages; c++) {
        struct mtlm_tensor *input = find_eval_input(program, c, part);

        if (input)
            mtlm_offload_frontier_join(program, &frontier, input);
    }
}

void mtlm_offload_rings_apply(struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    const struct mtlm_graph *graph = program->graph;
    const int n = graph->n_tensors;
    const int group = mtlm_offload_group(config);
    struct mtlm_ring_life *life = mtlm_ring_life_find(program);

    for (int i = 0; i < n; i++)
        if (outlives_box(&life[i]) && !is_of_last_stage(program, &life[i])
            && graph->tensor[i]->slots < group)
            graph->tensor[i]->slots = group;
    for (int k = 0; k < mtlm_stage_parts(config); k++) {
        if (!config->eval_only && !mtlm_program_is_ordered(config))
            share_gradients(program, life, k);
        if (config->eval_microbatches > 0)
            share_eval(program, k);
    }
    if (mtlm_offload_inputs_allowed(config))
        mtlm_offload_inputs_create(program);
    mtlm_ring_life_free(life, n);
}
