#ifndef MTLM_MPI_TURN_H
#define MTLM_MPI_TURN_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* MPI runs at level MPI_THREAD_SERIALIZED: any thread may call it, one at a
 * time.  Those that do take turns: the communication engine, the main thread
 * outside its life, and now and then the thread that tells other ranks that
 * this one is alive (runtime/comm/pulse.h).  First come, first served: a thread
 * that takes turn after turn leaves the others theirs.
 *
 * Nobody waits for another rank during a turn, for then this rank would seem
 * dead: such a wait is mtlm_mpi_turn_await(). */
void mtlm_mpi_turn_take(void);
void mtlm_mpi_turn_end(void);

/* The same; false: there was no turn within that time. */
bool mtlm_mpi_turn_try(int64_t within_ns);

/* The main thread's: returns when request is complete, whose transfer is
 * under way.  what: what the ranks are to do (mtlm_activity_wait_begin()). Asks
 * often at first, then at an eighth of the time that has passed, at least
 * every 5 ms. */
void mtlm_mpi_turn_await(MPI_Request *request, const char *what);

/* Waits for what `call` starts as `request`, which it names. */
#define MTLM_AWAIT_MPI(what, call)                                             \
    do {                                                                       \
        MPI_Request request;                                                   \
                                                                               \
        mtlm_mpi_turn_take();                                                  \
        MTLM_CHECK_MPI(call);                                                  \
        mtlm_mpi_turn_end();                                                   \
        mtlm_mpi_turn_await(&request, what);                                   \
    } while (0)

#define MTLM_CHECK_MPI(call)                                                   \
    mtlm_mpi_turn_check(call, #call, __FILE__, __LINE__)

void mtlm_mpi_turn_check(int rc, const char *call, const char *file, int line);

#endif /* MTLM_MPI_TURN_H */
