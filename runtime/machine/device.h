#ifndef MTLM_DEVICE_H
#define MTLM_DEVICE_H

#include <cublasLt.h>
#include <cuda_runtime.h>

#include "runtime/machine/epilogue.h"

/* What a CUDA kernel needs besides its operands; one per GPU worker
 * (runtime/machine/cuda_device.h). */
struct mtlm_device {
    cudaStream_t stream;
    int capability; /* compute capability, 90 for 9.0 */
    cublasLtHandle_t blas;
    void *workspace; /* on the device */
    size_t workspace_bytes;
    struct mtlm_epilogue_wishes epilogues;
};

#endif /* MTLM_DEVICE_H */
