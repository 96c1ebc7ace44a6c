/* Exchanges between main threads while the engines run.  The exchanges use a
 * communicator of their own, so the order of the engines' messages does not
 * matter. */

#include "config.h"

#include <limits.h>
#include <stdlib.h>

#include "runtime/base/memory.h"
#include "runtime/comm/ranks_private.h"

/* The communicator carries no other messages from rank to rank. */
enum { TAG = 1 };

void mtlm_ranks_sum_all(struct mtlm_ranks *ranks, double *value, int n)
{
    MTLM_AWAIT_MPI("all ranks to add up",
                   MPI_Iallreduce(MPI_IN_PLACE, value, n, MPI_DOUBLE, MPI_SUM,
                                  ranks->world, &request));
}

void mtlm_ranks_max_all(struct mtlm_ranks *ranks, double *value, int n)
{
    MTLM_AWAIT_MPI("all ranks to tell how far they are",
                   MPI_Iallreduce(MPI_IN_PLACE, value, n, MPI_DOUBLE, MPI_MAX,
                                  ranks->world, &request));
}

/* Starts sends of n numbers to each peer and receives from it. */
static void start_exchange(const struct mtlm_ranks *ranks,
                           struct mtlm_swap *swap, int n, bool sizes,
                           MPI_Request *request)
{
    mtlm_mpi_turn_take();
    for (int i = 0; i < n; i++) {
        struct mtlm_swap *s = &swap[i];

        if (!sizes && (s->n_out > INT_MAX || s->n_in > INT_MAX))
            mtlm_end_job(MTLM_EXIT_RESOURCE,
                         "ranks exchange more than %d numbers at once",
                         INT_MAX);
        MTLM_CHECK_MPI(MPI_Isend(sizes ? &s->n_out : s->out,
                                 sizes ? 1 : s->n_out, MPI_INT64_T, s->peer,
                                 TAG, ranks->world, &request[2 * i]));
        MTLM_CHECK_MPI(MPI_Irecv(sizes ? &s->n_in : s->in, sizes ? 1 : s->n_in,
                                 MPI_INT64_T, s->peer, TAG, ranks->world,
                                 &request[2 * i + 1]));
    }
    mtlm_mpi_turn_end();
}

void mtlm_ranks_swap(struct mtlm_ranks *ranks, struct mtlm_swap *swap, int n)
{
    MPI_Request *request = mtlm_calloc(2 * n, sizeof(*request));

    for (int round = 0; round < 2; round++) {
        start_exchange(ranks, swap, n, round == 0, request);
        for (int i = 0; i < 2 * n; i++)
            mtlm_mpi_turn_await(&request[i],
                                "its peers to tell what they sent");
        for (int i = 0; i < n && round == 0; i++)
            swap[i].in = mtlm_calloc(swap[i].n_in, sizeof(*swap[i].in));
    }
    free(request);
}
