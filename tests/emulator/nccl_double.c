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
 * all ranks have come, and so is each collective until somebody asks, since the
 * real ones launch it in a thread of their own; the first, for which they
 * connect the ranks, until all have issued it.
 *
 * Kernels must be loaded when the program begins (CUDA_MODULE_LOADING=EAGER):
 * to load one later waits for what the GPU does, a collective maybe that other
 * ranks are to join.
 *
 * Meanings of calls: NCCL user guide 2.28. */

#define _GNU_SOURCE

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/emulator/nccl_double.h"

void nccl_double_wrong(const char *fmt, ...)
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

/* ---- collectives ---- */

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
        nccl_double_wrong("%s host memory", what);
}

static ncclResult_t issue(struct what what, const void *from, void *to,
                          ncclComm_t comm, cudaStream_t stream)
{
    struct collective *c = calloc(1, sizeof(*c));

    check_memory(from, "reads");
    check_memory(to, "writes");
    if (comm->launching)
        nccl_double_wrong("a collective while the communicator is in progress");
    *c = (struct collective){.comm = comm,
                             .what = what,
                             .from = from,
                             .to = to,
                             .piece = -1,
                             .stream = stream,
                             .fails = fails_now()};
    comm->meeting->place[comm->rank].issued++;
    comm->launching = c;
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
        nccl_double_wrong("no shared memory %s", name);
    meeting =
        mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (meeting == MAP_FAILED)
        nccl_double_wrong("no shared memory %s", name);
    close(fd);
    return meeting;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    if (!config || config->blocking != 0)
        nccl_double_wrong("communicators of this double do not block");
    if (ranks > 1 && !mtlm_double_eager())
        nccl_double_wrong("kernels are loaded beside collectives");
    if (ranks < 1 || ranks > MAX_RANKS || rank < 0 || rank >= ranks)
        nccl_double_wrong("rank %d of %d, the double has at most %d", rank,
                          ranks, MAX_RANKS);
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
    if (comm->launching) {
        if (!ALL(comm, issued, 1))
            return ncclSuccess;
        comm->failed = comm->failed || comm->launching->fails;
        mtlm_double_enqueue(comm->launching->stream, nccl_double_progress,
                            comm->launching);
        comm->launching = NULL;
    }
    *error = comm->failed ? ncclRemoteError : ncclSuccess;
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    return comm->launching ? ncclInvalidUsage : ncclSuccess;
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
