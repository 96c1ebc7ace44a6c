/* NCCL communicators: creation, end and abort.  Built only with NCCL. */

#include "config.h"

#include <stdio.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "runtime/comm/activity.h"
#include "runtime/comm/nccl.h"
#include "runtime/comm/nccl_comm.h"
#include "runtime/comm/nccl_library.h"

const char *mtlm_nccl_version(void)
{
    static char text[32];
    int version;

    MTLM_CALL_NCCL(GetVersion, &version);
    snprintf(text, sizeof(text), "%d.%d.%d", version / 10000,
             version / 100 % 100, version % 100);
    return text;
}

void mtlm_nccl_comm_check(ncclResult_t rc, const char *call, const char *file,
                          int line)
{
    const char *more = mtlm_nccl()->GetLastError(NULL);

    if (rc == ncclSuccess || rc == ncclInProgress)
        return;
    mtlm_fatal(file, line, "%s: %s%s%s", call, mtlm_nccl()->GetErrorString(rc),
               more[0] ? ": " : "", more);
}

/* ---- begin and end ---- */

/* Returns the first group with the same ranks, perhaps group itself. */
static enum mtlm_group same_as(const struct mtlm_ranks *ranks,
                               enum mtlm_group group)
{
    for (int g = 0; g < (int) group; g++) {
        int result;

        if (ranks->group[g] == MPI_COMM_NULL)
            continue;
        mtlm_mpi_turn_take();
        MTLM_CHECK_MPI(
            MPI_Comm_compare(ranks->group[g], ranks->group[group], &result));
        mtlm_mpi_turn_end();
        if (result == MPI_IDENT || result == MPI_CONGRUENT)
            return g;
    }
    return group;
}

enum { NAP_NS = 100000 };

/* Waits while the group's communicator is in progress. */
static void await(struct mtlm_nccl_comms *comms, enum mtlm_group group,
                  const char *what)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    ncclResult_t state;

    mtlm_activity_wait_begin(MTLM_WAITER_MAIN, what);
    while ((state = mtlm_nccl_comm_state(comms, group)) == ncclInProgress)
        nanosleep(&nap, NULL);
    mtlm_activity_wait_end(MTLM_WAITER_MAIN);
    mtlm_nccl_comm_check(state, "NCCL", __FILE__, __LINE__);
}

static void connect(struct mtlm_nccl_comms *comms,
                    const struct mtlm_ranks *ranks, enum mtlm_group group)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    ncclResult_t rc;

    config.blocking = 0;
    if (ranks->group_rank[group] == 0)
        MTLM_CALL_NCCL(GetUniqueId, &id);
    MTLM_AWAIT_MPI("all ranks to connect by NCCL",
                   MPI_Ibcast(&id, sizeof(id), MPI_BYTE, 0, ranks->group[group],
                              &request));
    pthread_mutex_lock(&comms->mutex);
    rc = mtlm_nccl()->CommInitRankConfig(&comms->comm[group],
                                         ranks->group_size[group], id,
                                         ranks->group_rank[group], &config);
    pthread_mutex_unlock(&comms->mutex);
    mtlm_nccl_comm_check(rc, "ncclCommInitRankConfig()", __FILE__, __LINE__);
    await(comms, group, "all ranks to connect by NCCL");
}

void mtlm_nccl_comms_create(struct mtlm_nccl_comms *comms,
                            const struct mtlm_ranks *ranks)
{
    *comms = (struct mtlm_nccl_comms){0};
    pthread_mutex_init(&comms->mutex, NULL);
    for (int g = 0; g < MTLM_GROUP_COUNT; g++) {
        enum mtlm_group first;

        if (ranks->group[g] == MPI_COMM_NULL)
            continue;
        first = same_as(ranks, g);
        if ((int) first == g)
            connect(comms, ranks, g);
        comms->comm[g] = comms->comm[first];
    }
}

/* Whether an earlier group has the same communicator. */
static bool is_shared(const struct mtlm_nccl_comms *comms, int group)
{
    for (int g = 0; g < group; g++)
        if (comms->comm[g] == comms->comm[group])
            return true;
    return false;
}

void mtlm_nccl_comms_destroy(struct mtlm_nccl_comms *comms)
{
    for (int g = 0; g < MTLM_GROUP_COUNT; g++)
        if (comms->comm[g] && !is_shared(comms, g)) {
            MTLM_CALL_NCCL(CommFinalize, comms->comm[g]);
            await(comms, g, "all ranks to end NCCL");
        }
    for (int g = MTLM_GROUP_COUNT - 1; g >= 0; g--)
        if (comms->comm[g] && !is_shared(comms, g))
            MTLM_CALL_NCCL(CommDestroy, comms->comm[g]);
    pthread_mutex_destroy(&comms->mutex);
}

ncclResult_t mtlm_nccl_comm_state(struct mtlm_nccl_comms *comms,
                                  enum mtlm_group group)
{
    ncclResult_t rc, state;

    pthread_mutex_lock(&comms->mutex);
    rc = mtlm_nccl()->CommGetAsyncError(comms->comm[group], &state);
    pthread_mutex_unlock(&comms->mutex);
    return rc != ncclSuccess ? rc : state;
}

/* ---- abort ---- */

/* Longest time for an abort.  Then the process ends, and its work on the GPU
 * ends, too. */
#define ABORT_NS INT64_C(3000000000)

static _Atomic int aborted;

static void *abort_all(void *arg)
{
    struct mtlm_nccl_comms *comms = arg;

    for (int g = 0; g < MTLM_GROUP_COUNT; g++)
        if (comms->comm[g] && !is_shared(comms, g))
            mtlm_nccl()->CommAbort(comms->comm[g]);
    aborted = 1;
    return NULL;
}

void mtlm_nccl_comms_abort(struct mtlm_nccl_comms *comms)
{
    const int64_t until = mtlm_now_ns() + ABORT_NS;
    const struct timespec t = {until / 1000000000, until % 1000000000};
    const struct timespec nap = {.tv_nsec = NAP_NS};
    pthread_t thread;

    /* Never unlocked: no thread may call NCCL again. */
    if (pthread_mutex_clocklock(&comms->mutex, CLOCK_MONOTONIC, &t) != 0)
        return;
    if (pthread_create(&thread, NULL, abort_all, comms) != 0)
        return;
    pthread_detach(thread);
    while (!aborted && mtlm_now_ns() < until)
        nanosleep(&nap, NULL);
}
