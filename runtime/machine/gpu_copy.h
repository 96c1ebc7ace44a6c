#ifndef MTLM_GPU_COPY_H
#define MTLM_GPU_COPY_H

#include <stddef.h>

/* Copies between the host and a memory node of StarPU, on behalf of threads
 * that are no workers of StarPU.  A copy has a CUDA stream of its own, so it
 * runs beside the kernels of workers.  On the host's memory node the calls are
 * memcpy() and memset().
 *
 * Several threads may use one struct mtlm_gpu_copy. */
struct mtlm_gpu_copy {
    unsigned node;
    void *stream, *event; /* CUDA's; NULL on the host's node */
};

/* Creates the stream; the caller destroys the copy before StarPU stops. */
void mtlm_gpu_copy_create(struct mtlm_gpu_copy *copy, unsigned node);

void mtlm_gpu_copy_destroy(struct mtlm_gpu_copy *copy);

/* Enqueues a copy between pinned host memory and the node, in either
 * direction. */
void mtlm_gpu_copy_start(const struct mtlm_gpu_copy *copy, void *to,
                         const void *from, size_t bytes);

/* Enqueues that memory on the node becomes zeros. */
void mtlm_gpu_copy_zero(const struct mtlm_gpu_copy *copy, void *to,
                        size_t bytes);

/* Returns when all that is enqueued is done.  The thread sleeps meanwhile. */
void mtlm_gpu_copy_wait(const struct mtlm_gpu_copy *copy);

#endif /* MTLM_GPU_COPY_H */
