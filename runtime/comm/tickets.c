/* Sends and receives tickets through MPI. */

#include "config.h"

#include "runtime/comm/ranks_private.h"
#include "runtime/comm/tickets.h"

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
    mtlm_mpi_turn_take();
    expect_ticket(tickets);
    mtlm_mpi_turn_end();
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
                       struct mtlm_numbers *numbers)
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
        mtlm_numbers_push(numbers, tickets->in);
        expect_ticket(tickets);
    }
    return any;
}

bool mtlm_tickets_expected(const struct mtlm_tickets *tickets)
{
    return tickets->recv != MPI_REQUEST_NULL;
}
