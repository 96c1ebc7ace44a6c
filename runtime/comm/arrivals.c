/* Announcements of messages, through a communicator of their own. */

#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/comm/arrivals.h"
#include "runtime/comm/incoming.h"
#include "runtime/comm/policy_nodes.h"
#include "runtime/comm/ranks_private.h"

/* A send to announce. */
struct outgoing {
    struct mtlm_policy_announcement announcement; /* first */
    struct mtlm_arrivals *arrivals;
    int peer, tag;
    struct outgoing *next;
};

/* What travels. */
struct notice {
    int64_t tag, in_ns; /* the message will arrive in so many ns */
};

struct mtlm_arrivals {
    const struct mtlm_ranks *ranks;
    struct notice in; /* the buffer of recv */
    MPI_Request recv;
    pthread_mutex_t mutex; /* guards these: */
    struct outgoing *first, **last;
    struct mtlm_incoming_table incoming;
};

static void expect_notice(struct mtlm_arrivals *a)
{
    MTLM_CHECK_MPI(MPI_Irecv(&a->in, 2, MPI_INT64_T, MPI_ANY_SOURCE, 0,
                             a->ranks->arrivals, &a->recv));
}

struct mtlm_arrivals *mtlm_arrivals_start(struct mtlm_ranks *ranks)
{
    struct mtlm_arrivals *a;

    if (mtlm_ranks_min(ranks, mtlm_policy_nodes_wanted()) == 0)
        return NULL;
    a = mtlm_calloc(1, sizeof(*a));
    a->ranks = ranks;
    a->last = &a->first;
    pthread_mutex_init(&a->mutex, NULL);
    mtlm_mpi_turn_take();
    expect_notice(a);
    mtlm_mpi_turn_end();
    return a;
}

void mtlm_arrivals_stop(struct mtlm_arrivals *a)
{
    if (!a)
        return;
    mtlm_mpi_turn_take();
    MTLM_CHECK_MPI(MPI_Cancel(&a->recv));
    MTLM_CHECK_MPI(MPI_Wait(&a->recv, MPI_STATUS_IGNORE));
    mtlm_mpi_turn_end();
    while (a->first) {
        struct outgoing *out = a->first;

        a->first = out->next;
        free(out);
    }
    pthread_mutex_destroy(&a->mutex);
    mtlm_incoming_clear(&a->incoming);
    free(a);
}

/* ---- sends ---- */

/* The time of the arrival is known.  Called by any thread. */
static void announce(struct mtlm_policy_announcement *announcement)
{
    struct outgoing *out = (struct outgoing *) announcement;
    struct mtlm_arrivals *a = out->arrivals;

    pthread_mutex_lock(&a->mutex);
    *a->last = out;
    a->last = &out->next;
    mtlm_doorbell_ring(a->ranks->bell);
    pthread_mutex_unlock(&a->mutex);
}

static bool send_notices(struct mtlm_arrivals *a)
{
    struct outgoing *out;
    bool any;

    pthread_mutex_lock(&a->mutex);
    out = a->first;
    a->first = NULL;
    a->last = &a->first;
    pthread_mutex_unlock(&a->mutex);
    any = out != NULL;
    while (out) {
        struct outgoing *next = out->next;
        const struct notice notice = {out->tag,
                                  out->announcement.when_ns - mtlm_now_ns()};

        MTLM_CHECK_MPI(
            MPI_Send(&notice, 2, MPI_INT64_T, out->peer, 0, a->ranks->arrivals));
        mtlm_doorbell_ring_rank(a->ranks->bell, a->ranks->arrivals, out->peer);
        free(out);
        out = next;
    }
    return any;
}

/* ---- receives ---- */

/* Only the engine's thread ends nodes: the node is there. */
static void take_notice(struct mtlm_arrivals *a, int peer)
{
    const int64_t when = mtlm_now_ns() + a->in.in_ns;
    struct mtlm_policy_node *node;
    struct mtlm_incoming *in;

    pthread_mutex_lock(&a->mutex);
    in = mtlm_incoming_find(&a->incoming, peer, (int) a->in.tag);
    in->when_ns = when;
    node = in->node;
    pthread_mutex_unlock(&a->mutex);
    if (node)
        mtlm_policy_nodes_expect(node, when);
}

static bool take_notices(struct mtlm_arrivals *a)
{
    bool any = false;

    for (;;) {
        MPI_Status status;
        int done;

        MTLM_CHECK_MPI(MPI_Test(&a->recv, &done, &status));
        if (!done)
            return any;
        take_notice(a, status.MPI_SOURCE);
        expect_notice(a);
        any = true;
    }
}

bool mtlm_arrivals_exchange(struct mtlm_arrivals *a)
{
    bool any;

    if (!a)
        return false;
    any = send_notices(a);
    return take_notices(a) || any;
}

/* ---- posted messages ---- */

static void post_send(struct mtlm_arrivals *a,
                      const struct mtlm_message *message)
{
    struct outgoing *out = mtlm_calloc(1, sizeof(*out));

    *out = (struct outgoing){.announcement = {.announce = announce},
                             .arrivals = a,
                             .peer = message->peer,
                             .tag = message->tag};
    mtlm_policy_nodes_announce(message->node, &out->announcement);
}

static void post_receive(struct mtlm_arrivals *a,
                         const struct mtlm_message *message)
{
    struct mtlm_incoming *in;
    int64_t when;

    pthread_mutex_lock(&a->mutex);
    in = mtlm_incoming_find(&a->incoming, message->peer, message->tag);
    in->node = message->node;
    when = in->when_ns;
    pthread_mutex_unlock(&a->mutex);
    if (when)
        mtlm_policy_nodes_expect(message->node, when);
}

void mtlm_arrivals_post(struct mtlm_arrivals *a,
                        const struct mtlm_message *message)
{
    if (!a || !message->node)
        return;
    if (message->kind == MTLM_SEND)
        post_send(a, message);
    else if (message->kind == MTLM_RECV)
        post_receive(a, message);
}

void mtlm_arrivals_end(struct mtlm_arrivals *a,
                       const struct mtlm_message *message)
{
    if (!a || !message->node || message->kind != MTLM_RECV)
        return;
    pthread_mutex_lock(&a->mutex);
    mtlm_incoming_end(&a->incoming, message->peer, message->tag, message->node);
    pthread_mutex_unlock(&a->mutex);
}
