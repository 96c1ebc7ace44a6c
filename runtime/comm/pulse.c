/* Signs of life along a binary tree of ranks. */

#include "config.h"

#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/comm/mpi_turn.h"
#include "runtime/comm/pulse.h"

/* Goodbye, in place of an age. */
#define LAST INT64_C(-1)

struct neighbour {
    int rank;
    int64_t heard_ns;
    int64_t progress_ns; /* last progress on its side of the tree */
    int64_t in, out;     /* buffers: ages in nanoseconds */
    MPI_Request recv, send;
    bool ends; /* has said goodbye */
};

struct mtlm_pulse {
    MPI_Comm comm;
    int n;
    struct neighbour neighbour[3]; /* parent, children */
};

static void expect_sign(struct mtlm_pulse *pulse, struct neighbour *of)
{
    MTLM_CHECK_MPI(MPI_Irecv(&of->in, 1, MPI_INT64_T, of->rank, 0, pulse->comm,
                             &of->recv));
}

static void send_sign(struct mtlm_pulse *pulse, struct neighbour *to,
                      int64_t age)
{
    to->out = age;
    MTLM_CHECK_MPI(MPI_Isend(&to->out, 1, MPI_INT64_T, to->rank, 0, pulse->comm,
                             &to->send));
}

struct mtlm_pulse *mtlm_pulse_create(MPI_Comm comm)
{
    struct mtlm_pulse *pulse = mtlm_calloc(1, sizeof(*pulse));
    int rank, size;

    mtlm_mpi_turn_take();
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    pulse->comm = comm;
    if (rank > 0)
        pulse->neighbour[pulse->n++].rank = (rank - 1) / 2;
    for (int child = 2 * rank + 1; child <= 2 * rank + 2; child++)
        if (child < size)
            pulse->neighbour[pulse->n++].rank = child;
    for (int i = 0; i < pulse->n; i++) {
        pulse->neighbour[i].heard_ns = mtlm_now_ns();
        pulse->neighbour[i].progress_ns = mtlm_now_ns();
        pulse->neighbour[i].send = MPI_REQUEST_NULL;
        expect_sign(pulse, &pulse->neighbour[i]);
    }
    mtlm_mpi_turn_end();
    return pulse;
}

/* Receives all signs that have arrived from a neighbour. */
static void take_signs(struct mtlm_pulse *pulse, struct neighbour *from)
{
    while (!from->ends) {
        int done;

        MTLM_CHECK_MPI(MPI_Test(&from->recv, &done, MPI_STATUS_IGNORE));
        if (!done)
            break;
        from->heard_ns = mtlm_now_ns();
        from->ends = from->in == LAST;
        if (!from->ends) {
            from->progress_ns = from->heard_ns - from->in;
            expect_sign(pulse, from);
        }
    }
}

/* Returns the last progress of this rank and of all sides of the tree except
 * `but` (NULL: no exception). */
static int64_t latest(const struct mtlm_pulse *pulse, int64_t own_ns,
                      const struct neighbour *but)
{
    int64_t ns = own_ns;

    for (int i = 0; i < pulse->n; i++) {
        const struct neighbour *of = &pulse->neighbour[i];

        if (of != but && of->progress_ns > ns)
            ns = of->progress_ns;
    }
    return ns;
}

int64_t mtlm_pulse_beat(struct mtlm_pulse *pulse, int64_t own_ns)
{
    for (int i = 0; i < pulse->n; i++)
        take_signs(pulse, &pulse->neighbour[i]);
    for (int i = 0; i < pulse->n; i++) {
        struct neighbour *to = &pulse->neighbour[i];
        const int64_t age = mtlm_now_ns() - latest(pulse, own_ns, to);
        int sent;

        /* Without a copy in MPI the previous sign may still be in flight. */
        MTLM_CHECK_MPI(MPI_Test(&to->send, &sent, MPI_STATUS_IGNORE));
        if (sent)
            send_sign(pulse, to, age > 0 ? age : 0);
    }
    return latest(pulse, own_ns, NULL);
}

/* Shifts a time, at most to now. */
static int64_t shifted(int64_t time_ns, int64_t late_ns, int64_t now)
{
    return time_ns + late_ns < now ? time_ns + late_ns : now;
}

void mtlm_pulse_shift(struct mtlm_pulse *pulse, int64_t late_ns)
{
    const int64_t now = mtlm_now_ns();

    for (int i = 0; i < pulse->n; i++) {
        struct neighbour *of = &pulse->neighbour[i];

        of->heard_ns = shifted(of->heard_ns, late_ns, now);
        of->progress_ns = shifted(of->progress_ns, late_ns, now);
    }
}

int mtlm_pulse_silent(const struct mtlm_pulse *pulse, int64_t *since_ns)
{
    int rank = -1;

    *since_ns = INT64_MAX;
    for (int i = 0; i < pulse->n; i++) {
        const struct neighbour *of = &pulse->neighbour[i];

        if (!of->ends && of->heard_ns < *since_ns) {
            *since_ns = of->heard_ns;
            rank = of->rank;
        }
    }
    return rank;
}

void mtlm_pulse_destroy(struct mtlm_pulse *pulse)
{
    static const char what[] = "all ranks to end";

    for (int i = 0; pulse && i < pulse->n; i++) {
        struct neighbour *to = &pulse->neighbour[i];

        mtlm_mpi_turn_await(&to->send, what);
        mtlm_mpi_turn_take();
        send_sign(pulse, to, LAST);
        mtlm_mpi_turn_end();
    }
    for (int i = 0; pulse && i < pulse->n; i++) {
        struct neighbour *of = &pulse->neighbour[i];

        mtlm_mpi_turn_await(&of->send, what);
        while (!of->ends) {
            mtlm_mpi_turn_await(&of->recv, what);
            of->ends = of->in == LAST;
            if (!of->ends) {
                mtlm_mpi_turn_take();
                expect_sign(pulse, of);
                mtlm_mpi_turn_end();
            }
        }
    }
    free(pulse);
}
