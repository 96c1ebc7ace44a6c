#ifndef MTLM_CUDA_DEVICE_H
#define MTLM_CUDA_DEVICE_H

#include <stddef.h>

struct mtlm_device;

/* What the kernels of the calling GPU worker run with: StarPU's stream of
 * that worker, and a cuBLASLt handle and a workspace on its GPU that are taken
 * at the first call and kept until the process ends. */
const struct mtlm_device *mtlm_cuda_device(int worker);

/* Copies from the device to the host, and back, after all that was enqueued on
 * the device's stream; returns when it is done. */
void mtlm_cuda_device_read(const struct mtlm_device *device, void *here,
                           const void *there, size_t bytes);
void mtlm_cuda_device_write(const struct mtlm_device *device, void *there,
                            const void *here, size_t bytes);

/* Copies data at home (mtlm_data_home()) to the host; returns when it is done.
 * From any thread; waits for no stream, nor does one wait for it. */
void mtlm_cuda_device_fetch(void *here, const void *home, size_t bytes);

#endif /* MTLM_CUDA_DEVICE_H */
