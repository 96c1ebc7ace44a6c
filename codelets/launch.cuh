#ifndef MTLM_LAUNCH_CUH
#define MTLM_LAUNCH_CUH

/* Launches of CUDA kernels without <<< >>>, so that a C++ compiler can read the
 * .cu files (tests/emulator/, which has no nvcc). */

#include <cuda_runtime.h>

#include "runtime/base/error.h"

#ifdef __CUDACC__

/* Bytes of dynamic shared memory that need no request. */
constexpr size_t MTLM_SHARED_UNASKED = 48 << 10;

static inline void mtlm_launch_check(cudaError_t status, const void *kernel)
{
    const char *name = "?";

    if (status == cudaSuccess)
        return;
    cudaFuncGetName(&name, kernel);
    mtlm_fatal(__FILE__, __LINE__, "CUDA kernel %s: %s", name,
               cudaGetErrorString(status));
}

/* Enqueues kernel(args...) on blocks of threads with shared_bytes of dynamic
 * shared memory.  Does not wait.  A launch that CUDA refuses ends the job. */
template <typename... Params, typename... Args>
static inline void mtlm_launch(void (*kernel)(Params...), dim3 blocks,
                               dim3 threads, size_t shared_bytes,
                               cudaStream_t stream, Args... args)
{
    const void *symbol = (const void *) kernel;
    cudaLaunchConfig_t config = {};

    config.gridDim = blocks, config.blockDim = threads;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    if (shared_bytes > MTLM_SHARED_UNASKED)
        mtlm_launch_check(
            cudaFuncSetAttribute(symbol,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int) shared_bytes),
            symbol);
    /* The launch's own status: cudaGetLastError() may return that of an
     * allocation that StarPU retries. */
    mtlm_launch_check(cudaLaunchKernelEx(&config, kernel, Params(args)...),
                      symbol);
}

/* Returns the block's dynamic shared memory, aligned to 16 bytes. */
static inline __device__ void *mtlm_shared(void)
{
    extern __shared__ __align__(16) unsigned char mtlm_shared_bytes[];

    return mtlm_shared_bytes;
}

#else

template <typename... Params, typename... Args>
static inline void mtlm_launch(void (*kernel)(Params...), dim3 blocks,
                               dim3 threads, size_t shared_bytes,
                               cudaStream_t stream, Args... args)
{
    mtlm_emulator_stream(stream);
    mtlm_emulate(blocks, threads, shared_bytes,
                 [=] { kernel(Params(args)...); });
}

static inline void *mtlm_shared(void)
{
    return mtlm_emulator_shared();
}

#endif

#endif /* MTLM_LAUNCH_CUH */
