#ifndef MTLM_CUDA_CHECK_H
#define MTLM_CUDA_CHECK_H

#include <cuda_runtime_api.h>

#include "runtime/base/error.h"

/* A call of the CUDA runtime that fails ends the job. */
#define MTLM_CHECK_CUDA(call) mtlm_cuda_check(call, #call, __FILE__, __LINE__)

static inline void mtlm_cuda_check(cudaError_t rc, const char *call,
                                   const char *file, int line)
{
    if (rc != cudaSuccess)
        mtlm_fatal(file, line, "%s: %s", call, cudaGetErrorString(rc));
}

#endif /* MTLM_CUDA_CHECK_H */
