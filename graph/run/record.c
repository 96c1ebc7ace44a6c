/* Adds dependencies, data uses and message matches of submitted nodes to a
 * trace. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "graph/build/dependencies.h"
#include "graph/build/stage.h"
#include "graph/build/tensor_layer.h"
#include "graph/run/record.h"
#include "runtime/base/memory.h"

struct mtlm_run_record {
    const struct mtlm_program *program;
    struct mtlm_recorder *recorder;
    int64_t met[MTLM_GROUP_COUNT]; /* collectives so far */
    int64_t lists;                 /* so far */
    /* NULL while nodes are not recorded. */
    struct mtlm_dependencies *dependencies;
    bool has_data; /* the recorder has the table of data */
};

struct mtlm_run_record *mtlm_run_record_create(
    const struct mtlm_program *program, struct mtlm_recorder *recorder)
{
    struct mtlm_run_record *r = mtlm_calloc(1, sizeof(*r));

    r->program = program;
    r->recorder = recorder;
    return r;
}

void mtlm_run_record_destroy(struct mtlm_run_record *r)
{
    if (!r)
        return;
    mtlm_dependencies_destroy(r->dependencies);
    free(r);
}

/* Adds all slots to the recorder, in the order of
 * mtlm_dependencies_first_slot(). */
static void add_data(struct mtlm_run_record *r)
{
    const struct mtlm_graph *graph = r->program->graph;
    int *layer = mtlm_tensor_layers(r->program);

    for (int i = 0; i < graph->n_tensors; i++) {
        const struct mtlm_tensor *t = graph->tensor[i];
        struct mtlm_record_data data = {.bytes = mtlm_tensor_bytes(t),
                                        .layer = layer[i]};

        if (!mtlm_tensor_is_owner(t))
            continue;
        snprintf(data.name, sizeof(data.name), "%s", t->name);
        for (data.slot = 0; data.slot < t->slots; data.slot++)
            mtlm_recorder_add_data(r->recorder, &data);
    }
    free(layer);
}

void mtlm_run_record_list(struct mtlm_run_record *r, bool recorded)
{
    r->lists++;
    if (!recorded) {
        mtlm_dependencies_destroy(r->dependencies);
        r->dependencies = NULL;
        return;
    }
    if (!r->dependencies)
        r->dependencies = mtlm_dependencies_create(r->program->graph);
    if (!r->has_data)
        add_data(r);
    r->has_data = true;
}

/* Returns a number that matching nodes of all ranks share.  The remainder
 * modulo `kinds` tells kinds apart: the collectives of each group, and sends
 * with receives. */
static int64_t match_of(struct mtlm_run_record *r, const struct mtlm_item *item)
{
    const struct mtlm_program_config *config = &r->program->config;
    const struct mtlm_call *call = &item->node->call;
    const int64_t kinds = MTLM_GROUP_COUNT + 1;
    const int64_t most = config->microbatches > config->eval_microbatches
                             ? config->microbatches
                             : config->eval_microbatches;
    const int64_t tags =
        (int64_t) mtlm_stage_tags(config) * mtlm_layout_stages(&config->layout);

    switch (mtlm_ops[call->kind]->op_class) {
    case MTLM_CLASS_COLLECTIVE:
        return r->met[call->attr.collective.group]++ * kinds
               + call->attr.collective.group;
    case MTLM_CLASS_P2P:
        return ((r->lists * (most + 1) + item->microbatch + 1) * tags
                + call->attr.p2p.tag)
                   * kinds
               + MTLM_GROUP_COUNT;
    default:
        return -1;
    }
}

static void add_node(struct mtlm_run_record *r, const struct mtlm_node *node,
                     const struct mtlm_submission *submission, int64_t job)
{
    const struct mtlm_predecessors before =
        mtlm_dependencies_add(r->dependencies, node, submission, job);

    for (int i = 0; i < before.n; i++)
        mtlm_recorder_add_edge(
            r->recorder,
            &(struct mtlm_record_edge){.job = job, .on = before.task[i]});
    for (int i = 0; i < mtlm_node_n_uses(node); i++) {
        const struct mtlm_use u = mtlm_node_use(node, i);
        const struct mtlm_slot at =
            mtlm_tensor_slot(u.tensor, mtlm_tensor_use(u.tensor, submission));

        mtlm_recorder_add_use(
            r->recorder,
            &(struct mtlm_record_use){
                .job = job,
                .data = mtlm_dependencies_first_slot(r->dependencies, at.owner)
                        + at.slot,
                .access = u.access});
    }
}

void mtlm_run_record_node(struct mtlm_run_record *r,
                          const struct mtlm_item *item, int64_t use,
                          struct mtlm_record *record)
{
    const struct mtlm_call *call = &item->node->call;
    const struct mtlm_submission at = {use, record->iteration, item->lane};

    record->match = match_of(r, item);
    if (mtlm_ops[call->kind]->op_class == MTLM_CLASS_COLLECTIVE) {
        record->group = call->attr.collective.group;
        record->group_root =
            mtlm_layout_root(&r->program->config.layout, record->group);
    }
    if (r->dependencies)
        add_node(r, item->node, &at, record->job);
}
