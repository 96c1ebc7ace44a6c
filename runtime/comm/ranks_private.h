#ifndef MTLM_RANKS_PRIVATE_H
#define MTLM_RANKS_PRIVATE_H

#include "runtime/comm/doorbell.h"
#include "runtime/comm/mpi_turn.h"
#include "runtime/comm/ranks.h"

/* Private to ranks*.c, the engine and its transports. */
struct mtlm_ranks {
    MPI_Comm world; /* the ranks of the job */
    int rank, size;
    int host_rank, on_host; /* among the ranks of this host */
    int max_tag;
    MPI_Comm group[MTLM_GROUP_COUNT]; /* MPI_COMM_NULL: not a member */
    int group_rank[MTLM_GROUP_COUNT], group_size[MTLM_GROUP_COUNT];
    MPI_Comm host; /* the ranks of this host */
    struct mtlm_doorbell *bell;
    MPI_Comm p2p;      /* pipeline messages only */
    MPI_Comm tickets;  /* tickets of the tensor-parallel leader only */
    MPI_Comm arrivals; /* announcements only (runtime/comm/arrivals.h) */
    MPI_Comm signs;    /* signs of life only */
    struct mtlm_pulse *pulse;
};

#endif /* MTLM_RANKS_PRIVATE_H */
