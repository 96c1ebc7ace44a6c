/* Sums of two ranks, in pieces. */

#include "config.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "runtime/base/least.h"
#include "runtime/base/memory.h"
#include "runtime/comm/group.h"
#include "runtime/comm/mpi_turn.h"
#include "runtime/comm/pair_sum.h"

/* FLYING: pieces posted at a time.  A piece stays in a cache until added. */
enum { FLYING = 2, PIECE_BYTES = MTLM_PAIR_SUM_BYTES / FLYING };

struct mtlm_pair_sum {
    struct mtlm_pair_sum_config config;
    int peer;
    int bytes;         /* of an element */
    int piece;         /* elements of a piece; the last may have less */
    int posted, added; /* elements */
    bool received;     /* the piece to add */
    char *arrived;     /* [FLYING * piece], or [n] if that is less */
    MPI_Request request[FLYING][2];
};

/* Returns the number of the piece that begins at element `at`, modulo the
 * pieces posted at a time. */
static int turn_of(const struct mtlm_pair_sum *e, int at)
{
    return at / e->piece % FLYING;
}

static char *arrived_at(const struct mtlm_pair_sum *e, int at)
{
    return e->arrived + (size_t) turn_of(e, at) * e->piece * e->bytes;
}

static size_t offset_of(const struct mtlm_pair_sum *e, int at)
{
    return (size_t) at * e->bytes;
}

static void post_piece(struct mtlm_pair_sum *e)
{
    const struct mtlm_pair_sum_config *c = &e->config;
    const int at = e->posted, n = mtlm_least(e->piece, c->n - at);
    MPI_Request *request = e->request[turn_of(e, at)];

    MTLM_CHECK_MPI(MPI_Irecv(arrived_at(e, at), n, c->type, e->peer, c->tag,
                             c->comm, &request[0]));
    MTLM_CHECK_MPI(MPI_Isend((const char *) c->send + offset_of(e, at), n,
                             c->type, e->peer, c->tag, c->comm, &request[1]));
    e->posted += n;
}

/* Posts as many pieces as may be under way. */
static void post_pieces(struct mtlm_pair_sum *e)
{
    while (e->posted < e->config.n && e->posted - e->added < FLYING * e->piece)
        post_piece(e);
}

struct mtlm_pair_sum *mtlm_pair_sum_start(
    const struct mtlm_pair_sum_config *config)
{
    struct mtlm_pair_sum *e = mtlm_calloc(1, sizeof(*e));

    assert(config->n > 0);
    e->config = *config;
    MTLM_CHECK_MPI(MPI_Comm_rank(config->comm, &e->peer));
    e->peer = 1 - e->peer;
    MTLM_CHECK_MPI(MPI_Type_size(config->type, &e->bytes));
    e->piece = mtlm_least(PIECE_BYTES / e->bytes, config->n);
    e->arrived =
        mtlm_realloc(NULL, mtlm_least(FLYING * e->piece, config->n), e->bytes);
    post_pieces(e);
    return e;
}

static enum mtlm_pair_sum_state end_sum(struct mtlm_pair_sum *e)
{
    free(e->arrived);
    free(e);
    return MTLM_PAIR_SUM_ENDS;
}

/* A piece is added after it was sent, for the sum may replace what is sent. The
 * other rank has sent a piece once this rank has received the piece: it is told
 * so. */
enum mtlm_pair_sum_state mtlm_pair_sum_test(struct mtlm_pair_sum *e)
{
    const struct mtlm_pair_sum_config *c = &e->config;
    const int at = e->added, n = mtlm_least(e->piece, c->n - at);
    MPI_Request *request = e->request[turn_of(e, at)];
    int done;

    MTLM_CHECK_MPI(MPI_Test(&request[e->received], &done, MPI_STATUS_IGNORE));
    if (!done)
        return MTLM_PAIR_SUM_WAITS;
    if (!e->received) {
        e->received = true;
        return MTLM_PAIR_SUM_MOVES;
    }
    e->received = false;
    MTLM_CHECK_MPI(MPI_Reduce_local(arrived_at(e, at),
                                    (char *) c->sum + offset_of(e, at), n,
                                    c->type, c->op));
    e->added += n;
    post_pieces(e);
    return e->added < c->n ? MTLM_PAIR_SUM_MOVES : end_sum(e);
}
