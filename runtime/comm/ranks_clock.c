/* Compares the clocks of all hosts with rank 0's clock. */

#include "config.h"

#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/comm/ranks_private.h"

/* One side of the round trips between rank 0 and peer. */
static int64_t ping_pong(struct mtlm_ranks *ranks, int peer)
{
    enum { ROUNDS = 200 };
    int64_t best = INT64_MAX, offset = 0, theirs = 0;

    for (int i = 0; i < ROUNDS; i++) {
        const int64_t start = mtlm_now_ns();

        if (ranks->rank == 0) {
            MTLM_AWAIT_MPI("rank 0 and another to compare clocks",
                           MPI_Irecv(&theirs, 1, MPI_INT64_T, peer, 0,
                                     ranks->p2p, &request));
            theirs = mtlm_now_ns();
            MTLM_AWAIT_MPI("rank 0 and another to compare clocks",
                           MPI_Isend(&theirs, 1, MPI_INT64_T, peer, 0,
                                     ranks->p2p, &request));
        } else {
            int64_t end;

            MTLM_AWAIT_MPI(
                "rank 0 and another to compare clocks",
                MPI_Isend(&start, 1, MPI_INT64_T, 0, 0, ranks->p2p, &request));
            MTLM_AWAIT_MPI(
                "rank 0 and another to compare clocks",
                MPI_Irecv(&theirs, 1, MPI_INT64_T, 0, 0, ranks->p2p, &request));
            end = mtlm_now_ns();
            if (end - start < best) {
                best = end - start;
                offset = theirs - (start + end) / 2;
            }
        }
    }
    return offset;
}

int64_t mtlm_ranks_clock_offset(struct mtlm_ranks *ranks)
{
    int *first = mtlm_calloc(ranks->size, sizeof(*first)), mine;
    int64_t offset = 0;

    /* Only the lowest rank of each host measures.  The ranks of a host read one
     * clock, and more busy processes make round trips less exact. */
    MTLM_AWAIT_MPI("all ranks to compare clocks",
                   MPI_Iallreduce(&ranks->rank, &mine, 1, MPI_INT, MPI_MIN,
                                  ranks->host, &request));
    MTLM_AWAIT_MPI("all ranks to compare clocks",
                   MPI_Iallgather(&mine, 1, MPI_INT, first, 1, MPI_INT,
                                  ranks->world, &request));
    for (int r = 1; r < ranks->size; r++)
        if (first[r] == r && ranks->rank == 0)
            ping_pong(ranks, r);
        else if (first[r] == r && ranks->rank == r)
            offset = ping_pong(ranks, 0);
    MTLM_AWAIT_MPI(
        "all ranks to compare clocks",
        MPI_Ibcast(&offset, 1, MPI_INT64_T, 0, ranks->host, &request));
    free(first);
    return offset;
}
