#ifndef MTLM_TRANSPORT_H
#define MTLM_TRANSPORT_H

#include "runtime/comm/ranks_private.h"
#include "runtime/comm/transfer.h"

/* A transport carries messages of the engine: a table of functions.  The
 * engine's thread calls them within a turn of MPI (runtime/comm/mpi_turn.h); so
 * none of them waits for another rank. */
struct mtlm_transport {
    const struct mtlm_ranks *ranks; /* borrowed */
    unsigned node;                  /* StarPU's memory node of the data */
    /* Starts a transfer, whose buffer and into are set. */
    void (*issue)(struct mtlm_transport *transport,
                  struct mtlm_transfer *transfer);
    /* Whether the transfer is complete. */
    bool (*test)(struct mtlm_transport *transport,
                 struct mtlm_transfer *transfer);
    /* Whether another message may be issued now; NULL: always. */
    bool (*ready)(struct mtlm_transport *transport);
    void (*destroy)(struct mtlm_transport *transport);
};

/* Sets buffer and into of a transfer whose data is acquired on the transport's
 * node. */
void mtlm_transport_find_buffers(struct mtlm_transfer *transfer);

/* Creates the transport of all messages through MPI and host memory; the caller
 * destroys it. */
struct mtlm_transport *mtlm_transport_mpi(const struct mtlm_ranks *ranks);

/* Creates the transport of collectives through NCCL and the memory of this
 * rank's GPU; built with NCCL only.  Connects the ranks: collective, called by
 * the main threads. */
struct mtlm_transport *mtlm_transport_nccl(const struct mtlm_ranks *ranks);

#endif /* MTLM_TRANSPORT_H */
