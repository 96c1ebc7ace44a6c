#ifndef MTLM_CUDA_DEVICE_H
#define MTLM_CUDA_DEVICE_H

struct mtlm_device;

/* What the kernels of the calling GPU worker run with: StarPU's stream of
 * that worker, and a cuBLASLt handle and a workspace on its GPU that are taken
 * at the first call and kept until the process ends. */
const struct mtlm_device *mtlm_cuda_device(int worker);

#endif /* MTLM_CUDA_DEVICE_H */
