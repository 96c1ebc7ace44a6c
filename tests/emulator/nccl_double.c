/* A stand-in for NCCL, over the device double, for tests.
 *
 * Ranks are processes of one host that meet in shared memory.  As on a GPU a
 * collective holds up its stream until all ranks of the communicator have
 * issued it and moved its data, and what the ranks of a communicator issue is
 * matched in order: ranks that issue in orders that do not fit together hang,
 * and kinds or sizes that do not fit end the program with a sentence.
 *
 *   MTLM_DOUBLE_NCCL_VERSION=22706   what ncclGetVersion() says
 *   MTLM_DOUBLE_NCCL_FAIL=20         the 20th collective that this process
 *                                    issues never ends, and its communicator
 *                                    has an asynchronous error
 *   MTLM_DOUBLE_NCCL_FAIL_RANK=1     only on this rank of MPI
 *
 * Communicators do not block (config.blocking 0): they are in progress until
 * all ranks have come, and so is their first collective, for which the real
 * ones connect the ranks, until all have issued it.
 *
 * Meanings of calls: NCCL user guide 2.28. */

#define _GNU_SOURCE

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nccl.h>

#include "tests/emulator/device_double.h"

enum { MAX_RANKS = 16, PIECE = 1 << 16 };

/* What a rank issues, in pieces of data that fit its place. */
struct what {
    int kind, type, op;
    size_t count; /* per block */
};

enum { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER };

/* Of a rank, in shared memory: how many pieces it has laid down and how many
 * it has done with; the collective that they are of; the piece. */
struct place {
    _Atomic long laid, taken;
    _Atomic long issued; /* collectives */
    struct what what;
    char piece[PIECE];
};

struct meeting {
    _Atomic int come;
    struct place place[MAX_RANKS];
};

struct collective {
    struct ncclComm *comm;
    struct what what;
    const char *from;
    char *to;
    size_t at;  /* elements of a block that are done */
    int block;  /* reduce-scatter, all-gather: which one is under way */
    long piece; /* number of the piece, over the communicator's life */
    bool laid;
    bool fails;
    cudaStream_t stream;
};

struct ncclComm {
    struct meeting *meeting;
    char name[NCCL_UNIQUE_ID_BYTES];
    int rank, ranks;
    long pieces;              /* of all collectives so far */
    struct collective *first; /* that connects the ranks, not enqueued yet */
    bool met, connected;
    _Atomic bool aborted, failed;
};

__attribute__((noreturn, format(printf, 1, 2))) static void wrong(
    const char *fmt, ...)
{
    va_list args;

    fputs("NCCL double: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

static long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text ? atol(text) : otherwise;
}

/* ---- numbers ---- */

static size_t bytes_of(ncclDataType_t type)
{
    switch (type) {
    case ncclFloat16:
    case ncclBfloat16:
        return 2;
    case ncclFloat64:
        return 8;
    default:
        return 4;
    }
}

static float from_bfloat16(uint16_t bits)
{
    const uint32_t wide = (uint32_t) bits << 16;
    float x;

    memcpy(&x, &wide, sizeof(x));
    return x;
}

/* Nearest, of two the even one. */
static uint16_t to_bfloat16(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static double get(const void *p, size_t i, ncclDataType_t type)
{
    switch (type) {
    case ncclFloat16:
        return ((const _Float16 *) p)[i];
    case ncclBfloat16:
        return from_bfloat16(((const uint16_t *) p)[i]);
    case ncclFloat32:
        return ((const float *) p)[i];
    case ncclFloat64:
        return ((const double *) p)[i];
    default:
        return ((const int *) p)[i];
    }
}

static void put(void *p, size_t i, ncclDataType_t type, double x)
{
    switch (type) {
    case ncclFloat16:
        ((_Float16 *) p)[i] = x;
        break;
    case ncclBfloat16:
        ((uint16_t *) p)[i] = to_bfloat16(x);
        break;
    case ncclFloat32:
        ((float *) p)[i] = x;
        break;
    case ncclFloat64:
        ((double *) p)[i] = x;
        break;
    default:
        ((int *) p)[i] = x;
    }
}

/* ---- collectives ---- */

static bool all(const struct ncclComm *comm, size_t counter, long at_least)
{
    for (int r = 0; r < comm->ranks; r++)
        if (*(_Atomic long *) ((char *) &comm->meeting->place[r] + counter)
            < at_least)
            return false;
    return true;
}

#define ALL(comm, counter, at_least)                                           \
    all(comm, offsetof(struct place, counter), at_least)

static size_t elements_now(const struct collective *c)
{
    const size_t left = c->what.count - c->at;
    const size_t fit = PIECE / bytes_of(c->what.type);

    return left < fit ? left : fit;
}

static void lay_down(struct collective *c)
{
    struct ncclComm *comm = c->comm;
    struct place *mine = &comm->meeting->place[comm->rank];
    const size_t size = bytes_of(c->what.type);

    mine->what = c->what;
    memcpy(mine->piece, c->from + (c->block * c->what.count + c->at) * size,
           elements_now(c) * size);
    mine->laid = c->piece + 1;
    c->laid = true;
}

static void check_match(const struct collective *c)
{
    static const char *const name[] = {
        [ALL_REDUCE] = "an all-reduce",
        [REDUCE_SCATTER] = "a reduce-scatter",
        [ALL_GATHER] = "an all-gather",
    };

    for (int r = 0; r < c->comm->ranks; r++) {
        const struct what *other = &c->comm->meeting->place[r].what;

        if (memcmp(other, &c->what, sizeof(*other)) != 0)
            wrong("rank %d of %d: %s of %zu elements meets %s of %zu of rank "
                  "%d",
                  c->comm->rank, c->comm->ranks, name[c->what.kind],
                  c->what.count, name[other->kind], other->count, r);
    }
}

static void reduce(const struct collective *c, char *to)
{
    const struct place *place = c->comm->meeting->place;
    const ncclDataType_t type = c->what.type;

    for (size_t i = 0; i < elements_now(c); i++) {
        double result = get(place[0].piece, i, type);

        for (int r = 1; r < c->comm->ranks; r++) {
            const double x = get(place[r].piece, i, type);

            result = c->what.op == ncclSum ? result + x
                     : x > result          ? x
                                           : result;
        }
        put(to, i, type, result);
    }
}

static void take_up(struct collective *c)
{
    struct ncclComm *comm = c->comm;
    const size_t size = bytes_of(c->what.type), n = elements_now(c);

    check_match(c);
    if (c->what.kind == ALL_GATHER)
        for (int r = 0; r < comm->ranks; r++)
            memcpy(c->to + (r * c->what.count + c->at) * size,
                   comm->meeting->place[r].piece, n * size);
    else if (c->what.kind == ALL_REDUCE || c->block == comm->rank)
        reduce(c, c->to + c->at * size);
    comm->meeting->place[comm->rank].taken = ++c->piece;
    c->laid = false;
    c->at += n;
    if (c->at == c->what.count) {
        c->at = 0;
        c->block++;
    }
}

/* As far as the others let it; whether it is over. */
static bool progress(void *argument)
{
    struct collective *c = argument;
    struct ncclComm *comm = c->comm;
    const int blocks = c->what.kind == REDUCE_SCATTER ? comm->ranks : 1;

    if (c->piece < 0)
        c->piece = comm->pieces;
    while (!comm->aborted && c->block < blocks) {
        if (c->fails)
            return false;
        if (!c->laid && !ALL(comm, taken, c->piece))
            return false;
        if (!c->laid)
            lay_down(c);
        if (!ALL(comm, laid, c->piece + 1))
            return false;
        take_up(c);
    }
    comm->pieces = c->piece;
    free(c);
    return true;
}

static bool fails_now(void)
{
    static _Atomic long issued;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    return ++issued == setting("MTLM_DOUBLE_NCCL_FAIL", 0)
           && setting("MTLM_DOUBLE_NCCL_FAIL_RANK", 0)
                  == (rank ? atol(rank) : 0);
}

static void check_memory(const void *p, const char *what)
{
    struct cudaPointerAttributes attributes;

    if (getenv("MTLM_DOUBLE_NCCL_HOST"))
        return;
    cudaPointerGetAttributes(&attributes, p);
    if (attributes.type != cudaMemoryTypeDevice)
        wrong("%s host memory", what);
}

static ncclResult_t issue(struct what what, const void *from, void *to,
                          ncclComm_t comm, cudaStream_t stream)
{
    struct collective *c = calloc(1, sizeof(*c));

    check_memory(from, "reads");
    check_memory(to, "writes");
    if (comm->first)
        wrong("a collective while the communicator is in progress");
    *c = (struct collective){.comm = comm,
                             .what = what,
                             .from = from,
                             .to = to,
                             .piece = -1,
                             .stream = stream,
                             .fails = fails_now()};
    comm->meeting->place[comm->rank].issued++;
    if (comm->connected) {
        comm->failed = comm->failed || c->fails;
        mtlm_double_enqueue(stream, progress, c);
        return ncclSuccess;
    }
    comm->first = c;
    return ncclInProgress;
}

static struct what what_of(int kind, ncclDataType_t type, ncclRedOp_t op,
                           size_t count)
{
    struct what what;

    memset(&what, 0, sizeof(what)); /* compared as a whole */
    what.kind = kind;
    what.type = type;
    what.op = op;
    what.count = count;
    return what;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count,
                           ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream)
{
    return issue(what_of(ALL_REDUCE, type, op, count), from, to, comm, stream);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count,
                               ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream)
{
    return issue(what_of(REDUCE_SCATTER, type, op, count), from, to, comm,
                 stream);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count,
                           ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream)
{
    return issue(what_of(ALL_GATHER, type, ncclSum, count), from, to, comm,
                 stream);
}

/* ---- communicators ---- */

ncclResult_t ncclGetVersion(int *version)
{
    *version = setting("MTLM_DOUBLE_NCCL_VERSION", NCCL_VERSION_CODE);
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    static _Atomic int made;

    memset(id, 0, sizeof(*id));
    snprintf(id->internal, sizeof(id->internal), "/mtlm-nccl-double-%d-%d",
             (int) getpid(), ++made);
    return ncclSuccess;
}

static struct meeting *open_meeting(const char *name)
{
    const int fd = shm_open(name, O_RDWR | O_CREAT, 0600);
    struct meeting *meeting;

    if (fd < 0 || ftruncate(fd, sizeof(*meeting)) != 0)
        wrong("no shared memory %s", name);
    meeting =
        mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (meeting == MAP_FAILED)
        wrong("no shared memory %s", name);
    close(fd);
    return meeting;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    if (!config || config->blocking != 0)
        wrong("communicators of this double do not block");
    if (ranks < 1 || ranks > MAX_RANKS || rank < 0 || rank >= ranks)
        wrong("rank %d of %d, the double has at most %d", rank, ranks,
              MAX_RANKS);
    *comm = calloc(1, sizeof(**comm));
    memcpy((*comm)->name, id.internal, sizeof((*comm)->name));
    (*comm)->meeting = open_meeting(id.internal);
    (*comm)->rank = rank;
    (*comm)->ranks = ranks;
    (*comm)->meeting->come++;
    return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    *error = ncclInProgress;
    if (comm->meeting->come < comm->ranks)
        return ncclSuccess;
    if (!comm->met)
        shm_unlink(comm->name);
    comm->met = true;
    if (comm->first) {
        if (!ALL(comm, issued, 1))
            return ncclSuccess;
        comm->failed = comm->first->fails;
        mtlm_double_enqueue(comm->first->stream, progress, comm->first);
        comm->first = NULL;
        comm->connected = true;
    }
    *error = comm->failed ? ncclRemoteError : ncclSuccess;
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    return comm->first ? ncclInvalidUsage : ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    munmap(comm->meeting, sizeof(*comm->meeting));
    free(comm);
    return ncclSuccess;
}

/* Its collectives end as they are; what they look at stays. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    shm_unlink(comm->name);
    comm->aborted = true;
    fprintf(stderr, "NCCL double: aborted\n");
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclRemoteError
               ? "remote process exited or there was a network error"
               : "an error that the NCCL double has no words for";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void) comm;
    return "";
}
