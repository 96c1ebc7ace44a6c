#ifndef MTLM_DOORBELL_H
#define MTLM_DOORBELL_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* A doorbell lets the ranks of a host wake each other's communication threads.
 * MPI reports an arrival only when polled, and rare polling adds delay.  Each
 * rank has a word in memory that all ranks of its host share; a futex waits on
 * the word.  Without shared memory a rank can wake itself only. */
struct mtlm_doorbell;

/* Creates the bells of the ranks of host, which can share memory.  Collective
 * over host, within a turn (runtime/comm/mpi_turn.h). */
struct mtlm_doorbell *mtlm_doorbell_create(MPI_Comm host);

/* Collective over the host, within a turn. */
void mtlm_doorbell_destroy(struct mtlm_doorbell *bell);

/* Returns how often this rank's bell has rung.  Read the number before looking
 * for work; pass it to mtlm_doorbell_wait() when there was none. */
uint32_t mtlm_doorbell_rings(const struct mtlm_doorbell *bell);

/* Returns when the bell has rung more than rings times, at until_ns
 * (mtlm_now_ns()), or sometimes earlier. */
void mtlm_doorbell_wait(const struct mtlm_doorbell *bell, uint32_t rings,
                        int64_t until_ns);

/* Returns whether this rank can wake all `ranks` of a job. */
bool mtlm_doorbell_reaches(const struct mtlm_doorbell *bell, int ranks);

/* Rings this rank's own bell.  Any thread. */
void mtlm_doorbell_ring(struct mtlm_doorbell *bell);

/* Rings the bells of the other ranks of comm that are on this host.  Within a
 * turn. */
void mtlm_doorbell_ring_all(struct mtlm_doorbell *bell, MPI_Comm comm);

/* Rings the bell of one rank of comm, if it is another one on this host. Within
 * a turn. */
void mtlm_doorbell_ring_rank(struct mtlm_doorbell *bell, MPI_Comm comm,
                             int rank);

#endif /* MTLM_DOORBELL_H */
