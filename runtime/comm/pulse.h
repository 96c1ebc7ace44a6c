#ifndef MTLM_PULSE_H
#define MTLM_PULSE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* The signs of life that ranks give each other, so that runtime/comm/watchdog.h
 * can tell a rank that hangs from one that works for long.  The ranks form a
 * binary tree; each sends a few bytes to its parent and children, three at
 * most, at every look of the deadline's thread.  They say how long ago a rank
 * on the sender's side of the tree did something, so that nobody is told what
 * it said itself.  What is said is late by a look for every hop, for a million
 * ranks by less than MTLM_LOOKS. */
struct mtlm_pulse;

/* The looks that a deadline is divided into, at least. */
enum { MTLM_LOOKS = 40 };

/* comm, of all ranks, is for nothing else; it must outlive the pulse. */
struct mtlm_pulse *mtlm_pulse_create(MPI_Comm comm);

/* The deadline's thread: takes and sends what there is, within a turn of its
 * own (runtime/comm/mpi_turn.h).  own_ns: when this rank did something last;
 * returns the same of all ranks, as far as it knows. */
int64_t mtlm_pulse_beat(struct mtlm_pulse *pulse, int64_t own_ns);

/* The process was not allowed to run for that long, which does not count. */
void mtlm_pulse_shift(struct mtlm_pulse *pulse, int64_t late_ns);

/* The neighbour that has been silent for the longest, and when it was heard
 * of last; -1: there is none, or all have said that they end. */
int mtlm_pulse_silent(const struct mtlm_pulse *pulse, int64_t *since_ns);

/* Tells the neighbours that nothing more comes, and waits until all have said
 * the same; destroys pulse (may be NULL).  Called by the main threads of all
 * ranks when the deadline's thread does not use it any more. */
void mtlm_pulse_destroy(struct mtlm_pulse *pulse);

#endif /* MTLM_PULSE_H */
