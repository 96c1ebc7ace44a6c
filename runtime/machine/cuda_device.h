#ifndef MTLM_CUDA_DEVICE_H
#define MTLM_CUDA_DEVICE_H

#include <stddef.h>

struct mtlm_device;

/* CUDA devices of GPU workers, for kernels and copies. */

/* Returns the device of the calling GPU worker: StarPU's stream, a cuBLASLt
 * handle, a workspace on the GPU.  The first call creates handle and workspace;
 * they live until the process ends. */
const struct mtlm_device *mtlm_cuda_device(int worker);

/* Copy bytes from the device to the host, and from the host to the device,
 * after all earlier work on the device's stream.  Return when the copy is done.
 */
void mtlm_cuda_device_read(const struct mtlm_device *device, void *here,
                           const void *there, size_t bytes);
void mtlm_cuda_device_write(const struct mtlm_device *device, void *there,
                            const void *here, size_t bytes);

/* Copies bytes at home (mtlm_data_home()) to the host; returns when the copy is
 * done.  Any thread.  Independent of all streams. */
void mtlm_cuda_device_fetch(void *here, const void *home, size_t bytes);

#endif /* MTLM_CUDA_DEVICE_H */
