#ifndef MTLM_RANKS_PRIVATE_H
#define MTLM_RANKS_PRIVATE_H

#include "runtime/comm/doorbell.h"
#include "runtime/comm/mpi_turn.h"
#include "runtime/comm/ranks.h"

struct mtlm_ranks {
    MPI_Comm world; /* the ranks of the job */
    int rank, size;
    int host_rank, on_host; /* among the ranks of this host */
    int max_tag;
    MPI_Comm group[MTLM_GROUP_COUNT]; /* MPI_COMM_NULL: not in it */
    int group_rank[MTLM_GROUP_COUNT], group_size[MTLM_GROUP_COUNT];
    MPI_Comm host; /* the ranks of this host */
    struct mtlm_doorbell *bell;
    MPI_Comm p2p;     /* pipeline messages only */
    MPI_Comm tickets; /* the tensor-parallel leader's orders only */
    MPI_Comm signs;   /* of life only */
    struct mtlm_pulse *pulse;
};

#endif /* MTLM_RANKS_PRIVATE_H */
