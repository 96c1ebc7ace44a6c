/* Asks CUDA which GPUs there are; without CUDA there are none. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <xxhash.h>

#include "runtime/machine/gpu_detect.h"

static bool is_unwanted(void)
{
    const char *text = getenv("STARPU_NCUDA");

    return text && atoi(text) == 0;
}

void mtlm_gpu_detect_load_at_once(void)
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

#if HAVE_CUDA

#include <cuda_runtime_api.h>

#include "runtime/machine/cublaslt.h"

static void look_at(int device, struct mtlm_gpu *gpu)
{
    struct cudaDeviceProp prop;

    if (cudaGetDeviceProperties(&prop, device) != cudaSuccess)
        return;
    snprintf(gpu->name, sizeof(gpu->name), "%.63s", prop.name);
    gpu->id = XXH3_64bits(&prop.uuid, sizeof(prop.uuid));
    gpu->total_bytes = prop.totalGlobalMem;
}

void mtlm_gpu_detect_all(struct mtlm_gpus *gpus, bool unwanted)
{
    cudaError_t rc;

    *gpus = (struct mtlm_gpus){.unwanted = unwanted || is_unwanted(),
                               .toolkit = CUDART_VERSION};
    if (gpus->unwanted || cudaDriverGetVersion(&gpus->driver) != cudaSuccess
        || gpus->driver == 0)
        return;
    rc = cudaGetDeviceCount(&gpus->count);
    if (rc != cudaSuccess)
        gpus->count = 0;
    if (rc != cudaSuccess && rc != cudaErrorNoDevice)
        snprintf(gpus->trouble, sizeof(gpus->trouble), "%s",
                 cudaGetErrorString(rc));
    if (gpus->count > MTLM_MAX_GPUS)
        gpus->count = MTLM_MAX_GPUS;
    for (int i = 0; i < gpus->count; i++)
        look_at(i, &gpus->gpu[i]);
}

int mtlm_gpu_detect_begin(int device, struct mtlm_error *err)
{
    cudaError_t rc;

    if (mtlm_cublaslt_load(err) < 0)
        return -1;
    rc = cudaSetDevice(device);
    if (rc == cudaSuccess)
        rc = cudaFree(NULL);
    if (rc == cudaSuccess)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                          "GPU %d cannot be used: %s; another process may have "
                          "it for itself (nvidia-smi shows which)",
                          device, cudaGetErrorString(rc));
}

double mtlm_gpu_detect_free_bytes(int device)
{
    size_t free_bytes, total;

    if (cudaSetDevice(device) != cudaSuccess
        || cudaMemGetInfo(&free_bytes, &total) != cudaSuccess)
        return 0;
    return free_bytes;
}

#else

void mtlm_gpu_detect_all(struct mtlm_gpus *gpus, bool unwanted)
{
    *gpus = (struct mtlm_gpus){.unwanted = unwanted || is_unwanted()};
}

int mtlm_gpu_detect_begin(int device, struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "GPU %d: this program was built without CUDA",
                          device);
}

double mtlm_gpu_detect_free_bytes(int device)
{
    (void) device;
    return 0;
}

#endif
