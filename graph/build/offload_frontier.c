/* Deals out the slots of rings between stages. */

#include "config.h"

#include "graph/build/offload.h"
#include "graph/build/offload_frontier.h"

int mtlm_offload_frontier_spare(const struct mtlm_program_config *config)
{
    return MTLM_OFFLOAD_SLOTS - 1 + config->layout.workers;
}

int mtlm_offload_frontier_slots(const struct mtlm_program_config *config)
{
    const int group = mtlm_offload_group(config);
    const int spare = mtlm_offload_frontier_spare(config);

    return group + (group < spare ? group : spare);
}

static struct mtlm_tensor *create_ring(struct mtlm_program *program,
                                       const struct mtlm_tensor *like)
{
    struct mtlm_tensor *ring;

    program->graph->stage = like->stage;
    program->graph->phase = like->first_use;
    ring = mtlm_graph_tensor(program->graph, MTLM_STORE_ACTIVATION,
                             "ring between stages", like->shape, like->dtype);
    ring->slots = mtlm_offload_frontier_slots(&program->config);
    ring->last_use = like->last_use;
    return ring;
}

void mtlm_offload_frontier_join(struct mtlm_program *program,
                                struct mtlm_offload_frontier *frontier,
                                struct mtlm_tensor *tensor)
{
    const int64_t group = mtlm_offload_group(&program->config);

    tensor = mtlm_tensor_owner(tensor);
    if (!frontier->ring)
        frontier->ring = create_ring(program, tensor);
    tensor->pool = frontier->ring;
    tensor->pool_size = 1;
    tensor->pool_index =
        (int) (frontier->members++ * group % frontier->ring->slots);
}
