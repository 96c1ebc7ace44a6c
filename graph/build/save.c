/* Builds the nodes that copy this rank's share of a checkpoint. */

#include "config.h"

#include <stdio.h>

#include "graph/build/bucket.h"
#include "graph/build/save.h"

static void append_copy(struct mtlm_program *program, struct mtlm_parameter *p,
                        enum mtlm_saved what, struct mtlm_tensor *tensor)
{
    struct mtlm_graph *graph = program->graph;
    struct mtlm_tensor *given[2] = {tensor};
    char name[200];

    snprintf(name, sizeof(name), "%s.saved", tensor->name);
    mtlm_graph_at(graph, &program->save_list, MTLM_PHASE_SAVE, p->weight->stage,
                  (int) p->layer);
    given[1] = p->saved[what] = mtlm_graph_tensor(graph, MTLM_STORE_SAVED, name,
                                                  tensor->shape, tensor->dtype);
    mtlm_graph_call(graph, MTLM_OP_SAVE, NULL, given);
}

void mtlm_save_build(struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    const struct mtlm_layout *l = &config->layout;
    const bool pieces = mtlm_buckets_sharded(config); /* moments are cut */

    for (int i = 0; i < program->n_params; i++) {
        struct mtlm_parameter *p = &program->param[i];
        const bool mine = p->number % l->dp == l->dp_rank;

        if (!p->counted)
            continue; /* another rank has the same */
        if (p->weight->dtype == MTLM_REAL && mine)
            append_copy(program, p, MTLM_SAVED_VALUE, p->weight);
        if (p->master && (mine || pieces))
            append_copy(program, p, MTLM_SAVED_VALUE, p->master);
        if (config->save == MTLM_SAVE_ALL && p->m && (mine || pieces)) {
            append_copy(program, p, MTLM_SAVED_M, p->m);
            append_copy(program, p, MTLM_SAVED_V, p->v);
        }
        if (config->save == MTLM_SAVE_ALL && p->before && mine)
            append_copy(program, p, MTLM_SAVED_BEFORE, p->before);
    }
}
