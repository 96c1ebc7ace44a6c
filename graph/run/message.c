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
                           const struct mtlm_node *node, int64_t number,
                           enum part part, starpu_data_handle_t *handles)
{
    int n = 0;

    for (int i = 0; i < mtlm_node_n_uses(node); i++) {
        const struct mtlm_use use = mtlm_node_use(node, i);

        if (part_of(node, use) == part)
            handles[n++] = mtlm_run_data_handle(data, use.tensor, number);
    }
    return n;
}

/* A synthetic message carries one element of the first tensor; the other
 * tensors only order nodes. */
static void shrink_message(const struct mtlm_node *node,
                           struct mtlm_message *message)
{
    starpu_data_handle_t *all = (starpu_data_handle_t *) message->handle;
    const int n = message->n_handles + message->n_into + message->n_control;
    const int last = message->n_handles;

    message->count = mtlm_synthetic_count(node);
    if (message->n_into) {
        const starpu_data_handle_t into = message->into[0];

        all[last] = all[1];
        all[1] = into;
        message->into = &all[1];
        message->n_into = 1;
    }
    message->n_handles = 1;
    message->control = &all[1 + message->n_into];
    message->n_control = n - 1 - message->n_into;
}

void mtlm_run_message_of(const struct mtlm_run_data *data,
                         const struct mtlm_node *node, int64_t use,
                         starpu_data_handle_t *handles,
                         struct mtlm_message *message)
{
    const union mtlm_attr *attr = &node->call.attr;
    const enum mtlm_message_kind kind = kind_of(node->call.kind);

    message->kind = kind;
    message->handle = handles;
    message->n_handles = collect_handles(data, node, use, SENT, handles);
    handles += message->n_handles;
    message->into = handles;
    message->n_into = collect_handles(data, node, use, RECEIVED, handles);
    handles += message->n_into;
    message->control = handles;
    message->n_control = collect_handles(data, node, use, ORDER, handles);
    message->dtype = mtlm_node_use(node, 0).tensor->dtype;
    message->count = mtlm_node_elems(node);
    if (data->synthetic && !mtlm_synthetic_computes(node))
        shrink_message(node, message);
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
