#ifndef MTLM_RANKS_PRIVATE_H
#define MTLM_RANKS_PRIVATE_H

#include <mpi.h>

#include "runtime/doorbell.h"
#include "runtime/ranks.h"

struct mtlm_ranks {
    int rank, size, on_host;
    MPI_Comm group[MTLM_GROUP_COUNT]; /* MPI_COMM_NULL: not in it */
    MPI_Comm *slot;                   /* [n_slots] copies of the
                                       * tensor-parallel group */
    int n_slots;
    MPI_Comm host;    /* the ranks of this host */
    struct mtlm_doorbell *bell;
    MPI_Comm p2p;     /* pipeline messages only */
    MPI_Comm tickets; /* the tensor-parallel leader's orders only */
};

#define MTLM_CHECK_MPI(call) mtlm_check_mpi(call, #call, __FILE__, __LINE__)

void mtlm_check_mpi(int rc, const char *call, const char *file, int line);

#endif /* MTLM_RANKS_PRIVATE_H */
