/* Selects the forward nodes to recompute and appends copies of them to a
 * list. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "graph/build/recompute.h"

/* ---- segments ---- */

static void add_segment(struct mtlm_segments *s, int begin, int end)
{
    s->segment = mtlm_realloc(s->segment, s->n + 1, sizeof(*s->segment));
    s->segment[s->n++] = (struct mtlm_segment){begin, end};
}

static bool is_attention(const struct mtlm_node *node)
{
    return node->call.kind == MTLM_OP_ATTENTION_FWD
           || node->call.kind == MTLM_OP_ATTENTION_MORE_FWD;
}

/* Returns whether node i is the core of attention or the projection behind the
 * core.  The projection is not recomputed; its weight gradient must read the
 * recomputed core. */
static bool is_core(const struct mtlm_list *forward, int i)
{
    return is_attention(forward->node[i])
           || (i > 0 && is_attention(forward->node[i - 1]));
}

/* Returns the group of node i; -1: the node's outputs are kept.  Nodes of a
 * group are consecutive. */
static int64_t group_of(const struct mtlm_recompute *recompute,
                        const struct mtlm_stage *stage, int i)
{
    const struct mtlm_node *node = stage->forward.node[i];
    const int64_t layer = node->layer - stage->first_layer;

    if (node->layer < 0)
        return -1;
    switch (recompute->granularity) {
    case MTLM_RECOMPUTE_SELECTIVE:
        return is_core(&stage->forward, i) ? layer : -1;
    case MTLM_RECOMPUTE_FULL:
        if (recompute->method == MTLM_RECOMPUTE_UNIFORM)
            return layer / recompute->num_layers;
        return layer < recompute->num_layers ? layer : -1;
    default:
        return -1;
    }
}

struct mtlm_segments mtlm_recompute_segments(
    const struct mtlm_recompute *recompute, const struct mtlm_stage *stage)
{
    const struct mtlm_list *forward = &stage->forward;
    struct mtlm_segments segments = {0};
    int begin = 0;

    for (int i = 1; i <= forward->n; i++) {
        const int64_t group = group_of(recompute, stage, begin);

        if (i < forward->n && group_of(recompute, stage, i) == group)
            continue;
        if (group >= 0)
            add_segment(&segments, begin, i);
        begin = i;
    }
    return segments;
}

void mtlm_segments_free(struct mtlm_segments *segments)
{
    free(segments->segment);
    *segments = (struct mtlm_segments){0};
}

/* ---- copies ---- */

struct need {
    struct mtlm_graph *graph;
    const struct mtlm_list *forward;
    struct mtlm_segment segment;
    bool whole;
    bool *written, *needed; /* [tensor id] */
};

static void need_values(struct need *need, const struct mtlm_node *node)
{
    const struct mtlm_grad *grad = &mtlm_ops[node->call.kind]->grad;

    for (int j = 0; j < 2; j++)
        for (int i = 0; grad->call[j].used && i < MTLM_MAX_OPERANDS; i++) {
            const struct mtlm_grad_arg *arg = &grad->call[j].arg[i];

            if (arg->source == MTLM_GRAD_VALUE || arg->source == MTLM_GRAD_OVER)
                need->needed[node->operand[arg->operand]->id] = true;
        }
}

/* Returns whether the node writes a tensor that the segment needs. */
static bool makes_needed(const struct need *need, const struct mtlm_node *node)
{
    const struct mtlm_op *op = mtlm_ops[node->call.kind];

    for (int i = 0; i < op->n_operands; i++)
        if (op->access[i] != MTLM_R && need->written[node->operand[i]->id]
            && need->needed[node->operand[i]->id])
            return true;
    return false;
}

/* Sets again[place in the segment]: the node is recomputed. */
static void mark_nodes(struct need *need, bool *again)
{
    const struct mtlm_list *forward = need->forward;

    for (int i = need->segment.begin; i < need->segment.end; i++) {
        const struct mtlm_node *node = forward->node[i];
        const struct mtlm_op *op = mtlm_ops[node->call.kind];

        for (int k = 0; k < op->n_operands; k++)
            if (op->access[k] == MTLM_W)
                need->written[node->operand[k]->id] = true;
        need_values(need, node);
    }
    for (int i = need->segment.end - 1; i >= need->segment.begin; i--) {
        const struct mtlm_node *node = forward->node[i];
        const struct mtlm_op *op = mtlm_ops[node->call.kind];

        again[i - need->segment.begin] =
            need->whole || makes_needed(need, node);
        for (int k = 0; again[i - need->segment.begin] && k < op->n_operands;
             k++)
            if (op->access[k] != MTLM_W)
                need->needed[node->operand[k]->id] = true;
    }
}

static struct mtlm_tensor *twin_of(struct mtlm_tensor *tensor,
                                   struct mtlm_tensor **twin)
{
    return twin[tensor->id] ? twin[tensor->id] : tensor;
}

static struct mtlm_tensor *new_twin(struct mtlm_graph *graph,
                                    const struct mtlm_tensor *tensor,
                                    struct mtlm_tensor **twin)
{
    struct mtlm_tensor *t =
        mtlm_graph_tensor(graph, MTLM_STORE_ACTIVATION, tensor->name,
                          tensor->shape, tensor->dtype);

    if (tensor->alias_of)
        t->alias_of = twin_of(tensor->alias_of, twin);
    t->grad = tensor->grad;
    return twin[tensor->id] = t;
}

void mtlm_recompute_node(struct mtlm_graph *graph, const struct mtlm_node *node,
                         struct mtlm_tensor **twin)
{
    const struct mtlm_op *op = mtlm_ops[node->call.kind];
    struct mtlm_tensor *given[MTLM_MAX_OPERANDS] = {0};

    for (int i = 0; i < op->n_operands; i++) {
        /* A copy must not add a second time to a tensor that was kept. */
        assert(op->access[i] != MTLM_RW || twin[node->operand[i]->id]);
        given[i] = op->access[i] == MTLM_W
                       ? new_twin(graph, node->operand[i], twin)
                       : twin_of(node->operand[i], twin);
    }
    mtlm_graph_call(graph, node->call.kind, &node->call.attr, given)
        ->recomputes = true;
}

void mtlm_recompute_again(struct mtlm_graph *graph,
                          const struct mtlm_list *forward,
                          struct mtlm_segment segment, bool whole,
                          struct mtlm_list *list, struct mtlm_tensor **twin)
{
    bool *again = mtlm_calloc(segment.end - segment.begin, sizeof(*again));
    struct need need = {.graph = graph,
                        .forward = forward,
                        .segment = segment,
                        .whole = whole,
                        .written = mtlm_calloc(graph->n_tensors, sizeof(bool)),
                        .needed = mtlm_calloc(graph->n_tensors, sizeof(bool))};

    mark_nodes(&need, again);
    for (int i = segment.begin; i < segment.end; i++) {
        const struct mtlm_node *node = forward->node[i];

        if (!again[i - segment.begin])
            continue;
        mtlm_graph_at(graph, list, MTLM_PHASE_BACKWARD, node->stage,
                      node->layer);
        mtlm_recompute_node(graph, node, twin);
    }
    free(need.written);
    free(need.needed);
    free(again);
}
