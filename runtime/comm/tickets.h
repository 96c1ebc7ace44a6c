#ifndef MTLM_TICKETS_H
#define MTLM_TICKETS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/comm/numbers.h"
#include "runtime/comm/ranks.h"

/* Tickets: the numbers of collectives, which the leader of a tensor-parallel
 * group sends to its followers in the order of issue.  Called by the engine's
 * thread. */
struct mtlm_tickets {
    MPI_Comm comm;
    struct mtlm_doorbell *bell;
    int64_t in;       /* buffer of the pending receive */
    MPI_Request recv; /* MPI_REQUEST_NULL: no follower, or no more tickets */
};

/* The ticket that ends the stream. */
enum { MTLM_LAST_TICKET = -1 };

/* Starts the stream; follower: this rank receives. */
void mtlm_tickets_start(struct mtlm_tickets *tickets,
                        const struct mtlm_ranks *ranks, bool follower);

/* Sends a ticket to all followers: a few bytes, which MPI buffers. */
void mtlm_tickets_send(const struct mtlm_tickets *tickets, int64_t ticket);

/* Appends the tickets that have arrived to numbers; returns whether any has. */
bool mtlm_tickets_take(struct mtlm_tickets *tickets,
                       struct mtlm_numbers *numbers);

/* Whether more tickets will come. */
bool mtlm_tickets_expected(const struct mtlm_tickets *tickets);

#endif /* MTLM_TICKETS_H */
