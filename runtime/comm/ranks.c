/* The ranks of the job: start and end of MPI, groups, small collectives of the
 * main threads. */

#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/least.h"
#include "runtime/base/memory.h"
#include "runtime/comm/activity.h"
#include "runtime/comm/launcher.h"
#include "runtime/comm/pulse.h"
#include "runtime/comm/ranks_private.h"
#include "runtime/comm/watchdog.h"

/* Makes a call that waits inside MPI.  While signs of life are exchanged, call
 * meet_ranks() before, so that all ranks are about to make the call. */
#define BLOCK_IN_MPI(what, call)                                               \
    do {                                                                       \
        mtlm_activity_wait_begin(MTLM_WAITER_MAIN, what);                      \
        mtlm_mpi_turn_take();                                                  \
        MTLM_CHECK_MPI(call);                                                  \
        mtlm_mpi_turn_end();                                                   \
        mtlm_activity_wait_end(MTLM_WAITER_MAIN);                              \
    } while (0)

static void meet_ranks(MPI_Comm comm, const char *what)
{
    MTLM_AWAIT_MPI(what, MPI_Ibarrier(comm, &request));
}

static void duplicate_comm(MPI_Comm comm, MPI_Comm *copy, const char *what)
{
    meet_ranks(comm, what);
    BLOCK_IN_MPI(what, MPI_Comm_dup(comm, copy));
}

static void free_comm(MPI_Comm *comm)
{
    mtlm_mpi_turn_take();
    if (*comm != MPI_COMM_NULL)
        MPI_Comm_free(comm);
    mtlm_mpi_turn_end();
}

static void note_host(struct mtlm_ranks *ranks)
{
    mtlm_mpi_turn_take();
    MPI_Comm_set_errhandler(ranks->host, MPI_ERRORS_RETURN);
    MPI_Comm_size(ranks->host, &ranks->on_host);
    MPI_Comm_rank(ranks->host, &ranks->host_rank);
    mtlm_mpi_turn_end();
}

static void set_group(struct mtlm_ranks *ranks, enum mtlm_group group,
                      MPI_Comm comm)
{
    ranks->group[group] = comm;
    ranks->group_rank[group] = 0;
    ranks->group_size[group] = 1;
    if (comm == MPI_COMM_NULL)
        return;
    mtlm_mpi_turn_take();
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &ranks->group_rank[group]);
    MPI_Comm_size(comm, &ranks->group_size[group]);
    mtlm_mpi_turn_end();
}

static int max_tag(MPI_Comm comm)
{
    int *value, found;

    mtlm_mpi_turn_take();
    MTLM_CHECK_MPI(
        MPI_Comm_get_attr(comm, MPI_TAG_UB, (void *) &value, &found));
    mtlm_mpi_turn_end();
    return found ? *value : 32767; /* what MPI guarantees */
}

/* Creates everything that communicates within ranks->world. */
static void attach_world(struct mtlm_ranks *ranks)
{
    mtlm_mpi_turn_take();
    MPI_Comm_set_errhandler(ranks->world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(ranks->world, &ranks->rank);
    MPI_Comm_size(ranks->world, &ranks->size);
    mtlm_mpi_turn_end();
    mtlm_fatal_hook(NULL, ranks->rank);
    BLOCK_IN_MPI("all ranks to start",
                 MPI_Comm_dup(ranks->world, &ranks->signs));
    ranks->pulse = mtlm_pulse_create(ranks->signs);
    mtlm_watchdog_attach(ranks->pulse);
    meet_ranks(ranks->world, "all ranks to start");
    BLOCK_IN_MPI("all ranks to start",
                 MPI_Comm_split_type(ranks->world, MPI_COMM_TYPE_SHARED,
                                     ranks->rank, MPI_INFO_NULL, &ranks->host));
    note_host(ranks);
    meet_ranks(ranks->host, "all ranks to start");
    mtlm_mpi_turn_take();
    ranks->bell = mtlm_doorbell_create(ranks->host);
    mtlm_mpi_turn_end();
    for (int g = 0; g < MTLM_GROUP_COUNT; g++)
        set_group(ranks, g, MPI_COMM_NULL);
    ranks->tickets = MPI_COMM_NULL;
    duplicate_comm(ranks->world, &ranks->p2p, "all ranks to start");
    duplicate_comm(ranks->world, &ranks->arrivals, "all ranks to start");
    ranks->max_tag = max_tag(ranks->p2p);
    mtlm_ranks_group(ranks, MTLM_GROUP_WORLD, 0);
}

/* Frees what attach_world() creates.  Signs of life end here. */
static void detach_world(struct mtlm_ranks *ranks)
{
    for (int g = 0; g < MTLM_GROUP_COUNT; g++)
        free_comm(&ranks->group[g]);
    meet_ranks(ranks->host, "all ranks to end");
    mtlm_mpi_turn_take();
    mtlm_doorbell_destroy(ranks->bell);
    mtlm_mpi_turn_end();
    free_comm(&ranks->host);
    free_comm(&ranks->p2p);
    free_comm(&ranks->arrivals);
    free_comm(&ranks->tickets);
    mtlm_watchdog_attach(NULL);
    mtlm_pulse_destroy(ranks->pulse);
    free_comm(&ranks->signs);
}

struct mtlm_ranks *mtlm_ranks_start(int *argc, char ***argv)
{
    struct mtlm_ranks *ranks = mtlm_calloc(1, sizeof(*ranks));
    int provided;

    mtlm_launcher_prepare_mpi();
    BLOCK_IN_MPI("all ranks to start",
                 MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided));
    if (provided < MPI_THREAD_SERIALIZED)
        mtlm_fatal(__FILE__, __LINE__,
                   "this MPI does not support MPI_THREAD_SERIALIZED");
    ranks->world = MPI_COMM_WORLD;
    attach_world(ranks);
    return ranks;
}

void mtlm_ranks_part(struct mtlm_ranks *ranks, bool stays)
{
    MPI_Comm all = ranks->world;

    detach_world(ranks);
    BLOCK_IN_MPI("all ranks to part",
                 MPI_Comm_split(all, stays, ranks->rank, &ranks->world));
    if (all != MPI_COMM_WORLD)
        free_comm(&all);
    attach_world(ranks);
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
    int same = 0;

    MTLM_AWAIT_MPI("the ranks of this host to tell their cores",
                   MPI_Iallgather(&value, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T,
                                  ranks->host, &request));
    *before = 0;
    for (int r = 0; r < ranks->on_host; r++) {
        same += all[r] == value;
        *before += all[r] == value && r < ranks->host_rank;
    }
    free(all);
    return same;
}

void *mtlm_ranks_host_gather(struct mtlm_ranks *ranks, const void *data,
                             size_t bytes, int *mine)
{
    char *all = mtlm_calloc(ranks->on_host, bytes);

    MTLM_AWAIT_MPI("the ranks of this host to tell what they see",
                   MPI_Iallgather(data, bytes, MPI_BYTE, all, bytes, MPI_BYTE,
                                  ranks->host, &request));
    *mine = ranks->host_rank;
    return all;
}

double mtlm_ranks_host_sum(const struct mtlm_ranks *ranks, double value)
{
    double sum;

    MTLM_AWAIT_MPI("the ranks of this host to tell their share",
                   MPI_Iallreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM,
                                  ranks->host, &request));
    return sum;
}

void mtlm_ranks_group(struct mtlm_ranks *ranks, enum mtlm_group group,
                      int color)
{
    MPI_Comm comm;

    free_comm(&ranks->group[group]);
    meet_ranks(ranks->world, "all ranks to form groups");
    BLOCK_IN_MPI("all ranks to form groups",
                 MPI_Comm_split(ranks->world, color < 0 ? MPI_UNDEFINED : color,
                                ranks->rank, &comm));
    set_group(ranks, group, comm);
    if (group == MTLM_GROUP_TP && comm != MPI_COMM_NULL) {
        free_comm(&ranks->tickets);
        duplicate_comm(comm, &ranks->tickets, "all ranks to form groups");
    }
}

void mtlm_ranks_stop(struct mtlm_ranks *ranks)
{
    detach_world(ranks);
    if (ranks->world != MPI_COMM_WORLD)
        free_comm(&ranks->world);
    BLOCK_IN_MPI("all ranks to end", MPI_Finalize());
    free(ranks);
}

int mtlm_ranks_group_rank(const struct mtlm_ranks *ranks, enum mtlm_group group)
{
    return ranks->group_rank[group];
}

int mtlm_ranks_group_size(const struct mtlm_ranks *ranks, enum mtlm_group group)
{
    return ranks->group_size[group];
}

int mtlm_ranks_agree(struct mtlm_ranks *ranks, const struct mtlm_error *err,
                     struct mtlm_error *out, int *first)
{
    int mine = err ? ranks->rank : INT_MAX, lowest;
    struct mtlm_error text = err ? *err : (struct mtlm_error){0};

    *first = 0;
    MTLM_AWAIT_MPI("all ranks to tell whether they are well",
                   MPI_Iallreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN,
                                  ranks->world, &request));
    if (lowest == INT_MAX)
        return 0;
    MTLM_AWAIT_MPI("all ranks to tell whether they are well",
                   MPI_Ibcast(&text, sizeof(text), MPI_BYTE, lowest,
                              ranks->world, &request));
    *out = text;
    *first = lowest == ranks->rank;
    return -1;
}

/* Returns a line's setting; an overridden one is a comment, "# ...". */
static const char *uncommented(const char *line)
{
    return strncmp(line, "# ", 2) == 0 ? line + 2 : line;
}

/* Writes "A, not B" to line: A and B are the first lines that differ in text
 * and in other. */
static void differing_line(const char *text, const char *other, char line[256])
{
    for (;;) {
        const size_t n = strcspn(text, "\n"), m = strcspn(other, "\n");

        if (n != m || strncmp(text, other, n) || !text[n] || !other[n]) {
            const char *mine = uncommented(text), *theirs = uncommented(other);

            snprintf(line, 256, "%.*s, not %.*s",
                     (int) mtlm_least(text + n - mine, 110), mine,
                     (int) mtlm_least(other + m - theirs, 110), theirs);
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

    MTLM_AWAIT_MPI("all ranks to compare themselves",
                   MPI_Ibcast(&n, 1, MPI_INT, 0, ranks->world, &request));
    first = mtlm_calloc(n, 1);
    if (ranks->rank == 0)
        strcpy(first, text);
    MTLM_AWAIT_MPI("all ranks to compare themselves",
                   MPI_Ibcast(first, n, MPI_BYTE, 0, ranks->world, &request));
    same = strcmp(first, text) == 0;
    if (!same)
        differing_line(text, first, line);
    free(first);
    all = mtlm_ranks_min(ranks, same ? INT64_MAX : ranks->rank);
    if (all == INT64_MAX)
        return 0;
    MTLM_AWAIT_MPI("all ranks to compare themselves",
                   MPI_Ibcast(line, sizeof(line), MPI_BYTE, (int) all,
                              ranks->world, &request));
    return mtlm_error_set(err, code, "rank %d %s than rank 0: %s", (int) all,
                          what, line);
}

void *mtlm_ranks_gather(struct mtlm_ranks *ranks, const void *data,
                        size_t bytes, size_t *total)
{
    /* Ranks send pieces: MPI counts in int. */
    enum { PIECE = 1 << 28 };
    char *all = NULL;
    size_t filled = bytes;

    if (ranks->rank != 0) {
        MTLM_AWAIT_MPI("all ranks to hand over what they have",
                       MPI_Isend(&bytes, sizeof(bytes), MPI_BYTE, 0, 0,
                                 ranks->p2p, &request));
        for (size_t at = 0; at < bytes; at += PIECE)
            MTLM_AWAIT_MPI("all ranks to hand over what they have",
                           MPI_Isend((const char *) data + at,
                                     bytes - at < PIECE ? bytes - at : PIECE,
                                     MPI_BYTE, 0, 0, ranks->p2p, &request));
        *total = 0;
        return NULL;
    }
    all = mtlm_realloc(NULL, bytes, 1);
    if (bytes)
        memcpy(all, data, bytes);
    for (int r = 1; r < ranks->size; r++) {
        MTLM_AWAIT_MPI("all ranks to hand over what they have",
                       MPI_Irecv(&bytes, sizeof(bytes), MPI_BYTE, r, 0,
                                 ranks->p2p, &request));
        all = mtlm_realloc(all, filled + bytes, 1);
        for (size_t at = 0; at < bytes; at += PIECE)
            MTLM_AWAIT_MPI("all ranks to hand over what they have",
                           MPI_Irecv(all + filled + at,
                                     bytes - at < PIECE ? bytes - at : PIECE,
                                     MPI_BYTE, r, 0, ranks->p2p, &request));
        filled += bytes;
    }
    *total = filled;
    return all;
}

double mtlm_ranks_sum(struct mtlm_ranks *ranks, double value)
{
    double sum = value;

    MTLM_AWAIT_MPI("all ranks to add up",
                   MPI_Iallreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM,
                                  ranks->world, &request));
    return sum;
}

int64_t mtlm_ranks_min(struct mtlm_ranks *ranks, int64_t value)
{
    int64_t min = value;

    MTLM_AWAIT_MPI("all ranks to compare",
                   MPI_Iallreduce(&value, &min, 1, MPI_INT64_T, MPI_MIN,
                                  ranks->world, &request));
    return min;
}

int mtlm_ranks_max_tag(const struct mtlm_ranks *ranks)
{
    return ranks->max_tag;
}

void mtlm_ranks_barrier(struct mtlm_ranks *ranks)
{
    meet_ranks(ranks->world, "all ranks to get here");
}
