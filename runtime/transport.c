/* What MPI does for the engine's requests. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "runtime/arena.h"
#include "runtime/engine_private.h"

static MPI_Datatype datatype(enum mtlm_dtype dtype)
{
    switch (dtype) {
    case MTLM_REAL:
        return sizeof(mtlm_real) == 8 ? MPI_DOUBLE : MPI_FLOAT;
    case MTLM_F64:
        return MPI_DOUBLE;
    case MTLM_I32:
        break;
    }
    return MPI_INT32_T;
}

/* Where the range begins that the handles' data lies in: one after the other,
 * `before` bytes behind its begin, with no more than padding in between and,
 * for every rank, behind. */
static void *range(const starpu_data_handle_t *handle, int n, size_t before,
                   size_t bytes, size_t unit)
{
    char *first = starpu_data_handle_to_pointer(handle[0], STARPU_MAIN_RAM);
    char *end = first;

    for (int i = 0; i < n; i++) {
        char *p = starpu_data_handle_to_pointer(handle[i], STARPU_MAIN_RAM);

        assert(p >= end && p < end + MTLM_ARENA_ALIGN);
        end = p + starpu_data_get_size(handle[i]);
    }
    first -= before;
    assert((size_t) (end - first) <= bytes
           && bytes < end - first + MTLM_ARENA_ALIGN + unit);
    return first;
}

void mtlm_transport_find_buffers(const struct mtlm_ranks *ranks,
                                 struct mtlm_request *request)
{
    const struct mtlm_message *m = &request->message;
    const size_t size = mtlm_dtype_bytes(m->dtype);
    const size_t n = mtlm_message_is_collective(m->kind)
                         ? mtlm_ranks_group_size(ranks, m->group)
                         : 1;
    const size_t bytes = m->count * size, unit = n * MTLM_ARENA_ALIGN;
    const bool gather = m->kind == MTLM_ALL_GATHER;

    request->buffer = range(m->handle, m->n_handles, m->before * size,
                            gather && m->n_into == 0 ? bytes * n : bytes, unit);
    if (m->n_into)
        request->into = range(m->into, m->n_into, m->into_before * size,
                              gather ? bytes * n : bytes / n, unit);
}

/* Slots have communicators of their own. */
static MPI_Comm comm_of(const struct mtlm_ranks *ranks,
                        const struct mtlm_message *m)
{
    return m->group == MTLM_GROUP_TP && m->slot >= 0 && m->slot < ranks->n_slots
               ? ranks->slot[m->slot]
               : ranks->group[m->group];
}

static void issue_collective(const struct mtlm_ranks *ranks,
                             struct mtlm_request *request)
{
    const struct mtlm_message *m = &request->message;
    const MPI_Comm comm = comm_of(ranks, m);
    const MPI_Datatype type = datatype(m->dtype);
    const MPI_Op op = m->reduce == MTLM_REDUCE_MAX ? MPI_MAX : MPI_SUM;
    const int n = (int) m->count;

    switch (m->kind) {
    case MTLM_REDUCE_SCATTER:
        MTLM_CHECK_MPI(MPI_Ireduce_scatter_block(
            request->buffer, request->into,
            n / mtlm_ranks_group_size(ranks, m->group), type, op, comm,
            &request->mpi));
        break;
    case MTLM_ALL_GATHER:
        MTLM_CHECK_MPI(
            MPI_Iallgather(m->n_into ? request->buffer : MPI_IN_PLACE, n, type,
                           m->n_into ? request->into : request->buffer, n, type,
                           comm, &request->mpi));
        break;
    default:
        MTLM_CHECK_MPI(MPI_Iallreduce(MPI_IN_PLACE, request->buffer, n, type,
                                      op, comm, &request->mpi));
        break;
    }
}

void mtlm_transport_issue(const struct mtlm_ranks *ranks,
                          struct mtlm_request *request)
{
    struct mtlm_message *m = &request->message;
    const MPI_Datatype type = datatype(m->dtype);
    const int n = (int) m->count;

    if (m->kind == MTLM_RECV) {
        MTLM_CHECK_MPI(MPI_Irecv(request->buffer, n, type, m->peer, m->tag,
                                 ranks->p2p, &request->mpi));
    } else if (m->kind == MTLM_SEND) {
        MTLM_CHECK_MPI(MPI_Isend(request->buffer, n, type, m->peer, m->tag,
                                 ranks->p2p, &request->mpi));
        mtlm_doorbell_ring_rank(ranks->bell, ranks->p2p, m->peer);
    } else {
        issue_collective(ranks, request);
        mtlm_doorbell_ring_all(ranks->bell, ranks->group[m->group]);
    }
}

static void expect_ticket(struct mtlm_tickets *tickets)
{
    MTLM_CHECK_MPI(MPI_Irecv(&tickets->in, 1, MPI_INT64_T, 0, 0, tickets->comm,
                             &tickets->recv));
}

void mtlm_tickets_start(struct mtlm_tickets *tickets,
                        const struct mtlm_ranks *ranks, bool follower)
{
    tickets->comm = ranks->tickets;
    tickets->bell = ranks->bell;
    tickets->recv = MPI_REQUEST_NULL;
    if (!follower)
        return;
    mtlm_mpi_take_turn();
    expect_ticket(tickets);
    mtlm_mpi_end_turn();
}

void mtlm_tickets_send(const struct mtlm_tickets *tickets, int64_t ticket)
{
    int size = 1;

    if (tickets->comm != MPI_COMM_NULL)
        MPI_Comm_size(tickets->comm, &size);
    for (int peer = 1; peer < size; peer++) {
        MTLM_CHECK_MPI(
            MPI_Send(&ticket, 1, MPI_INT64_T, peer, 0, tickets->comm));
        mtlm_doorbell_ring_rank(tickets->bell, tickets->comm, peer);
    }
}

bool mtlm_tickets_take(struct mtlm_tickets *tickets,
                       struct mtlm_number_queue *queue)
{
    bool any = false;

    while (tickets->recv != MPI_REQUEST_NULL) {
        int done;

        MTLM_CHECK_MPI(MPI_Test(&tickets->recv, &done, MPI_STATUS_IGNORE));
        if (!done)
            break;
        any = true;
        if (tickets->in == MTLM_LAST_TICKET)
            break;
        mtlm_numbers_push(queue, tickets->in);
        expect_ticket(tickets);
    }
    return any;
}

bool mtlm_tickets_expected(const struct mtlm_tickets *tickets)
{
    return tickets->recv != MPI_REQUEST_NULL;
}
