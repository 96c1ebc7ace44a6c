#ifndef MTLM_DOORBELL_H
#define MTLM_DOORBELL_H

#include <mpi.h>
#include <stdint.h>

/* Lets the ranks of a host wake each other's communication thread: MPI says
 * that a message has come only to who asks, and who asks seldom costs little
 * but hears of it late.  Each rank has a word in memory that the ranks of its
 * host share; a futex waits for it.  Where there is no such memory a rank only
 * wakes itself. */
struct mtlm_doorbell;

/* Collective over host, which holds the ranks that can share memory, within a
 * turn (runtime/comm/mpi_turn.h); the caller destroys it, likewise. */
struct mtlm_doorbell *mtlm_doorbell_create(MPI_Comm host);
void mtlm_doorbell_destroy(struct mtlm_doorbell *bell);

/* How often this rank's bell has been rung: to be asked before one looks for
 * something to do, and passed to mtlm_doorbell_wait() if there was nothing. */
uint32_t mtlm_doorbell_rings(const struct mtlm_doorbell *bell);

/* Returns when it has been rung more often, or at until_ns (mtlm_now_ns()). */
void mtlm_doorbell_wait(const struct mtlm_doorbell *bell, uint32_t rings,
                        int64_t until_ns);

/* This rank's own, for any thread. */
void mtlm_doorbell_ring(struct mtlm_doorbell *bell);
/* Of the other ranks of comm, or of one of them, that are on this host; within
 * a turn. */
void mtlm_doorbell_ring_all(struct mtlm_doorbell *bell, MPI_Comm comm);
void mtlm_doorbell_ring_rank(struct mtlm_doorbell *bell, MPI_Comm comm,
                             int rank);

#endif /* MTLM_DOORBELL_H */
