/* Makes weights, gradients and losses rings of versions, one slot for each
 * iteration in flight. */

#include "config.h"

#include <stdio.h>

#include "graph/build/version.h"

int mtlm_version_count(const struct mtlm_program_config *config)
{
    return config->weight_staleness && !config->eval_only ? MTLM_VERSIONS : 1;
}

void mtlm_version_add(const struct mtlm_program *program,
                      struct mtlm_tensor *tensor)
{
    const int versions = mtlm_version_count(&program->config);

    if (versions == 1)
        return;
    tensor->slots = versions;
    tensor->by_iteration = true;
}

void mtlm_version_place(const struct mtlm_program *program,
                        struct mtlm_tensor *tensor, size_t bytes)
{
    tensor->stride = (int64_t) bytes;
    mtlm_graph_widen(program->graph, tensor->block, tensor->slots * bytes);
}

struct mtlm_tensor *mtlm_version_before(struct mtlm_program *program,
                                        struct mtlm_tensor *weight)
{
    char name[176];
    struct mtlm_tensor *t;

    snprintf(name, sizeof(name), "%s.before", weight->name);
    t = mtlm_graph_tensor(program->graph, MTLM_STORE_PARAM, name, weight->shape,
                          weight->dtype);
    t->by_iteration = true;
    t->pool = weight;
    t->pool_size = 1;
    t->pool_index = 1; /* the slot of the iteration before, and of the next */
    return t;
}
