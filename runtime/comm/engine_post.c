/* The way of a message to the communication thread.  The program posts the
 * message; StarPU hands its data over, and gets the data back at the end. */

#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/comm/engine_private.h"
#include "runtime/comm/message_task.h"
#include "runtime/comm/policy_nodes.h"
#include "runtime/comm/transport.h"
#include "runtime/machine/data.h"

void mtlm_engine_has_data(struct mtlm_transfer *transfer)
{
    transfer->message.record.ready_ns = mtlm_now_ns();
    if (transfer->message.node)
        mtlm_policy_nodes_ready(transfer->message.node);
}

void mtlm_engine_handed_over(struct mtlm_transfer *transfer)
{
    struct mtlm_engine *engine = transfer->engine;

    pthread_mutex_lock(&engine->mutex);
    mtlm_queue_push(&engine->inbox, transfer);
    mtlm_doorbell_ring(engine->config.ranks->bell);
    pthread_mutex_unlock(&engine->mutex);
}

/* StarPU has acquired a handle.  Called by StarPU; must not block. */
static void on_acquired(void *arg)
{
    struct mtlm_transfer *transfer = arg;
    struct mtlm_engine *engine = transfer->engine;
    bool all;

    pthread_mutex_lock(&engine->mutex);
    all = ++transfer->acquired == transfer->n_held;
    pthread_mutex_unlock(&engine->mutex);
    if (!all)
        return;
    mtlm_engine_has_data(transfer);
    mtlm_engine_handed_over(transfer);
}

static void check_message(const struct mtlm_engine *engine,
                          const struct mtlm_message *m)
{
    const bool blocks =
        m->kind == MTLM_REDUCE_SCATTER || m->kind == MTLM_ALL_GATHER;

    if (m->n_handles < 1 || m->count < 1 || m->count > INT_MAX)
        mtlm_fatal(__FILE__, __LINE__,
                   "a message of %" PRId64 " elements: MPI counts from 1 to %d",
                   m->count, INT_MAX);
    if ((blocks != (m->n_into > 0) && m->kind != MTLM_ALL_GATHER)
        || (m->kind == MTLM_REDUCE_SCATTER
            && m->count
                   % mtlm_ranks_group_size(engine->config.ranks, m->group)))
        mtlm_fatal(__FILE__, __LINE__,
                   "a collective of %" PRId64 " elements into %d tensors",
                   m->count, m->n_into);
}

/* Copies the lists; held has all handles, one list after the other. */
static void copy_lists(struct mtlm_transfer *transfer)
{
    struct mtlm_message *m = &transfer->message;
    starpu_data_handle_t *at;

    transfer->n_held = m->n_handles + m->n_into + m->n_control;
    at = transfer->held = mtlm_calloc(transfer->n_held, sizeof(*at));
    memcpy(at, m->handle, m->n_handles * sizeof(*at));
    m->handle = at;
    at += m->n_handles;
    if (m->n_into)
        memcpy(at, m->into, m->n_into * sizeof(*at));
    m->into = at;
    at += m->n_into;
    transfer->control = mtlm_calloc(m->n_control, sizeof(*m->control));
    for (int i = 0; i < m->n_control; i++) {
        transfer->control[i] = m->control[i];
        at[i] = m->control[i].handle;
    }
    m->control = transfer->control;
}

enum starpu_data_access_mode mtlm_engine_message_mode(
    const struct mtlm_message *m, int i)
{
    if (i < m->n_handles)
        return m->kind == MTLM_RECV       ? STARPU_W
               : mtlm_message_in_place(m) ? STARPU_RW
                                          : STARPU_R;
    i -= m->n_handles;
    return i < m->n_into ? STARPU_W : m->control[i - m->n_into].mode;
}

/* Returns the memory node for entry i of held; data for ordering only stays
 * where it is. */
static int node_of(const struct mtlm_transfer *transfer, int i)
{
    const struct mtlm_message *m = &transfer->message;

    return i < m->n_handles + m->n_into ? (int) transfer->transport->node
                                        : STARPU_ACQUIRE_NO_NODE;
}

static void acquire_data(struct mtlm_transfer *transfer)
{
    /* The thread may free the transfer once the last handle is requested. */
    const int n = transfer->n_held;

    for (int i = 0; i < n; i++)
        MTLM_CHECK_STARPU(starpu_data_acquire_on_node_cb(
            transfer->held[i], node_of(transfer, i),
            mtlm_engine_message_mode(&transfer->message, i), on_acquired,
            transfer));
}

void mtlm_engine_hand_back(struct mtlm_transfer *transfer)
{
    for (int i = 0; i < transfer->n_held; i++)
        starpu_data_release_on_node(transfer->held[i], node_of(transfer, i));
}

void mtlm_message_post(struct mtlm_engine *engine,
                       const struct mtlm_message *message)
{
    struct mtlm_transfer *transfer;

    check_message(engine, message);
    transfer = mtlm_calloc(1, sizeof(*transfer));
    transfer->message = *message;
    transfer->engine = engine;
    transfer->transport = mtlm_message_is_collective(message->kind)
                              ? engine->collective
                              : engine->p2p;
    copy_lists(transfer);
    transfer->message.record.submit_ns = mtlm_now_ns();
    mtlm_arrivals_post(engine->arrivals, message);
    pthread_mutex_lock(&engine->mutex);
    engine->posted++;
    if (mtlm_message_is_collective(message->kind)) {
        transfer->seq = engine->collectives++;
        mtlm_sequencer_post(&engine->sequencer, transfer->seq, message->group);
    }
    pthread_mutex_unlock(&engine->mutex);
    if (engine->config.tasks) {
        mtlm_message_task_submit(transfer);
        return;
    }
    acquire_data(transfer);
}
