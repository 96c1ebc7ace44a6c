#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/clock.h"
#include "runtime/deadline.h"
#include "runtime/memory.h"
#include "runtime/ranks_private.h"

void mtlm_check_mpi(int rc, const char *call, const char *file, int line)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &length);
    mtlm_fatal(file, line, "%s: %s", call, text);
}

/* A call that waits for other ranks: what they are to do. */
#define AWAIT_MPI(what, call)                                                  \
    do {                                                                       \
        mtlm_deadline_begin(MTLM_WAITER_MAIN, what);                           \
        MTLM_CHECK_MPI(call);                                                  \
        mtlm_deadline_end(MTLM_WAITER_MAIN);                                   \
    } while (0)

struct mtlm_ranks *mtlm_ranks_start(int *argc, char ***argv)
{
    struct mtlm_ranks *ranks = mtlm_calloc(1, sizeof(*ranks));
    int provided;

    AWAIT_MPI("all ranks to start",
              MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks->size);
    mtlm_fatal_hook(NULL, ranks->rank);
    if (provided < MPI_THREAD_SERIALIZED)
        mtlm_fatal(__FILE__, __LINE__,
                   "this MPI does not support MPI_THREAD_SERIALIZED");
    AWAIT_MPI("all ranks to start",
              MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED,
                                  ranks->rank, MPI_INFO_NULL, &ranks->host));
    MPI_Comm_set_errhandler(ranks->host, MPI_ERRORS_RETURN);
    MPI_Comm_size(ranks->host, &ranks->on_host);
    mtlm_deadline_begin(MTLM_WAITER_MAIN, "all ranks to start");
    ranks->bell = mtlm_doorbell_create(ranks->host);
    mtlm_deadline_end(MTLM_WAITER_MAIN);
    for (int g = 0; g < MTLM_GROUP_COUNT; g++)
        ranks->group[g] = MPI_COMM_NULL;
    ranks->tickets = MPI_COMM_NULL;
    AWAIT_MPI("all ranks to start", MPI_Comm_dup(MPI_COMM_WORLD, &ranks->p2p));
    mtlm_ranks_group(ranks, MTLM_GROUP_WORLD, 0);
    return ranks;
}

static void free_comm(MPI_Comm *comm)
{
    if (*comm != MPI_COMM_NULL)
        MPI_Comm_free(comm);
}

int mtlm_ranks_rank(const struct mtlm_ranks *ranks)
{
    return ranks->rank;
}

int mtlm_ranks_size(const struct mtlm_ranks *ranks)
{
    return ranks->size;
}

int mtlm_ranks_on_host(const struct mtlm_ranks *ranks)
{
    return ranks->on_host;
}

int mtlm_ranks_sharing(const struct mtlm_ranks *ranks, uint64_t value,
                       int *before)
{
    uint64_t *all = mtlm_calloc(ranks->on_host, sizeof(*all));
    int same = 0, me;

    MPI_Comm_rank(ranks->host, &me);
    AWAIT_MPI("the ranks of this host to tell their cores",
              MPI_Allgather(&value, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T,
                            ranks->host));
    *before = 0;
    for (int r = 0; r < ranks->on_host; r++) {
        same += all[r] == value;
        *before += all[r] == value && r < me;
    }
    free(all);
    return same;
}

double mtlm_ranks_host_sum(const struct mtlm_ranks *ranks, double value)
{
    double sum;

    AWAIT_MPI("the ranks of this host to tell their share",
              MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, ranks->host));
    return sum;
}

void mtlm_ranks_group(struct mtlm_ranks *ranks, enum mtlm_group group,
                      int color)
{
    free_comm(&ranks->group[group]);
    AWAIT_MPI("all ranks to form groups",
              MPI_Comm_split(MPI_COMM_WORLD, color < 0 ? MPI_UNDEFINED : color,
                             ranks->rank, &ranks->group[group]));
    if (ranks->group[group] == MPI_COMM_NULL)
        return;
    MPI_Comm_set_errhandler(ranks->group[group], MPI_ERRORS_RETURN);
    if (group == MTLM_GROUP_TP) {
        free_comm(&ranks->tickets);
        AWAIT_MPI("all ranks to form groups",
                  MPI_Comm_dup(ranks->group[group], &ranks->tickets));
    }
}

static void free_slots(struct mtlm_ranks *ranks)
{
    for (int i = 0; i < ranks->n_slots; i++)
        free_comm(&ranks->slot[i]);
    free(ranks->slot);
    ranks->slot = NULL;
    ranks->n_slots = 0;
}

void mtlm_ranks_slots(struct mtlm_ranks *ranks, int n)
{
    free_slots(ranks);
    ranks->slot = mtlm_calloc(n, sizeof(MPI_Comm));
    ranks->n_slots = n;
    for (int i = 0; i < n; i++)
        AWAIT_MPI("all ranks to form groups",
                  MPI_Comm_dup(ranks->group[MTLM_GROUP_TP], &ranks->slot[i]));
}

void mtlm_ranks_stop(struct mtlm_ranks *ranks)
{
    for (int g = 0; g < MTLM_GROUP_COUNT; g++)
        free_comm(&ranks->group[g]);
    free_slots(ranks);
    mtlm_deadline_begin(MTLM_WAITER_MAIN, "all ranks to end");
    mtlm_doorbell_destroy(ranks->bell);
    mtlm_deadline_end(MTLM_WAITER_MAIN);
    free_comm(&ranks->host);
    free_comm(&ranks->p2p);
    free_comm(&ranks->tickets);
    AWAIT_MPI("all ranks to end", MPI_Finalize());
    free(ranks);
}

int mtlm_ranks_group_rank(const struct mtlm_ranks *ranks, enum mtlm_group group)
{
    int rank = 0;

    if (ranks->group[group] != MPI_COMM_NULL)
        MPI_Comm_rank(ranks->group[group], &rank);
    return rank;
}

int mtlm_ranks_group_size(const struct mtlm_ranks *ranks, enum mtlm_group group)
{
    int size = 1;

    if (ranks->group[group] != MPI_COMM_NULL)
        MPI_Comm_size(ranks->group[group], &size);
    return size;
}

int mtlm_ranks_agree(struct mtlm_ranks *ranks, const struct mtlm_error *err,
                     struct mtlm_error *out, int *first)
{
    int mine = err ? ranks->rank : INT_MAX, lowest;
    struct mtlm_error text = err ? *err : (struct mtlm_error){0};

    *first = 0;
    AWAIT_MPI(
        "all ranks to tell whether they are well",
        MPI_Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (lowest == INT_MAX)
        return 0;
    AWAIT_MPI("all ranks to tell whether they are well",
              MPI_Bcast(&text, sizeof(text), MPI_BYTE, lowest, MPI_COMM_WORLD));
    *out = text;
    *first = lowest == ranks->rank;
    return -1;
}

/* Where text differs from other: "its first such line, not the other's". */
static void differing_line(const char *text, const char *other, char line[256])
{
    for (;;) {
        const size_t n = strcspn(text, "\n"), m = strcspn(other, "\n");

        if (n != m || strncmp(text, other, n) || !text[n] || !other[n]) {
            snprintf(line, 256, "%.*s, not %.*s", n > 110 ? 110 : (int) n, text,
                     m > 110 ? 110 : (int) m, other);
            return;
        }
        text += n + 1;
        other += m + 1;
    }
}

int mtlm_ranks_same(struct mtlm_ranks *ranks, const char *text,
                    const char *what, enum mtlm_exit code,
                    struct mtlm_error *err)
{
    int n = strlen(text) + 1, same;
    char *first, line[256] = "";
    int64_t all;

    AWAIT_MPI("all ranks to compare themselves",
              MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD));
    first = mtlm_calloc(n, 1);
    if (ranks->rank == 0)
        strcpy(first, text);
    AWAIT_MPI("all ranks to compare themselves",
              MPI_Bcast(first, n, MPI_BYTE, 0, MPI_COMM_WORLD));
    same = strcmp(first, text) == 0;
    if (!same)
        differing_line(text, first, line);
    free(first);
    all = mtlm_ranks_min(ranks, same ? INT64_MAX : ranks->rank);
    if (all == INT64_MAX)
        return 0;
    AWAIT_MPI(
        "all ranks to compare themselves",
        MPI_Bcast(line, sizeof(line), MPI_BYTE, (int) all, MPI_COMM_WORLD));
    return mtlm_error_set(err, code, "rank %d %s than rank 0: %s", (int) all,
                          what, line);
}

void *mtlm_ranks_gather(struct mtlm_ranks *ranks, const void *data,
                        size_t bytes, size_t *total)
{
    /* One message a rank: counts of MPI are int, so in pieces. */
    enum { PIECE = 1 << 28 };
    char *all = NULL;
    size_t filled = bytes;

    if (ranks->rank != 0) {
        AWAIT_MPI("all ranks to hand over what they have",
                  MPI_Send(&bytes, sizeof(bytes), MPI_BYTE, 0, 0, ranks->p2p));
        for (size_t at = 0; at < bytes; at += PIECE)
            AWAIT_MPI("all ranks to hand over what they have",
                      MPI_Send((const char *) data + at,
                               bytes - at < PIECE ? bytes - at : PIECE,
                               MPI_BYTE, 0, 0, ranks->p2p));
        *total = 0;
        return NULL;
    }
    all = mtlm_realloc(NULL, bytes, 1);
    if (bytes)
        memcpy(all, data, bytes);
    for (int r = 1; r < ranks->size; r++) {
        AWAIT_MPI("all ranks to hand over what they have",
                  MPI_Recv(&bytes, sizeof(bytes), MPI_BYTE, r, 0, ranks->p2p,
                           MPI_STATUS_IGNORE));
        all = mtlm_realloc(all, filled + bytes, 1);
        for (size_t at = 0; at < bytes; at += PIECE)
            AWAIT_MPI("all ranks to hand over what they have",
                      MPI_Recv(all + filled + at,
                               bytes - at < PIECE ? bytes - at : PIECE,
                               MPI_BYTE, r, 0, ranks->p2p, MPI_STATUS_IGNORE));
        filled += bytes;
    }
    *total = filled;
    return all;
}

double mtlm_ranks_sum(struct mtlm_ranks *ranks, double value)
{
    double sum = value;

    (void) ranks;
    AWAIT_MPI("all ranks to add up", MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE,
                                                   MPI_SUM, MPI_COMM_WORLD));
    return sum;
}

int64_t mtlm_ranks_min(struct mtlm_ranks *ranks, int64_t value)
{
    int64_t min = value;

    (void) ranks;
    AWAIT_MPI(
        "all ranks to compare",
        MPI_Allreduce(&value, &min, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD));
    return min;
}

int mtlm_ranks_max_tag(const struct mtlm_ranks *ranks)
{
    int *value, found;

    MTLM_CHECK_MPI(
        MPI_Comm_get_attr(ranks->p2p, MPI_TAG_UB, (void *) &value, &found));
    return found ? *value : 32767; /* what MPI guarantees */
}

void mtlm_ranks_barrier(struct mtlm_ranks *ranks)
{
    (void) ranks;
    AWAIT_MPI("all ranks to get here", MPI_Barrier(MPI_COMM_WORLD));
}

/* One side of the round trips between rank 0 and peer. */
static int64_t ping_pong(struct mtlm_ranks *ranks, int peer)
{
    enum { ROUNDS = 200 };
    int64_t best = INT64_MAX, offset = 0, theirs = 0;

    for (int i = 0; i < ROUNDS; i++) {
        const int64_t start = mtlm_now_ns();

        if (ranks->rank == 0) {
            AWAIT_MPI("rank 0 and another to compare clocks",
                      MPI_Recv(&theirs, 1, MPI_INT64_T, peer, 0, ranks->p2p,
                               MPI_STATUS_IGNORE));
            theirs = mtlm_now_ns();
            AWAIT_MPI("rank 0 and another to compare clocks",
                      MPI_Send(&theirs, 1, MPI_INT64_T, peer, 0, ranks->p2p));
        } else {
            int64_t end;

            AWAIT_MPI("rank 0 and another to compare clocks",
                      MPI_Send(&start, 1, MPI_INT64_T, 0, 0, ranks->p2p));
            AWAIT_MPI("rank 0 and another to compare clocks",
                      MPI_Recv(&theirs, 1, MPI_INT64_T, 0, 0, ranks->p2p,
                               MPI_STATUS_IGNORE));
            end = mtlm_now_ns();
            if (end - start < best) {
                best = end - start;
                offset = theirs - (start + end) / 2;
            }
        }
    }
    return offset;
}

int64_t mtlm_ranks_clock_offset(struct mtlm_ranks *ranks)
{
    int *first = mtlm_calloc(ranks->size, sizeof(*first)), mine;
    int64_t offset = 0;

    /* The lowest rank of each host stands for all of them: they read one
     * clock, and round trips between busy processes are a worse measure. */
    AWAIT_MPI(
        "all ranks to compare clocks",
        MPI_Allreduce(&ranks->rank, &mine, 1, MPI_INT, MPI_MIN, ranks->host));
    AWAIT_MPI(
        "all ranks to compare clocks",
        MPI_Allgather(&mine, 1, MPI_INT, first, 1, MPI_INT, MPI_COMM_WORLD));
    for (int r = 1; r < ranks->size; r++)
        if (first[r] == r && ranks->rank == 0)
            ping_pong(ranks, r);
        else if (first[r] == r && ranks->rank == r)
            offset = ping_pong(ranks, 0);
    AWAIT_MPI("all ranks to compare clocks",
              MPI_Bcast(&offset, 1, MPI_INT64_T, 0, ranks->host));
    free(first);
    return offset;
}
