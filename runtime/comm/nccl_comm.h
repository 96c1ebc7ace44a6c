#ifndef MTLM_NCCL_COMM_H
#define MTLM_NCCL_COMM_H

#include <nccl.h>
#include <pthread.h>

#include "runtime/comm/ranks_private.h"

/* NCCL communicators of this rank's groups.  No call blocks (config.blocking
 * 0): a call that would wait for another rank returns ncclInProgress, and is
 * polled. So a lost rank is noticed here too, and the communicators can be
 * aborted at any time. */
struct mtlm_nccl_comms {
    ncclComm_t comm[MTLM_GROUP_COUNT]; /* groups of the same ranks share one;
                                        * NULL: this rank is in none */
    pthread_mutex_t mutex; /* held during every call: an abort comes from
                            * another thread */
};

/* Connects the ranks, with the calling thread's GPU.  Collective over all
 * ranks; called by the main threads. */
void mtlm_nccl_comms_create(struct mtlm_nccl_comms *comms,
                            const struct mtlm_ranks *ranks);

/* Called after all messages of all ranks are done. */
void mtlm_nccl_comms_destroy(struct mtlm_nccl_comms *comms);

/* Returns ncclSuccess, ncclInProgress, or the error, perhaps another rank's. */
ncclResult_t mtlm_nccl_comm_state(struct mtlm_nccl_comms *comms,
                                  enum mtlm_group group);

/* Ends collectives in flight on the GPU, within a few seconds where possible.
 * Called by any thread, before an error ends the process. */
void mtlm_nccl_comms_abort(struct mtlm_nccl_comms *comms);

/* Calls a function of NCCL.  A failure ends the job; ncclInProgress is none. */
#define MTLM_CALL_NCCL(name, ...)                                              \
    mtlm_nccl_comm_check(mtlm_nccl()->name(__VA_ARGS__), "nccl" #name,         \
                         __FILE__, __LINE__)

void mtlm_nccl_comm_check(ncclResult_t rc, const char *call, const char *file,
                          int line);

#endif /* MTLM_NCCL_COMM_H */
