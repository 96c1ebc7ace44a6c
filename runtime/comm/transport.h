#ifndef MTLM_TRANSPORT_H
#define MTLM_TRANSPORT_H

#include "runtime/comm/ranks_private.h"
#include "runtime/comm/transfer.h"

/* A transport carries messages of the engine: a table of functions.  The
 * engine's thread calls the functions within a turn of MPI
 * (runtime/comm/mpi_turn.h), so no function may wait for another rank. */
struct mtlm_transport {
    const struct mtlm_ranks *ranks; /* borrowed */
    unsigned node;                  /* StarPU's memory node of the data */
    /* Starts a transfer.  transfer->buffer and transfer->into are set. */
    void (*issue)(struct mtlm_transport *transport,
                  struct mtlm_transfer *transfer);
    /* Returns whether the transfer is complete. */
    bool (*test)(struct mtlm_transport *transport,
                 struct mtlm_transfer *transfer);
    /* Returns whether another message may be issued now; NULL: always. */
    bool (*ready)(struct mtlm_transport *transport);
    void (*destroy)(struct mtlm_transport *transport);
};

/* Sets buffer and into of a transfer whose data is acquired on the transport's
 * node. */
void mtlm_transport_find_buffers(struct mtlm_transfer *transfer);

/* Returns a transport for all messages, through MPI and host memory.  The
 * caller destroys the transport; ranks is borrowed. */
struct mtlm_transport *mtlm_transport_mpi(const struct mtlm_ranks *ranks);

/* Returns a transport for collectives, through NCCL and the memory of this
 * rank's GPU.  Exists in builds with NCCL only.  Connects the ranks: a
 * collective call of the main threads. */
struct mtlm_transport *mtlm_transport_nccl(const struct mtlm_ranks *ranks);

#endif /* MTLM_TRANSPORT_H */
