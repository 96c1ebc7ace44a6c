/* Copies between the host and a GPU, on a stream of their own. */

#include "config.h"

#include <string.h>

#include <starpu.h>

#include "runtime/machine/gpu_copy.h"
#if HAVE_CUDA
#include <starpu_cuda.h>

#include "runtime/machine/cuda_check.h"

static void use_gpu(const struct mtlm_gpu_copy *copy)
{
    starpu_cuda_set_device(starpu_memory_node_get_devid(copy->node));
}

/* A thread that waits for the event sleeps; by default it would spin. */
static void create_stream(struct mtlm_gpu_copy *copy)
{
    cudaStream_t stream;
    cudaEvent_t event;

    use_gpu(copy);
    MTLM_CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    MTLM_CHECK_CUDA(cudaEventCreateWithFlags(
        &event, cudaEventDisableTiming | cudaEventBlockingSync));
    copy->stream = stream;
    copy->event = event;
}
#endif

void mtlm_gpu_copy_create(struct mtlm_gpu_copy *copy, unsigned node)
{
    *copy = (struct mtlm_gpu_copy){.node = node};
#if HAVE_CUDA
    if (starpu_node_get_kind(node) == STARPU_CUDA_RAM)
        create_stream(copy);
#endif
}

void mtlm_gpu_copy_destroy(struct mtlm_gpu_copy *copy)
{
#if HAVE_CUDA
    if (copy->stream) {
        use_gpu(copy);
        MTLM_CHECK_CUDA(cudaEventDestroy(copy->event));
        MTLM_CHECK_CUDA(cudaStreamDestroy(copy->stream));
    }
#endif
    (void) copy;
}

void mtlm_gpu_copy_start(const struct mtlm_gpu_copy *copy, void *to,
                         const void *from, size_t bytes)
{
#if HAVE_CUDA
    if (copy->stream) {
        use_gpu(copy);
        MTLM_CHECK_CUDA(
            cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, copy->stream));
        return;
    }
#endif
    (void) copy;
    memcpy(to, from, bytes);
}

void mtlm_gpu_copy_zero(const struct mtlm_gpu_copy *copy, void *to,
                        size_t bytes)
{
#if HAVE_CUDA
    if (copy->stream) {
        use_gpu(copy);
        MTLM_CHECK_CUDA(cudaMemsetAsync(to, 0, bytes, copy->stream));
        return;
    }
#endif
    (void) copy;
    memset(to, 0, bytes);
}

void mtlm_gpu_copy_wait(const struct mtlm_gpu_copy *copy)
{
#if HAVE_CUDA
    if (copy->stream) {
        use_gpu(copy);
        MTLM_CHECK_CUDA(cudaEventRecord(copy->event, copy->stream));
        MTLM_CHECK_CUDA(cudaEventSynchronize(copy->event));
    }
#endif
    (void) copy;
}
