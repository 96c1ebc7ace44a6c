/* The transport through MPI, from and to host memory. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/memory.h"
#include "runtime/base/value16.h"
#include "runtime/comm/activity.h"
#include "runtime/comm/pair_sum.h"
#include "runtime/comm/transport.h"

/* The transport, and sums of 16-bit elements, which MPI lacks.  pair_sums: of
 * each group so far; ranks of a group issue them in the same order. */
struct mpi {
    struct mtlm_transport transport;
    MPI_Op sum_bf16, sum_f16;
    unsigned pair_sums[MTLM_GROUP_COUNT];
};

/* The MPI standard's smallest MPI_TAG_UB. */
enum { SMALLEST_MAX_TAG = 32767 };

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

/* Add two ranks' partial sums, with rounding. */
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

/* Whether a reduce-scatter puts this rank's block where it lies in the buffer.
 */
static bool scatters_in_place(const struct mtlm_ranks *ranks,
                              const struct mtlm_transfer *transfer)
{
    const struct mtlm_message *m = &transfer->message;

    return m->kind == MTLM_REDUCE_SCATTER
           && (char *) transfer->into
                  == (char *) transfer->buffer
                         + mtlm_ranks_group_rank(ranks, m->group)
                               * block_bytes(ranks, m);
}

/* A maximum with NaN depends on the order, so two ranks could differ. */
static bool is_pair_sum(const struct mtlm_ranks *ranks,
                        const struct mtlm_message *m)
{
    return (m->kind == MTLM_ALL_REDUCE || m->kind == MTLM_REDUCE_SCATTER)
           && m->reduce == MTLM_REDUCE_SUM
           && mtlm_ranks_group_size(ranks, m->group) == 2;
}

/* Sets what the sum sends and where it is, for an all-reduce or a
 * reduce-scatter. */
static void find_values(const struct mtlm_ranks *ranks,
                        const struct mtlm_transfer *transfer,
                        struct mtlm_pair_sum_config *config)
{
    const struct mtlm_message *m = &transfer->message;
    const int mine = mtlm_ranks_group_rank(ranks, m->group);
    const size_t bytes = block_bytes(ranks, m);
    const char *block = transfer->buffer;

    config->send = config->sum = transfer->buffer;
    config->n = (int) m->count;
    if (m->kind == MTLM_ALL_REDUCE)
        return;
    config->send = block + (1 - mine) * bytes;
    config->sum = transfer->into;
    config->n /= 2;
    if (!scatters_in_place(ranks, transfer))
        memcpy(transfer->into, block + mine * bytes, bytes);
}

static void start_pair_sum(struct mpi *mpi, struct mtlm_transfer *transfer)
{
    const struct mtlm_ranks *ranks = mpi->transport.ranks;
    const struct mtlm_message *m = &transfer->message;
    struct mtlm_pair_sum_config config = {.comm = ranks->group[m->group],
                                          .type = datatype(m->dtype),
                                          .op = operation(mpi, m)};

    config.tag = (int) (mpi->pair_sums[m->group]++ & SMALLEST_MAX_TAG);
    find_values(ranks, transfer, &config);
    transfer->pair_sum = mtlm_pair_sum_start(&config);
}

/* Wakes the other rank: a piece was received, or added. */
static bool test_pair_sum(const struct mtlm_ranks *ranks,
                          struct mtlm_transfer *transfer)
{
    const enum mtlm_pair_sum_state state =
        mtlm_pair_sum_test(transfer->pair_sum);

    if (state == MTLM_PAIR_SUM_MOVES) {
        mtlm_activity_progress(); /* a long sum is no silence */
        transfer->pieces++;
        mtlm_doorbell_ring_all(ranks->bell,
                               ranks->group[transfer->message.group]);
    }
    return state == MTLM_PAIR_SUM_ENDS;
}

static void issue_collective(const struct mpi *mpi,
                             struct mtlm_transfer *transfer)
{
    const struct mtlm_ranks *ranks = mpi->transport.ranks;
    const struct mtlm_message *m = &transfer->message;
    const MPI_Comm comm = ranks->group[m->group];
    const MPI_Datatype type = datatype(m->dtype);
    const MPI_Op op = operation(mpi, m);
    const int n = (int) m->count;
    const bool in_place = scatters_in_place(ranks, transfer);

    switch (m->kind) {
    case MTLM_REDUCE_SCATTER:
        MTLM_CHECK_MPI(MPI_Ireduce_scatter_block(
            in_place ? MPI_IN_PLACE : transfer->buffer,
            in_place ? transfer->buffer : transfer->into,
            n / mtlm_ranks_group_size(ranks, m->group), type, op, comm,
            &transfer->mpi));
        break;
    case MTLM_ALL_GATHER:
        MTLM_CHECK_MPI(
            MPI_Iallgather(m->n_into ? transfer->buffer : MPI_IN_PLACE, n, type,
                           m->n_into ? transfer->into : transfer->buffer, n,
                           type, comm, &transfer->mpi));
        break;
    default:
        MTLM_CHECK_MPI(MPI_Iallreduce(MPI_IN_PLACE, transfer->buffer, n, type,
                                      op, comm, &transfer->mpi));
        break;
    }
}

static void issue(struct mtlm_transport *transport,
                  struct mtlm_transfer *transfer)
{
    const struct mtlm_ranks *ranks = transport->ranks;
    struct mtlm_message *m = &transfer->message;
    const MPI_Datatype type = datatype(m->dtype);
    const int n = (int) m->count;

    transfer->rung =
        !mtlm_message_is_collective(m->kind) || is_pair_sum(ranks, m);
    if (m->kind == MTLM_RECV) {
        MTLM_CHECK_MPI(MPI_Irecv(transfer->buffer, n, type, m->peer, m->tag,
                                 ranks->p2p, &transfer->mpi));
    } else if (m->kind == MTLM_SEND) {
        MTLM_CHECK_MPI(MPI_Isend(transfer->buffer, n, type, m->peer, m->tag,
                                 ranks->p2p, &transfer->mpi));
        mtlm_doorbell_ring_rank(ranks->bell, ranks->p2p, m->peer);
    } else {
        if (is_pair_sum(ranks, m))
            start_pair_sum((struct mpi *) transport, transfer);
        else
            issue_collective((const struct mpi *) transport, transfer);
        mtlm_doorbell_ring_all(ranks->bell, ranks->group[m->group]);
    }
}

static bool test(struct mtlm_transport *transport,
                 struct mtlm_transfer *transfer)
{
    const struct mtlm_ranks *ranks = transport->ranks;
    int done;

    if (is_pair_sum(ranks, &transfer->message))
        return test_pair_sum(ranks, transfer);
    MTLM_CHECK_MPI(MPI_Test(&transfer->mpi, &done, MPI_STATUS_IGNORE));
    /* The message was sent, too. */
    if (done && transfer->message.kind == MTLM_RECV
        && mtlm_doorbell_reaches(ranks->bell, ranks->size))
        mtlm_doorbell_ring_rank(ranks->bell, ranks->p2p,
                                transfer->message.peer);
    /* MPI leaves the block at the begin of the buffer. */
    if (done && scatters_in_place(ranks, transfer)
        && transfer->into != transfer->buffer)
        memcpy(transfer->into, transfer->buffer,
               block_bytes(ranks, &transfer->message));
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
