#ifndef MTLM_MPI_TURN_H
#define MTLM_MPI_TURN_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Turns of MPI.  MPI runs at level MPI_THREAD_SERIALIZED: any thread may call
 * MPI, one at a time.  Three threads take turns: the communication engine, the
 * main thread, and the watchdog, which sends signs of life
 * (runtime/comm/pulse.h).  Turns go first come, first served: a thread that
 * takes turn after turn starves nobody.
 *
 * A thread never waits for another rank within a turn: the watchdog could not
 * send signs of life meanwhile.  mtlm_mpi_turn_await() waits across turns. */

/* Waits for a turn, and takes it. */
void mtlm_mpi_turn_take(void);

/* Ends the calling thread's turn. */
void mtlm_mpi_turn_end(void);

/* Takes a turn; false: there was none within within_ns. */
bool mtlm_mpi_turn_try(int64_t within_ns);

/* Returns when request, which has been started, is complete.  what: the reason
 * for the wait (runtime/comm/activity.h).  Polls often at first, later after an
 * eighth of the time waited, at least every 5 ms.  For the main thread. */
void mtlm_mpi_turn_await(MPI_Request *request, const char *what);

/* Starts `call`, an expression that fills in `request`, and waits for it. */
#define MTLM_AWAIT_MPI(what, call)                                             \
    do {                                                                       \
        MPI_Request request;                                                   \
                                                                               \
        mtlm_mpi_turn_take();                                                  \
        MTLM_CHECK_MPI(call);                                                  \
        mtlm_mpi_turn_end();                                                   \
        mtlm_mpi_turn_await(&request, what);                                   \
    } while (0)

/* A call of MPI that fails ends the job. */
#define MTLM_CHECK_MPI(call)                                                   \
    mtlm_mpi_turn_check(call, #call, __FILE__, __LINE__)

void mtlm_mpi_turn_check(int rc, const char *call, const char *file, int line);

#endif /* MTLM_MPI_TURN_H */
