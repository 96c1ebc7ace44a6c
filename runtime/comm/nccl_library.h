#ifndef MTLM_NCCL_LIBRARY_H
#define MTLM_NCCL_LIBRARY_H

/* NCCL, loaded when ranks with GPUs choose it. */

#include <nccl.h>

/* Functions that the program calls, without nccl in front. */
#define MTLM_NCCL_FUNCTIONS(X)                                                 \
    X(AllGather)                                                               \
    X(AllReduce)                                                               \
    X(CommAbort)                                                               \
    X(CommDestroy)                                                             \
    X(CommFinalize)                                                            \
    X(CommGetAsyncError)                                                       \
    X(CommInitRankConfig)                                                      \
    X(GetErrorString)                                                          \
    X(GetLastError)                                                            \
    X(GetUniqueId)                                                             \
    X(GetVersion)                                                              \
    X(ReduceScatter)

struct mtlm_nccl {
#define MTLM_NCCL_FIELD(name) __typeof__(nccl##name) *name;
    MTLM_NCCL_FUNCTIONS(MTLM_NCCL_FIELD)
#undef MTLM_NCCL_FIELD
};

/* Returns the functions.  If the library cannot be loaded, the job ends. */
const struct mtlm_nccl *mtlm_nccl(void);

#endif /* MTLM_NCCL_LIBRARY_H */
