#ifndef MTLM_TRANSPORT_H
#define MTLM_TRANSPORT_H

#include "runtime/comm/engine_private.h"

/* What carries the engine's messages: a table of functions for each way.  The
 * engine's thread calls them within a turn of MPI (runtime/comm/mpi_turn.h), so
 * none waits for another rank. */
struct mtlm_transport {
    const struct mtlm_ranks *ranks; /* borrowed */
    unsigned node;                  /* of StarPU's memory, where data must be */
    /* Starts the transfer; buffer and into of request are known. */
    void (*issue)(struct mtlm_transport *transport,
                  struct mtlm_request *request);
    /* Whether it is over. */
    bool (*test)(struct mtlm_transport *transport,
                 struct mtlm_request *request);
    /* Whether another may be issued now; NULL: always. */
    bool (*ready)(struct mtlm_transport *transport);
    void (*destroy)(struct mtlm_transport *transport);
};

/* Finds buffer and into, on the transport's node: all data is acquired. */
void mtlm_transport_find_buffers(struct mtlm_request *request);

/* From and to host memory. */
struct mtlm_transport *mtlm_transport_mpi(const struct mtlm_ranks *ranks);

/* Collectives, from and to the memory of this rank's GPU: built only with
 * NCCL.  Connects the ranks: called by the main threads of all of them. */
struct mtlm_transport *mtlm_transport_nccl(const struct mtlm_ranks *ranks);

#endif /* MTLM_TRANSPORT_H */
