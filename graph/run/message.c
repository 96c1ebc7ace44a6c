/* Describes communication nodes as messages of the engine. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "graph/run/message.h"
#include "runtime/base/memory.h"

static enum mtlm_message_kind kind_of(enum mtlm_op_kind kind)
{
    switch (kind) {
    case MTLM_OP_SEND:
        return MTLM_SEND;
    case MTLM_OP_RECV:
        return MTLM_RECV;
    case MTLM_OP_REDUCE_SCATTER:
    case MTLM_OP_BUCKET_REDUCE_SCATTER:
        return MTLM_REDUCE_SCATTER;
    case MTLM_OP_ALL_GATHER:
    case MTLM_OP_BUCKET_ALL_GATHER:
        return MTLM_ALL_GATHER;
    default:
        return MTLM_ALL_REDUCE;
    }
}

/* Part of a message that a use belongs to; ORDER: control uses. */
enum part { SENT, RECEIVED, ORDER };

static enum part part_of(const struct mtlm_node *node, struct mtlm_use use)
{
    const enum mtlm_message_kind kind = kind_of(node->call.kind);

    if (use.control)
        return ORDER;
    return use.access == MTLM_W && kind != MTLM_RECV ? RECEIVED : SENT;
}

/* Writes the handles of that part and returns their number. */
static int collect_handles(const struct mtlm_run_data *data,
                           const struct mtlm_node *node,
                           const struct mtlm_submission *at, enum part part,
                           starpu_data_handle_t *handles)
{
    int n = 0;

    for (int i = 0; i < mtlm_node_n_uses(node); i++) {
        const struct mtlm_use use = mtlm_node_use(node, i);

        if (part_of(node, use) == part)
            handles[n++] = mtlm_run_data_handle(data, use.tensor, at);
    }
    return n;
}

/* A write leaves the data as it is. */
int mtlm_run_message_control(const struct mtlm_run_data *data,
                             const struct mtlm_node *node,
                             const struct mtlm_submission *at,
                             struct starpu_data_descr *control)
{
    int n = 0;

    for (int i = 0; i < mtlm_node_n_uses(node); i++) {
        const struct mtlm_use use = mtlm_node_use(node, i);

        if (part_of(node, use) == ORDER)
            control[n++] = (struct starpu_data_descr){
                mtlm_run_data_handle(data, use.tensor, at),
                use.access == MTLM_R ? STARPU_R : STARPU_RW};
    }
    return n;
}

/* Leaves one of n handles in a list; the others only wait for the message. */
static int shrink_list(const starpu_data_handle_t *handle, int n,
                       enum starpu_data_access_mode mode,
                       struct starpu_data_descr *control)
{
    for (int i = 1; i < n; i++)
        control[i - 1] = (struct starpu_data_descr){handle[i], mode};
    return n > 1 ? n - 1 : 0;
}

/* A synthetic message carries one element of the first tensor; the other
 * tensors only order nodes. */
static void shrink_message(const struct mtlm_node *node,
                           struct mtlm_message *message,
                           struct starpu_data_descr *control)
{
    const bool reads =
        message->kind != MTLM_RECV && !mtlm_message_in_place(message);

    message->n_control +=
        shrink_list(message->handle, message->n_handles,
                    reads ? STARPU_R : STARPU_RW, control + message->n_control);
    message->n_control += shrink_list(message->into, message->n_into, STARPU_RW,
                                      control + message->n_control);
    message->n_handles = 1;
    message->n_into = message->n_into > 0;
    message->count = mtlm_synthetic_count(node);
}

void mtlm_run_message_of(const struct mtlm_run_data *data,
                         const struct mtlm_node *node,
                         const struct mtlm_submission *at,
                         starpu_data_handle_t *handles,
                         struct starpu_data_descr *control,
                         struct mtlm_message *message)
{
    const union mtlm_attr *attr = &node->call.attr;
    const enum mtlm_message_kind kind = kind_of(node->call.kind);

    message->kind = kind;
    message->handle = handles;
    message->n_handles = collect_handles(data, node, at, SENT, handles);
    message->into = handles + message->n_handles;
    message->n_into =
        collect_handles(data, node, at, RECEIVED, handles + message->n_handles);
    message->control = control;
    message->n_control = mtlm_run_message_control(data, node, at, control);
    message->dtype = mtlm_node_use(node, 0).tensor->dtype;
    message->count = mtlm_node_elems(node);
    if (data->synthetic && !mtlm_synthetic_computes(node))
        shrink_message(node, message, control);
    assert(message->n_handles > 0 && message->count > 0);
    if (kind == MTLM_SEND || kind == MTLM_RECV) {
        message->peer = attr->p2p.peer;
        message->tag = attr->p2p.tag;
    } else {
        message->group = attr->collective.group;
        message->reduce = attr->collective.reduce;
    }
}

void mtlm_run_message_order(struct mtlm_engine *engine,
                            const struct mtlm_collective_plan *plan,
                            int64_t microbatches)
{
    int *order = mtlm_calloc(plan->n, sizeof(*order));

    mtlm_engine_order(engine, order,
                      mtlm_collective_plan_of(plan, microbatches, order));
    free(order);
}
