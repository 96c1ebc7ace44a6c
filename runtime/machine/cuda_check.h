#ifndef MTLM_CUDA_CHECK_H
#define MTLM_CUDA_CHECK_H

/* Checks calls of the CUDA runtime. */

#include <cuda_runtime_api.h>

#include "runtime/base/error.h"

/* Makes the call.  If the call fails, the job ends with CUDA's error text. */
#define MTLM_CHECK_CUDA(call) mtlm_cuda_check(call, #call, __FILE__, __LINE__)

static inline void mtlm_cuda_check(cudaError_t rc, const char *call,
                                   const char *file, int line)
{
    if (rc != cudaSuccess)
        mtlm_fatal(file, line, "%s: %s", call, cudaGetErrorString(rc));
}

#endif /* MTLM_CUDA_CHECK_H */
