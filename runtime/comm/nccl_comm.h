#ifndef MTLM_NCCL_COMM_H
#define MTLM_NCCL_COMM_H

#include <nccl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/comm/ranks_private.h"

/* The communicators of this rank's groups.  None of their calls blocks
 * (config.blocking 0): what would wait for another rank is in progress, which
 * is polled, so that a lost rank is found here too, and they can be aborted at
 * any time. */
struct mtlm_nccl_comms {
    ncclComm_t comm[MTLM_GROUP_COUNT]; /* groups of the same ranks share one;
                                        * NULL: this rank is in none */
    pthread_mutex_t mutex; /* held during every call: an abort comes from
                            * another thread */
};

/* Connects the ranks: collective over all of them, by the main thread.  The
 * GPU is the calling thread's. */
void mtlm_nccl_comms_create(struct mtlm_nccl_comms *comms,
                            const struct mtlm_ranks *ranks);
/* When all messages of all ranks are done. */
void mtlm_nccl_comms_destroy(struct mtlm_nccl_comms *comms);

/* ncclSuccess, ncclInProgress, or what went wrong, maybe on another rank. */
ncclResult_t mtlm_nccl_comm_state(struct mtlm_nccl_comms *comms,
                                  enum mtlm_group group);

/* Ends what is under way on the GPU, as well as it can within a few seconds:
 * before the process ends because of an error, by any thread. */
void mtlm_nccl_comms_abort(struct mtlm_nccl_comms *comms);

#define MTLM_CHECK_NCCL(call)                                                  \
    mtlm_nccl_comm_check(call, #call, __FILE__, __LINE__)

/* A call that is in progress is well. */
void mtlm_nccl_comm_check(ncclResult_t rc, const char *call, const char *file,
                          int line);

#endif /* MTLM_NCCL_COMM_H */
