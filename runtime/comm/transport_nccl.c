/* The transport of collectives through NCCL, between GPUs.  Built only with
 * NCCL.
 *
 * Collectives run on one stream, in the order of issue.  An event behind each
 * collective marks its end.  For a communicator that does not block, NCCL
 * launches a collective in a thread of its own (ncclGroupEndInternal()
 * of 2.28).  Until the launch the collective is in progress; the first one
 * connects the ranks, which takes a while.  Meanwhile nothing is issued: the
 * order would not be the engine's. */

#include "config.h"

#include <stdlib.h>

#include <starpu_cuda.h>

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/comm/nccl_comm.h"
#include "runtime/comm/nccl_library.h"
#include "runtime/comm/transport.h"
#include "runtime/machine/cuda_check.h"
#include "runtime/machine/data.h"

struct nccl {
    struct mtlm_transport transport; /* the first member */
    struct mtlm_nccl_comms comms;
    cudaStream_t stream;
    cudaEvent_t *idle; /* [n_idle] events not in use */
    int n_idle, n_events;
    /* Issued last and not launched yet; or NULL. */
    struct mtlm_transfer *launching;
};

static struct nccl *running; /* of this process, for the end of the job */

static ncclDataType_t datatype(enum mtlm_dtype dtype)
{
    switch (dtype) {
    case MTLM_REAL:
        return sizeof(mtlm_real) == 8 ? ncclFloat64 : ncclFloat32;
    case MTLM_F64:
        return ncclFloat64;
    case MTLM_BF16:
        return ncclBfloat16;
    case MTLM_F16:
        return ncclFloat16;
    case MTLM_I32:
    case MTLM_VALUE: /* of no tensor */
        break;
    }
    return ncclInt32;
}

static void use_gpu(const struct mtlm_transport *transport)
{
    /* In tests the data may be in host memory. */
    if (starpu_node_get_kind(transport->node) == STARPU_CUDA_RAM)
        starpu_cuda_set_device(starpu_memory_node_get_devid(transport->node));
}

/* ---- events ---- */

static cudaEvent_t take_event(struct nccl *nccl)
{
    cudaEvent_t event;

    if (nccl->n_idle)
        return nccl->idle[--nccl->n_idle];
    nccl->idle =
        mtlm_realloc(nccl->idle, ++nccl->n_events, sizeof(*nccl->idle));
    MTLM_CHECK_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}

static void return_event(struct nccl *nccl, cudaEvent_t event)
{
    nccl->idle[nccl->n_idle++] = event;
}

/* ---- messages ---- */

static void __attribute__((noreturn))
fail(const struct nccl *nccl, const struct mtlm_transfer *transfer,
     ncclResult_t state)
{
    const struct mtlm_message *m = &transfer->message;
    const struct mtlm_ranks *ranks = nccl->transport.ranks;
    const char *more = mtlm_nccl()->GetLastError(NULL);
    char what[200];

    mtlm_transfer_describe(transfer, what, sizeof(what));
    mtlm_end_job(MTLM_EXIT_PEER,
                 "NCCL: %s%s%s, in %s (%s, as rank %d of %d of its "
                 "communicator)",
                 mtlm_nccl()->GetErrorString(state), more[0] ? ": " : "", more,
                 what, m->name ? m->name : "a message",
                 mtlm_ranks_group_rank(ranks, m->group),
                 mtlm_ranks_group_size(ranks, m->group));
}

static ncclResult_t call(struct nccl *nccl,
                         const struct mtlm_transfer *transfer)
{
    const struct mtlm_message *m = &transfer->message;
    const ncclDataType_t type = datatype(m->dtype);
    const ncclRedOp_t op = m->reduce == MTLM_REDUCE_MAX ? ncclMax : ncclSum;
    const int ranks = mtlm_ranks_group_size(nccl->transport.ranks, m->group);
    const ncclComm_t comm = nccl->comms.comm[m->group];
    const size_t block = m->count * mtlm_dtype_bytes(m->dtype);
    const struct mtlm_nccl *library = mtlm_nccl();
    char *buffer = transfer->buffer;

    switch (m->kind) {
    case MTLM_REDUCE_SCATTER:
        return library->ReduceScatter(buffer, transfer->into, m->count / ranks,
                                      type, op, comm, nccl->stream);
    case MTLM_ALL_GATHER:
        if (m->n_into)
            return library->AllGather(buffer, transfer->into, m->count, type,
                                      comm, nccl->stream);
        return library->AllGather(
            buffer
                + block
                      * mtlm_ranks_group_rank(nccl->transport.ranks, m->group),
            buffer, m->count, type, comm, nccl->stream);
    default:
        return library->AllReduce(buffer, buffer, m->count, type, op, comm,
                                  nccl->stream);
    }
}

/* Longest wait for a launch.  A launch takes less, by estimate; the engine's
 * next poll comes later. */
enum { LAUNCH_NS = 100000 };

/* Returns the state of a collective that was just issued, once it is launched
 * or LAUNCH_NS have passed. */
static ncclResult_t launched(struct nccl *nccl, enum mtlm_group group)
{
    const int64_t until = mtlm_now_ns() + LAUNCH_NS;
    ncclResult_t state;

    do
        state = mtlm_nccl_comm_state(&nccl->comms, group);
    while (state == ncclInProgress && mtlm_now_ns() < until);
    return state;
}

static void issue(struct mtlm_transport *transport,
                  struct mtlm_transfer *transfer)
{
    struct nccl *nccl = (struct nccl *) transport;
    ncclResult_t rc;

    use_gpu(transport);
    transfer->event = take_event(nccl);
    pthread_mutex_lock(&nccl->comms.mutex);
    rc = call(nccl, transfer);
    pthread_mutex_unlock(&nccl->comms.mutex);
    if (rc == ncclInProgress)
        rc = launched(nccl, transfer->message.group);
    if (rc == ncclInProgress)
        nccl->launching = transfer;
    else if (rc == ncclSuccess)
        MTLM_CHECK_CUDA(cudaEventRecord(transfer->event, nccl->stream));
    else
        fail(nccl, transfer, rc);
}

static bool test(struct mtlm_transport *transport,
                 struct mtlm_transfer *transfer)
{
    struct nccl *nccl = (struct nccl *) transport;
    cudaError_t over = cudaErrorNotReady;
    ncclResult_t state;

    if (nccl->launching != transfer)
        over = cudaEventQuery(transfer->event);
    if (over == cudaSuccess) {
        return_event(nccl, transfer->event);
        return true;
    }
    if (over != cudaErrorNotReady)
        MTLM_CHECK_CUDA(over);
    state = mtlm_nccl_comm_state(&nccl->comms, transfer->message.group);
    if (state != ncclSuccess && state != ncclInProgress)
        fail(nccl, transfer, state);
    if (state == ncclSuccess && nccl->launching == transfer) {
        nccl->launching = NULL;
        MTLM_CHECK_CUDA(cudaEventRecord(transfer->event, nccl->stream));
    }
    return false;
}

static bool ready(struct mtlm_transport *transport)
{
    return !((struct nccl *) transport)->launching;
}

/* ---- begin and end ---- */

static void abort_running(int code)
{
    (void) code;
    if (running)
        mtlm_nccl_comms_abort(&running->comms);
}

static void destroy(struct mtlm_transport *transport)
{
    struct nccl *nccl = (struct nccl *) transport;

    use_gpu(transport);
    mtlm_nccl_comms_destroy(&nccl->comms);
    running = NULL;
    for (int i = 0; i < nccl->n_idle; i++)
        MTLM_CHECK_CUDA(cudaEventDestroy(nccl->idle[i]));
    MTLM_CHECK_CUDA(cudaStreamDestroy(nccl->stream));
    free(nccl->idle);
    free(nccl);
}

struct mtlm_transport *mtlm_transport_nccl(const struct mtlm_ranks *ranks)
{
    struct nccl *nccl = mtlm_calloc(1, sizeof(*nccl));
    int least, greatest;

    nccl->transport = (struct mtlm_transport){.ranks = ranks,
                                              .node = mtlm_data_home(),
                                              .issue = issue,
                                              .test = test,
                                              .ready = ready,
                                              .destroy = destroy};
    use_gpu(&nccl->transport);
    MTLM_CHECK_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    MTLM_CHECK_CUDA(cudaStreamCreateWithPriority(
        &nccl->stream, cudaStreamNonBlocking, greatest));
    running = nccl;
    mtlm_fatal_hook(abort_running, mtlm_ranks_rank(ranks));
    mtlm_nccl_comms_create(&nccl->comms, ranks);
    return &nccl->transport;
}
