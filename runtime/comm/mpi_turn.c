/* Turns of MPI, first come, first served, and waits across turns. */

#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/comm/activity.h"
#include "runtime/comm/mpi_turn.h"

/* A thread holds the door while it waits for the turn: the thread whose turn
 * ends cannot take the next one. */
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

void mtlm_mpi_turn_check(int rc, const char *call, const char *file, int line)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &length);
    mtlm_fatal(file, line, "%s: %s", call, text);
}

void mtlm_mpi_turn_take(void)
{
    pthread_mutex_lock(&door);
    pthread_mutex_lock(&turn);
    pthread_mutex_unlock(&door);
}

bool mtlm_mpi_turn_try(int64_t within_ns)
{
    const int64_t until = mtlm_now_ns() + within_ns;
    const struct timespec t = {until / 1000000000, until % 1000000000};
    int rc;

    if (pthread_mutex_clocklock(&door, CLOCK_MONOTONIC, &t) != 0)
        return false;
    rc = pthread_mutex_clocklock(&turn, CLOCK_MONOTONIC, &t);
    pthread_mutex_unlock(&door);
    return rc == 0;
}

void mtlm_mpi_turn_end(void)
{
    pthread_mutex_unlock(&turn);
}

/* Spins this long, then yields the core to other threads and ranks. */
enum { SPIN_NS = 200000, SHARE = 8, MAX_NAP_NS = 5000000 };

static void sleep_share(int64_t waited)
{
    const int64_t share = waited / SHARE;
    const struct timespec t = {0, share < MAX_NAP_NS ? share : MAX_NAP_NS};

    if (waited < SPIN_NS)
        sched_yield();
    else
        nanosleep(&t, NULL);
}

void mtlm_mpi_turn_await(MPI_Request *request, const char *what)
{
    const int64_t start = mtlm_now_ns();

    mtlm_activity_wait_begin(MTLM_WAITER_MAIN, what);
    for (;;) {
        int done;

        mtlm_mpi_turn_take();
        MTLM_CHECK_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        mtlm_mpi_turn_end();
        if (done)
            break;
        sleep_share(mtlm_now_ns() - start);
    }
    mtlm_activity_wait_end(MTLM_WAITER_MAIN);
}
