/* Builds and reads the task graph of one rank: tensors, nodes and lists of
 * nodes. */

#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"

struct mtlm_graph *mtlm_graph_create(void)
{
    return mtlm_calloc(1, sizeof(struct mtlm_graph));
}

static void free_node(struct mtlm_node *node)
{
    struct mtlm_call *call = node->call.next, *next;

    for (; call; call = next) {
        next = call->next;
        free(call);
    }
    free(node->extra.use);
    free(node);
}

void mtlm_graph_destroy(struct mtlm_graph *graph)
{
    if (!graph)
        return;
    for (int i = 0; i < graph->all.n; i++)
        free_node(graph->all.node[i]);
    mtlm_list_free(&graph->all);
    for (int i = 0; i < graph->n_tensors; i++) {
        free(graph->tensor[i]->name);
        free(graph->tensor[i]->slot_of);
        free(graph->tensor[i]);
    }
    free(graph->tensor);
    free(graph->block);
    free(graph);
}

void mtlm_graph_at(struct mtlm_graph *graph, struct mtlm_list *list,
                   enum mtlm_phase phase, int stage, int layer)
{
    graph->into = list;
    graph->phase = phase;
    graph->stage = stage;
    graph->layer = layer;
}

struct mtlm_tensor *mtlm_graph_tensor(struct mtlm_graph *graph,
                                      enum mtlm_storage storage,
                                      const char *name, struct mtlm_shape shape,
                                      enum mtlm_dtype dtype)
{
    struct mtlm_tensor *t = mtlm_calloc(1, sizeof(*t));

    graph->tensor = mtlm_make_room(graph->tensor, &graph->tensor_capacity,
                                   graph->n_tensors + 1, sizeof(t));
    *t = (struct mtlm_tensor){.name = mtlm_strdup(name),
                              .shape = shape,
                              .dtype = dtype,
                              .storage = storage,
                              .id = graph->n_tensors,
                              .slots = 1,
                              .block = -1,
                              .piece = -1,
                              .unit = -1,
                              .stage = graph->stage,
                              .first_use = graph->phase,
                              .last_use = graph->phase};
    return graph->tensor[graph->n_tensors++] = t;
}

int mtlm_graph_block(struct mtlm_graph *graph)
{
    graph->block =
        mtlm_realloc(graph->block, graph->n_blocks + 1, sizeof(*graph->block));
    graph->block[graph->n_blocks] = 0;
    return graph->n_blocks++;
}

void mtlm_graph_widen(struct mtlm_graph *graph, int block, size_t bytes)
{
    if (graph->block[block] < bytes)
        graph->block[block] = bytes;
}

void mtlm_graph_place(struct mtlm_graph *graph, struct mtlm_tensor *tensor,
                      int block, int64_t offset)
{
    tensor->block = block;
    tensor->offset = offset;
    mtlm_graph_widen(graph, block, offset + mtlm_tensor_bytes(tensor));
}

void mtlm_list_append(struct mtlm_list *list, struct mtlm_node *node)
{
    list->node =
        mtlm_make_room(list->node, &list->capacity, list->n + 1, sizeof(node));
    list->node[list->n++] = node;
}

void mtlm_list_free(struct mtlm_list *list)
{
    free(list->node);
    *list = (struct mtlm_list){0};
}

static enum mtlm_lane lane_of(const struct mtlm_node *node)
{
    switch (mtlm_ops[node->call.kind]->op_class) {
    case MTLM_CLASS_P2P:
        return MTLM_LANE_PP;
    case MTLM_CLASS_COLLECTIVE:
        return node->call.attr.collective.group == MTLM_GROUP_TP ? MTLM_LANE_TP
                                                                 : MTLM_LANE_DP;
    case MTLM_CLASS_DISK:
        return MTLM_LANE_DISK;
    default:
        return MTLM_LANE_COMPUTE;
    }
}

/* Notes the phase of a ring's last use. */
static void note_use(const struct mtlm_graph *graph, struct mtlm_tensor *t)
{
    t = mtlm_tensor_owner(t);
    if (t->last_use < graph->phase)
        t->last_use = graph->phase;
}

/* Returns the type of the first given operand that the table leaves open.
 */
static enum mtlm_dtype value_of(const struct mtlm_op *op,
                                struct mtlm_tensor *const given[])
{
    for (int i = 0; i < op->n_operands; i++)
        if (given[i] && op->dtype[i] == MTLM_VALUE)
            return given[i]->dtype;
    return MTLM_REAL;
}

struct mtlm_node *mtlm_graph_call(struct mtlm_graph *graph,
                                  enum mtlm_op_kind kind,
                                  const union mtlm_attr *attr,
                                  struct mtlm_tensor *const given[])
{
    const struct mtlm_op *op = mtlm_ops[kind];
    struct mtlm_node *node = mtlm_calloc(1, sizeof(*node));
    struct mtlm_error err;

    node->id = graph->all.n;
    node->call.kind = kind;
    node->call.value = value_of(op, given);
    if (attr)
        node->call.attr = *attr;
    for (int i = 0; i < op->n_operands; i++) {
        assert(given[i] ? given[i]->dtype == mtlm_call_dtype(&node->call, i)
                        : op->access[i] == MTLM_W);
        node->operand[i] = given[i];
        if (given[i])
            node->call.shape[i] = given[i]->shape;
    }
    if (mtlm_call_infer(&node->call, &err) < 0)
        mtlm_fatal(__FILE__, __LINE__, "%s", err.text);
    for (int i = 0; i < op->n_operands; i++)
        if (!given[i]) {
            char name[64];

            snprintf(name, sizeof(name), "%s.%d", op->name, i);
            node->operand[i] = mtlm_graph_tensor(
                graph, MTLM_STORE_ACTIVATION, name, node->call.shape[i],
                mtlm_call_dtype(&node->call, i));
        }
    for (int i = 0; i < op->n_operands; i++)
        note_use(graph, node->operand[i]);
    node->phase = graph->phase;
    node->stage = graph->stage;
    node->layer = graph->layer;
    node->lane = lane_of(node);
    node->flops = mtlm_call_flops(&node->call);
    node->bytes = mtlm_call_bytes(&node->call);
    mtlm_list_append(&graph->all, node);
    mtlm_list_append(graph->into, node);
    return node;
}

/* Moves the last use to place `to`: operands come before control uses. */
static void move_last_use(struct mtlm_uses *uses, int to)
{
    const struct mtlm_use last = uses->use[uses->n - 1];

    memmove(&uses->use[to + 1], &uses->use[to],
            (uses->n - 1 - to) * sizeof(last));
    uses->use[to] = last;
}

void mtlm_graph_add_call(struct mtlm_node *node, const union mtlm_attr *attr,
                         struct mtlm_tensor *const given[])
{
    const struct mtlm_op *op = mtlm_ops[node->call.kind];
    struct mtlm_call *call = mtlm_calloc(1, sizeof(*call)), *last = &node->call;
    int end = mtlm_call_n_operands(&node->call) - op->n_operands;
    struct mtlm_error err;

    *call = (struct mtlm_call){.kind = last->kind, .value = last->value};
    if (attr)
        call->attr = *attr;
    for (int i = 0; i < op->n_operands; i++) {
        assert(given[i]->dtype == mtlm_call_dtype(call, i));
        assert(!op->shared[i] || given[i] == node->operand[i]);
        call->shape[i] = given[i]->shape;
        if (!op->shared[i]) {
            mtlm_node_add_use(node, given[i], op->access[i], false);
            move_last_use(&node->extra, end++);
        }
    }
    if (mtlm_call_infer(call, &err) < 0)
        mtlm_fatal(__FILE__, __LINE__, "%s", err.text);
    while (last->next)
        last = last->next;
    last->next = call;
    node->flops = mtlm_call_flops(&node->call);
    node->bytes = mtlm_call_bytes(&node->call);
}

void mtlm_node_add_use(struct mtlm_node *node, struct mtlm_tensor *tensor,
                       enum mtlm_access access, bool control)
{
    struct mtlm_uses *extra = &node->extra;

    extra->use = mtlm_make_room(extra->use, &extra->capacity, extra->n + 1,
                                sizeof(*extra->use));
    extra->use[extra->n++] = (struct mtlm_use){tensor, access, control};
    tensor = mtlm_tensor_owner(tensor);
    if (tensor->last_use < node->phase)
        tensor->last_use = node->phase;
}

enum mtlm_phase mtlm_node_pass(const struct mtlm_node *node)
{
    return node->with_backward ? MTLM_PHASE_BACKWARD : node->phase;
}

int mtlm_node_n_uses(const struct mtlm_node *node)
{
    return mtlm_ops[node->call.kind]->n_operands + node->extra.n;
}

struct mtlm_use mtlm_node_use(const struct mtlm_node *node, int i)
{
    const struct mtlm_op *op = mtlm_ops[node->call.kind];

    if (i < op->n_operands)
        return (struct mtlm_use){node->operand[i], op->access[i],
                                 op->untouched[i]};
    return node->extra.use[i - op->n_operands];
}

int64_t mtlm_node_elems(const struct mtlm_node *node)
{
    return mtlm_ops[node->call.kind]->n_operands
               ? mtlm_shape_elems(&node->call.shape[0])
               : node->call.attr.collective.count;
}

double mtlm_node_bytes(const struct mtlm_node *node)
{
    const enum mtlm_op_class class = mtlm_ops[node->call.kind]->op_class;

    return class == MTLM_CLASS_P2P || class == MTLM_CLASS_COLLECTIVE
               ? (double) mtlm_node_elems(node)
                     * mtlm_dtype_bytes(mtlm_node_use(node, 0).tensor->dtype)
               : node->bytes;
}

struct mtlm_slot mtlm_tensor_slot(const struct mtlm_tensor *tensor, int64_t use)
{
    while (tensor->alias_of)
        tensor = tensor->alias_of;
    if (tensor->slot_of)
        return (struct mtlm_slot){tensor->pool,
                                  tensor->slot_of[use % tensor->n_slot_of]};
    if (tensor->pool) {
        use = use * tensor->pool_size + tensor->pool_index;
        tensor = tensor->pool;
    }
    return (struct mtlm_slot){tensor, use % tensor->slots};
}

double mtlm_tensor_bytes(const struct mtlm_tensor *tensor)
{
    return (double) mtlm_tensor_elems(tensor) * mtlm_dtype_bytes(tensor->dtype);
}
