/* What kernels of a GPU worker need, and copies to and from the GPU.  Built
 * only with CUDA. */

#include "config.h"

#include <string.h>

#include <starpu.h>
#include <starpu_cuda.h>

#include "runtime/machine/cublaslt.h"
#include "runtime/machine/cuda_check.h"
#include "runtime/machine/cuda_device.h"
#include "runtime/machine/device.h"
#include "runtime/machine/machine.h"

/* cuBLASLt's advice for Hopper; enough for older GPUs. */
#define WORKSPACE_BYTES ((size_t) 32 << 20)

static struct mtlm_device devices[STARPU_NMAXWORKERS];

/* StarPU's handles bring those of cuBLAS, which nobody here needs. */
static void create_handle(cublasLtHandle_t *handle)
{
    const cublasStatus_t status = mtlm_cublaslt()->Create(handle);

    if (status != CUBLAS_STATUS_SUCCESS)
        mtlm_fatal(__FILE__, __LINE__, "cublasLtCreate: %s",
                   mtlm_cublaslt()->GetStatusString(status));
}

/* On the calling worker's GPU. */
static int capability(void)
{
    int device, major, minor;

    MTLM_CHECK_CUDA(cudaGetDevice(&device));
    MTLM_CHECK_CUDA(cudaDeviceGetAttribute(
        &major, cudaDevAttrComputeCapabilityMajor, device));
    MTLM_CHECK_CUDA(cudaDeviceGetAttribute(
        &minor, cudaDevAttrComputeCapabilityMinor, device));
    return 10 * major + minor;
}

const struct mtlm_device *mtlm_cuda_device(int worker)
{
    struct mtlm_device *device = &devices[worker];

    /* A StarPU that starts again, for the next of --seeds, has other streams.
     */
    device->stream = starpu_cuda_get_local_stream();
    if (!device->workspace) {
        device->capability = capability();
        create_handle(&device->blas);
        MTLM_CHECK_CUDA(cudaMalloc(&device->workspace, WORKSPACE_BYTES));
        device->workspace_bytes = WORKSPACE_BYTES;
        device->epilogues = *mtlm_machine_epilogues();
    }
    return device;
}

static void copy(const struct mtlm_device *device, void *to, const void *from,
                 size_t bytes, enum cudaMemcpyKind kind)
{
    MTLM_CHECK_CUDA(cudaMemcpyAsync(to, from, bytes, kind, device->stream));
    MTLM_CHECK_CUDA(cudaStreamSynchronize(device->stream));
}

void mtlm_cuda_device_read(const struct mtlm_device *device, void *here,
                           const void *there, size_t bytes)
{
    copy(device, here, there, bytes, cudaMemcpyDeviceToHost);
}

void mtlm_cuda_device_write(const struct mtlm_device *device, void *there,
                            const void *here, size_t bytes)
{
    copy(device, there, here, bytes, cudaMemcpyHostToDevice);
}

/* StarPU's streams and the null stream do not wait for each other. */
void mtlm_cuda_device_fetch(void *here, const void *home, size_t bytes)
{
    const int worker = starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0);

    if (worker < 0) {
        memcpy(here, home, bytes);
        return;
    }
    starpu_cuda_set_device(starpu_worker_get_devid(worker));
    MTLM_CHECK_CUDA(cudaMemcpy(here, home, bytes, cudaMemcpyDefault));
}
