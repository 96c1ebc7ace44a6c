#ifndef MTLM_PULSE_H
#define MTLM_PULSE_H

#include <mpi.h>
#include <stdint.h>

/* Signs of life (heartbeats) between ranks, for the watchdog
 * (runtime/comm/watchdog.h), which must tell a rank that hangs from a rank that
 * works for long.
 *
 * The ranks form a binary tree.  At each look of the watchdog a rank sends a
 * few bytes to its parent and its children, at most three neighbours: the age
 * of the last progress on the sender's side of the tree.  So no rank hears its
 * own progress back.  Each hop adds one look of delay; for a million ranks the
 * delay stays below MTLM_LOOKS looks. */
struct mtlm_pulse;

/* A deadline has at least this many looks. */
enum { MTLM_LOOKS = 40 };

/* Starts the exchange over comm, which holds all ranks, carries nothing else
 * and outlives the pulse.  Collective. */
struct mtlm_pulse *mtlm_pulse_create(MPI_Comm comm);

/* Receives and sends what is due.  own_ns: time of this rank's last progress.
 * Returns the time of the last progress of any rank, as far as known.  Called
 * by the watchdog within its turn of MPI (runtime/comm/mpi_turn.h). */
int64_t mtlm_pulse_beat(struct mtlm_pulse *pulse, int64_t own_ns);

/* The process was stopped for late_ns, which does not count. */
void mtlm_pulse_shift(struct mtlm_pulse *pulse, int64_t late_ns);

/* Returns the neighbour that has been silent for the longest, and since when;
 * -1: there is none, or all have said goodbye. */
int mtlm_pulse_silent(const struct mtlm_pulse *pulse, int64_t *since_ns);

/* Says goodbye to the neighbours, waits for theirs, destroys pulse (may be
 * NULL).  Collective; called by the main threads after the watchdog has let go
 * of the pulse. */
void mtlm_pulse_destroy(struct mtlm_pulse *pulse);

#endif /* MTLM_PULSE_H */
