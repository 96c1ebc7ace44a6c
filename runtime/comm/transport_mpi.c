/* Messages by MPI, from and to host memory. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/memory.h"
#include "runtime/base/value16.h"
#include "runtime/comm/transport.h"

/* This one's transport, and its sums of 16-bit elements, which MPI has not. */
struct mpi {
    struct mtlm_transport transport;
    MPI_Op sum_bf16, sum_f16;
};

static MPI_Datatype datatype(enum mtlm_dtype dtype)
{
    switch (dtype) {
    case MTLM_REAL:
        return sizeof(mtlm_real) == 8 ? MPI_DOUBLE : MPI_FLOAT;
    case MTLM_F64:
        return MPI_DOUBLE;
    case MTLM_BF16:
    case MTLM_F16:
        return MPI_UINT16_T;
    case MTLM_I32:
    case MTLM_VALUE:
        break;
    }
    return MPI_INT32_T;
}

/* Two ranks' sums, or elements, become one: rounded each time. */
static void sum_bf16(void *from, void *to, int *n, MPI_Datatype *type)
{
    (void) type;
    mtlm_value16_add(MTLM_BF16, from, *n, to);
}

static void sum_f16(void *from, void *to, int *n, MPI_Datatype *type)
{
    (void) type;
    mtlm_value16_add(MTLM_F16, from, *n, to);
}

static MPI_Op operation(const struct mpi *mpi, const struct mtlm_message *m)
{
    const bool max = m->reduce == MTLM_REDUCE_MAX;

    assert(!max || !mtlm_dtype_is_16_bit(m->dtype));
    return max                     ? MPI_MAX
           : m->dtype == MTLM_BF16 ? mpi->sum_bf16
           : m->dtype == MTLM_F16  ? mpi->sum_f16
                                   : MPI_SUM;
}

static size_t block_bytes(const struct mtlm_ranks *ranks,
                          const struct mtlm_message *m)
{
    return m->count / mtlm_ranks_group_size(ranks, m->group)
           * mtlm_dtype_bytes(m->dtype);
}

/* Whether this rank's block of the sum is to come where it is in the buffer. */
static bool scatters_in_place(const struct mtlm_ranks *ranks,
                              const struct mtlm_request *request)
{
    const struct mtlm_message *m = &request->message;

    return m->kind == MTLM_REDUCE_SCATTER
           && (char *) request->into
                  == (char *) request->buffer
                         + mtlm_ranks_group_rank(ranks, m->group)
                               * block_bytes(ranks, m);
}

static void issue_collective(const struct mpi *mpi,
                             struct mtlm_request *request)
{
    const struct mtlm_ranks *ranks = mpi->transport.ranks;
    const struct mtlm_message *m = &request->message;
    const MPI_Comm comm = ranks->group[m->group];
    const MPI_Datatype type = datatype(m->dtype);
    const MPI_Op op = operation(mpi, m);
    const int n = (int) m->count;
    const bool in_place = scatters_in_place(ranks, request);

    switch (m->kind) {
    case MTLM_REDUCE_SCATTER:
        MTLM_CHECK_MPI(MPI_Ireduce_scatter_block(
            in_place ? MPI_IN_PLACE : request->buffer,
            in_place ? request->buffer : request->into,
            n / mtlm_ranks_group_size(ranks, m->group), type, op, comm,
            &request->mpi));
        break;
    case MTLM_ALL_GATHER:
        MTLM_CHECK_MPI(
            MPI_Iallgather(m->n_into ? request->buffer : MPI_IN_PLACE, n, type,
                           m->n_into ? request->into : request->buffer, n, type,
                           comm, &request->mpi));
        break;
    default:
        MTLM_CHECK_MPI(MPI_Iallreduce(MPI_IN_PLACE, request->buffer, n, type,
                                      op, comm, &request->mpi));
        break;
    }
}

static void issue(struct mtlm_transport *transport,
                  struct mtlm_request *request)
{
    const struct mtlm_ranks *ranks = transport->ranks;
    struct mtlm_message *m = &request->message;
    const MPI_Datatype type = datatype(m->dtype);
    const int n = (int) m->count;

    if (m->kind == MTLM_RECV) {
        MTLM_CHECK_MPI(MPI_Irecv(request->buffer, n, type, m->peer, m->tag,
                                 ranks->p2p, &request->mpi));
    } else if (m->kind == MTLM_SEND) {
        MTLM_CHECK_MPI(MPI_Isend(request->buffer, n, type, m->peer, m->tag,
                                 ranks->p2p, &request->mpi));
        mtlm_doorbell_ring_rank(ranks->bell, ranks->p2p, m->peer);
    } else {
        issue_collective((const struct mpi *) transport, request);
        mtlm_doorbell_ring_all(ranks->bell, ranks->group[m->group]);
    }
}

static bool test(struct mtlm_transport *transport, struct mtlm_request *request)
{
    const struct mtlm_ranks *ranks = transport->ranks;
    int done;

    MTLM_CHECK_MPI(MPI_Test(&request->mpi, &done, MPI_STATUS_IGNORE));
    /* MPI leaves it at the buffer's begin. */
    if (done && scatters_in_place(ranks, request)
        && request->into != request->buffer)
        memcpy(request->into, request->buffer,
               block_bytes(ranks, &request->message));
    return done;
}

static void destroy(struct mtlm_transport *transport)
{
    struct mpi *mpi = (struct mpi *) transport;

    mtlm_mpi_turn_take();
    MTLM_CHECK_MPI(MPI_Op_free(&mpi->sum_bf16));
    MTLM_CHECK_MPI(MPI_Op_free(&mpi->sum_f16));
    mtlm_mpi_turn_end();
    free(mpi);
}

struct mtlm_transport *mtlm_transport_mpi(const struct mtlm_ranks *ranks)
{
    const int commutes = 1;
    struct mpi *mpi = mtlm_calloc(1, sizeof(*mpi));

    mpi->transport = (struct mtlm_transport){.ranks = ranks,
                                             .node = STARPU_MAIN_RAM,
                                             .issue = issue,
                                             .test = test,
                                             .destroy = destroy};
    mtlm_mpi_turn_take();
    MTLM_CHECK_MPI(MPI_Op_create(sum_bf16, commutes, &mpi->sum_bf16));
    MTLM_CHECK_MPI(MPI_Op_create(sum_f16, commutes, &mpi->sum_f16));
    mtlm_mpi_turn_end();
    return &mpi->transport;
}
