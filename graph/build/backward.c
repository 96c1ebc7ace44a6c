/* Reverse-mode differentiation over a list of nodes.  Gradient rules are data
 * of the operation table; no switch over operations exists. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "graph/build/backward.h"

/* kind_add 0 means: the rule has no such kind. */
_Static_assert(MTLM_OP_BATCH == 0, "no gradient rule may add by operation 0");

struct walk {
    struct mtlm_graph *graph;
    struct mtlm_list *backward, *weight;
    bool joins; /* calls that add to one gradient of a weight share a node */
    bool again; /* the forward node stands in a segment that is recomputed */
    /* [tensor id] the recomputed tensor that replaces the forward tensor; NULL:
     * none. */
    struct mtlm_tensor **twin;
    /* [n_tensors] the all-gather that made the tensor; NULL: none. */
    const struct mtlm_node **gather;
    int n_tensors; /* of the forward pass */
};

static void set_place(const struct walk *walk, const struct mtlm_node *forward,
                      enum mtlm_grad_phase phase)
{
    const bool b = phase == MTLM_GRAD_B;

    mtlm_graph_at(walk->graph, b || walk->again ? walk->backward : walk->weight,
                  b ? MTLM_PHASE_BACKWARD : MTLM_PHASE_WEIGHT, forward->stage,
                  forward->layer);
}

/* Adds gradient to the tensor's gradient.  A tensor without a gradient takes
 * this one. */
static void add_gradient(const struct walk *walk, struct mtlm_tensor *tensor,
                         struct mtlm_tensor *gradient)
{
    if (!tensor->grad)
        tensor->grad = gradient;
    else if (tensor->grad != gradient)
        mtlm_graph_call(walk->graph, MTLM_OP_ADD, NULL,
                        (struct mtlm_tensor *[]){gradient, tensor->grad});
}

static bool is_leaf(const struct mtlm_tensor *tensor)
{
    return tensor->storage == MTLM_STORE_PARAM;
}

/* Returns whether the rule's call would overwrite an existing gradient. */
static bool must_add(const struct mtlm_grad_call *rule,
                     const struct mtlm_node *forward)
{
    const struct mtlm_op *op = mtlm_ops[rule->kind];

    for (int i = 0; i < op->n_operands; i++)
        if (rule->arg[i].source == MTLM_GRAD_OF && op->access[i] == MTLM_W
            && forward->operand[rule->arg[i].operand]->grad)
            return true;
    return false;
}

struct mtlm_tensor *mtlm_backward_zeros(struct mtlm_graph *graph,
                                        const struct mtlm_tensor *like)
{
    const union mtlm_attr zero = {.fill = {0}};
    struct mtlm_tensor *gradient = mtlm_graph_tensor(
        graph, MTLM_STORE_ACTIVATION, "gradient", like->shape, like->dtype);

    mtlm_graph_call(graph, MTLM_OP_FILL, &zero,
                    (struct mtlm_tensor *[]){gradient});
    return gradient;
}

/* Returns t, gathered again if an all-gather made t: gathered tensors are not
 * kept for weight gradients (arXiv 2205.05198, section 4.2.2). */
static struct mtlm_tensor *gather_again(const struct walk *walk,
                                        struct mtlm_tensor *t)
{
    /* Tensors that the backward pass made have higher numbers. */
    if (t->id >= walk->n_tensors || !walk->gather[t->id])
        return t;
    mtlm_recompute_node(walk->graph, walk->gather[t->id], walk->twin);
    return walk->twin[t->id];
}

/* Returns the operand of a gradient call; NULL: the call makes the operand. */
static struct mtlm_tensor *make_argument(const struct walk *walk,
                                         const struct mtlm_grad_arg *arg,
                                         enum mtlm_access access,
                                         const struct mtlm_node *forward)
{
    struct mtlm_tensor *t = forward->operand[arg->operand];

    switch (arg->source) {
    case MTLM_GRAD_VALUE:
        return t;
    case MTLM_GRAD_OVER:
        t->grad = t;
        return t;
    case MTLM_GRAD_OF:
        if (access == MTLM_W)
            return NULL;
        if (access == MTLM_RW && !t->grad)
            t->grad = mtlm_backward_zeros(walk->graph, t);
        assert(t->grad);
        return t->grad;
    case MTLM_GRAD_END:
        break;
    }
    assert(!"a gradient rule has fewer arguments than its operation");
    return NULL;
}

/* Returns the node of weight, of the same layer, to whose shared operands a
 * call of kind would add; NULL: none. */
static struct mtlm_node *find_sharer(const struct walk *walk,
                                     enum mtlm_op_kind kind, int layer,
                                     struct mtlm_tensor *const given[])
{
    const struct mtlm_op *op = mtlm_ops[kind];

    for (int k = walk->weight->n - 1; k >= 0; k--) {
        struct mtlm_node *node = walk->weight->node[k];
        int same = 0;

        if (node->layer != layer)
            break;
        for (int i = 0; i < op->n_operands && node->call.kind == kind; i++)
            same += op->shared[i] && node->operand[i] == given[i];
        if (same > 0)
            return node;
    }
    return NULL;
}

/* Adds the call, to the node that shares its gradients if calls are joined.
 * Calls that read recomputed tensors stay apart: each goes with its part of B.
 * Returns the node. */
static struct mtlm_node *append_call(const struct walk *walk,
                                     const struct mtlm_grad_call *rule,
                                     enum mtlm_op_kind kind,
                                     const struct mtlm_node *forward,
                                     struct mtlm_tensor *const given[])
{
    const bool w = rule->phase == MTLM_GRAD_W;
    struct mtlm_node *node =
        walk->joins && w && !walk->again
            ? find_sharer(walk, kind, forward->layer, given)
            : NULL;

    if (node) {
        mtlm_graph_add_call(node, &forward->call.attr, given);
        return node;
    }
    node = mtlm_graph_call(walk->graph, kind, &forward->call.attr, given);
    node->with_backward = w && walk->again;
    return node;
}

static void apply_rule(const struct walk *walk,
                       const struct mtlm_grad_call *rule,
                       const struct mtlm_node *forward)
{
    const bool fused = rule->kind_add && must_add(rule, forward);
    const enum mtlm_op_kind kind = fused ? rule->kind_add : rule->kind;
    const struct mtlm_op *op = mtlm_ops[kind];
    struct mtlm_tensor *given[MTLM_MAX_OPERANDS] = {0};
    struct mtlm_node *node;

    set_place(walk, forward, rule->phase);
    for (int i = 0; i < op->n_operands; i++)
        given[i] = make_argument(walk, &rule->arg[i], op->access[i], forward);
    for (int i = 0; i < op->n_operands && rule->phase == MTLM_GRAD_W; i++)
        if (rule->arg[i].source == MTLM_GRAD_VALUE)
            given[i] = gather_again(walk, given[i]);
    node = append_call(walk, rule, kind, forward, given);
    for (int i = 0; i < op->n_operands; i++)
        if (!given[i])
            add_gradient(walk, forward->operand[rule->arg[i].operand],
                         node->operand[i]);
}

static void pass_gradients(const struct walk *walk,
                           const struct mtlm_node *forward)
{
    const struct mtlm_op *op = mtlm_ops[forward->call.kind];

    for (int i = 0; i < op->n_operands; i++) {
        struct mtlm_tensor *gradient;

        if (!op->grad.pass[i].used)
            continue;
        gradient = forward->operand[op->grad.pass[i].from]->grad;
        set_place(walk, forward, MTLM_GRAD_B);
        if (op->grad.reduce)
            mtlm_graph_call(walk->graph, MTLM_OP_ALL_REDUCE,
                            &forward->call.attr,
                            (struct mtlm_tensor *[]){gradient});
        add_gradient(walk, forward->operand[i], gradient);
    }
}

/* Returns whether a gradient reaches the node: the node is a loss, or one of
 * its outputs has a gradient. */
static bool has_gradient(const struct mtlm_node *forward)
{
    const struct mtlm_op *op = mtlm_ops[forward->call.kind];

    if (op->grad.root)
        return true;
    for (int i = 0; i < op->n_operands; i++)
        if (op->access[i] != MTLM_R && forward->operand[i]->grad
            && !is_leaf(forward->operand[i]))
            return true;
    return false;
}

/* Returns the node with recomputed operands in place of discarded ones. */
static struct mtlm_node substitute_twins(const struct walk *walk,
                                         const struct mtlm_node *forward)
{
    struct mtlm_node node = *forward;

    for (int i = 0; i < mtlm_ops[node.call.kind]->n_operands; i++)
        if (walk->twin[node.operand[i]->id])
            node.operand[i] = walk->twin[node.operand[i]->id];
    return node;
}

static void differentiate(const struct walk *walk,
                          const struct mtlm_node *forward)
{
    const struct mtlm_grad *grad = &mtlm_ops[forward->call.kind]->grad;
    const struct mtlm_node node = substitute_twins(walk, forward);

    if (!has_gradient(&node))
        return;
    for (int i = 0; i < 2; i++)
        if (grad->call[i].used)
            apply_rule(walk, &grad->call[i], &node);
    pass_gradients(walk, &node);
}

void mtlm_backward_build(struct mtlm_graph *graph,
                         const struct mtlm_list *forward,
                         const struct mtlm_segments *segments,
                         struct mtlm_list *backward, struct mtlm_list *weight,
                         bool joins)
{
    struct walk walk = {graph,
                        backward,
                        weight,
                        joins && weight != backward,
                        false,
                        mtlm_calloc(graph->n_tensors, sizeof(*walk.twin)),
                        mtlm_calloc(graph->n_tensors, sizeof(*walk.gather)),
                        graph->n_tensors};
    int next = segments ? segments->n - 1 : -1;

    for (int i = 0; i < forward->n; i++)
        if (forward->node[i]->call.kind == MTLM_OP_ALL_GATHER)
            walk.gather[forward->node[i]->operand[1]->id] = forward->node[i];
    for (int i = forward->n - 1; i >= 0; i--) {
        if (next >= 0 && segments->segment[next].end - 1 == i)
            mtlm_recompute_again(graph, forward, segments->segment[next--],
                                 segments->whole, backward, walk.twin);
        walk.again = weight != backward && segments && next + 1 < segments->n
                     && segments->segment[next + 1].begin <= i;
        differentiate(&walk, forward->node[i]);
    }
    free(walk.gather);
    free(walk.twin);
}
