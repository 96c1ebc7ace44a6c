/* Describes submitted nodes to scheduling policies. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/dependencies.h"
#include "graph/run/watch.h"
#include "runtime/base/memory.h"

struct mtlm_run_watch {
    const struct mtlm_program *program;
    struct mtlm_dependencies *dependencies;
    struct mtlm_policy_times *times; /* [nodes of the graph] */
};

struct mtlm_run_watch *mtlm_run_watch_create(const struct mtlm_program *program)
{
    struct mtlm_run_watch *w;

    if (!mtlm_policy_nodes_wanted())
        return NULL;
    w = mtlm_calloc(1, sizeof(*w));
    w->program = program;
    w->dependencies = mtlm_dependencies_create(program->graph);
    w->times = mtlm_calloc(program->graph->all.n, sizeof(*w->times));
    return w;
}

void mtlm_run_watch_destroy(struct mtlm_run_watch *w)
{
    if (!w)
        return;
    mtlm_dependencies_destroy(w->dependencies);
    free(w->times);
    free(w);
}

static enum mtlm_policy_kind kind_of(const struct mtlm_node *node)
{
    switch (mtlm_ops[node->call.kind]->op_class) {
    case MTLM_CLASS_P2P:
        return node->call.kind == MTLM_OP_SEND ? MTLM_POLICY_SEND
                                               : MTLM_POLICY_RECEIVE;
    case MTLM_CLASS_COLLECTIVE:
        return MTLM_POLICY_COLLECTIVE;
    default:
        return MTLM_POLICY_TASK;
    }
}

struct mtlm_policy_node *mtlm_run_watch_node(struct mtlm_run_watch *w,
                                             const struct mtlm_item *item,
                                             int64_t use,
                                             const struct mtlm_record *record,
                                             int64_t modelled_ns)
{
    const struct mtlm_node *node = item->node;
    struct mtlm_policy_node about;
    struct mtlm_predecessors on;
    struct mtlm_policy_times *times;

    if (!w)
        return NULL;
    about = (struct mtlm_policy_node){
        .kind = kind_of(node),
        .lane = node->lane,
        .phase = node->phase,
        .name = mtlm_ops[node->call.kind]->name,
        .job = record->job,
        .iteration = record->iteration,
        .microbatch = record->microbatch,
        .stage = node->stage,
        .chunk = mtlm_layout_chunk(&w->program->config.layout, node->stage),
        .layer = node->layer,
        .peer = record->peer,
        .priority = record->priority,
        .flops = node->flops,
        .bytes = record->bytes};
    on = mtlm_dependencies_add(w->dependencies, node, use, item->lane,
                               record->job);
    times = &w->times[node->id];
    return mtlm_policy_nodes_add(&about, on.task, on.n, times, modelled_ns);
}
