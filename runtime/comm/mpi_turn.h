#ifndef MTLM_MPI_TURN_H
#define MTLM_MPI_TURN_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Turns of MPI.  MPI runs at level MPI_THREAD_SERIALIZED: any thread may call
 * MPI, one at a time.  Three threads take turns: the communication engine, the
 * main thread, and the watchdog, which sends signs of life
 * (runtime/comm/pulse.h).  A waiting thread gets a turn before the thread that
 * ends the current turn, so a thread that takes turn after turn starves nobody.
 *
 * A thread must not wait for another rank within a turn: the watchdog could not
 * send signs of life meanwhile.  mtlm_mpi_turn_await() waits across turns. */

/* Waits until the turn is free, and takes the turn. */
void mtlm_mpi_turn_take(void);

/* Ends the calling thread's turn. */
void mtlm_mpi_turn_end(void);

/* Takes the turn if the turn becomes free within within_ns ns.  Returns whether
 * the calling thread has the turn. */
bool mtlm_mpi_turn_try(int64_t within_ns);

/* Waits until the started request is complete.  what: the reason for the wait
 * (runtime/comm/activity.h).  Polls often at first.  Later pauses last an
 * eighth of the time waited, at most 5 ms.  For the main thread. */
void mtlm_mpi_turn_await(MPI_Request *request, const char *what);

/* Evaluates `call`, an expression that starts `request`, and waits for
 * request. */
#define MTLM_AWAIT_MPI(what, call)                                             \
    do {                                                                       \
        MPI_Request request;                                                   \
                                                                               \
        mtlm_mpi_turn_take();                                                  \
        MTLM_CHECK_MPI(call);                                                  \
        mtlm_mpi_turn_end();                                                   \
        mtlm_mpi_turn_await(&request, what);                                   \
    } while (0)

/* Calls MPI.  A failed call ends the job. */
#define MTLM_CHECK_MPI(call)                                                   \
    mtlm_mpi_turn_check(call, #call, __FILE__, __LINE__)

/* Ends the job with place and reason, unless rc is MPI_SUCCESS. */
void mtlm_mpi_turn_check(int rc, const char *call, const char *file, int line);

#endif /* MTLM_MPI_TURN_H */
