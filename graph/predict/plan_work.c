/* The plan of a rank: tasks, operations and traffic. */

#include "config.h"

#include "graph/predict/plan_work.h"

static enum mtlm_op_class class_of(const struct mtlm_node *node)
{
    return mtlm_ops[node->call.kind]->op_class;
}

static double group_ranks(const struct mtlm_layout *layout,
                          enum mtlm_group group)
{
    switch (group) {
    case MTLM_GROUP_TP:
        return layout->tp;
    case MTLM_GROUP_DP:
        return layout->dp;
    case MTLM_GROUP_EMBEDDING:
        return layout->pp > 1 ? 2 : 1;
    default:
        return mtlm_layout_ranks(layout);
    }
}

enum mtlm_traffic_kind mtlm_plan_work_kind(const struct mtlm_node *node)
{
    if (class_of(node) == MTLM_CLASS_P2P)
        return MTLM_TRAFFIC_PP;
    switch (node->call.attr.collective.group) {
    case MTLM_GROUP_TP:
        return MTLM_TRAFFIC_TP;
    case MTLM_GROUP_DP:
        return MTLM_TRAFFIC_DP;
    case MTLM_GROUP_EMBEDDING:
        return MTLM_TRAFFIC_EMBEDDING;
    default:
        return MTLM_TRAFFIC_OTHER;
    }
}

/* Returns the bytes that a rank sends in a collective of n ranks (struct
 * mtlm_traffic). */
static double sent_bytes(const struct mtlm_node *node, double n)
{
    switch (node->call.kind) {
    case MTLM_OP_REDUCE_SCATTER:
    case MTLM_OP_BUCKET_REDUCE_SCATTER:
        return mtlm_node_bytes(node) * (n - 1) / n;
    case MTLM_OP_ALL_GATHER:
    case MTLM_OP_BUCKET_ALL_GATHER:
        return mtlm_node_bytes(node) * (n - 1);
    default:
        return mtlm_node_bytes(node) * 2 * (n - 1) / n;
    }
}

/* Adds a message that an iteration makes `times` times. */
static void add_message(const struct mtlm_program *program,
                        struct mtlm_plan *plan, const struct mtlm_node *node,
                        int64_t times)
{
    const union mtlm_attr *attr = &node->call.attr;
    double bytes = mtlm_node_bytes(node);
    const enum mtlm_traffic_kind kind = mtlm_plan_work_kind(node);

    if (mtlm_node_elems(node) > plan->longest) {
        plan->longest = mtlm_node_elems(node);
        plan->longest_name = mtlm_ops[node->call.kind]->name;
        plan->longest_kind = kind;
    }
    if (node->call.kind == MTLM_OP_RECV)
        return;
    if (class_of(node) == MTLM_CLASS_COLLECTIVE) {
        const double n =
            group_ranks(&program->config.layout, attr->collective.group);

        bytes = sent_bytes(node, n);
    }
    plan->traffic[kind].bytes += times * bytes;
    plan->traffic[kind].messages += times;
}

/* Adds list's nodes, each `times` times an iteration; returns the tasks. */
static int64_t add_list(const struct mtlm_program *program,
                        struct mtlm_plan *plan, const struct mtlm_list *list,
                        int64_t times)
{
    int64_t tasks = 0;

    for (int i = 0; i < list->n; i++) {
        const struct mtlm_node *node = list->node[i];

        if (class_of(node) == MTLM_CLASS_ALIAS)
            continue;
        tasks += times;
        plan->flops += times * node->flops;
        plan->recompute_flops += node->recomputes ? times * node->flops : 0;
        if (class_of(node) == MTLM_CLASS_P2P
            || class_of(node) == MTLM_CLASS_COLLECTIVE)
            add_message(program, plan, node, times);
    }
    return tasks;
}

double mtlm_plan_work_add(struct mtlm_plan *plan,
                          const struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    double eval = program->eval_tail_list.n;

    for (int c = 0; c < config->layout.virtual_stages; c++) {
        const struct mtlm_stage *stage = &program->stage[c];
        const struct mtlm_list *const train[] = {&stage->forward,
                                                 &stage->backward,
                                                 &stage->weight},
                                      *const validate[] = {&stage->eval};
        const struct mtlm_list *const *lists =
            config->eval_only ? validate : train;

        for (int i = 0; i < (config->eval_only ? 1 : 3); i++)
            plan->tasks +=
                add_list(program, plan, lists[i], config->microbatches);
        plan->tasks +=
            add_list(program, plan, &stage->step, config->decoding.sequences);
        plan->tasks += add_list(program, plan, &stage->pack, 1);
        plan->tasks += add_list(program, plan, &stage->reduce, 1);
        eval += (double) stage->eval.n * mtlm_program_piece(config);
        plan->layers += stage->n_layers;
    }
    plan->tasks += add_list(program, plan, &program->tail_list, 1);
    return eval;
}
