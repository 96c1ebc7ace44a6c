#ifndef MTLM_GPU_DETECT_H
#define MTLM_GPU_DETECT_H

#include "runtime/machine/gpu.h"

/* Facts about this machine's GPUs, from CUDA. */

/* Makes CUDA load all kernels when it begins to use the GPU, unless
 * CUDA_MODULE_LOADING says otherwise.  Called before mtlm_gpu_detect_all(), in
 * a process that may use NCCL.
 *
 * By default CUDA loads a kernel before its first launch, and the whole process
 * waits until the GPU is idle.  A collective on the GPU ends when its peers
 * join. The peers may need data that this rank has yet to send: a deadlock.
 * Source: CUDA programming guide, lazy loading, potential hazards. */
void mtlm_gpu_detect_load_at_once(void);

/* Lists the GPUs that this process sees, and allocates nothing on them.  Does
 * not look when GPUs are unwanted, by the argument or by STARPU_NCUDA=0. */
void mtlm_gpu_detect_all(struct mtlm_gpus *gpus, bool unwanted);

/* Loads cuBLASLt and creates this process's CUDA context on a device, some
 * hundred MiB.  Returns 0, or -1 with err. */
int mtlm_gpu_detect_begin(int device, struct mtlm_error *err);

/* Returns the free bytes of the device. */
double mtlm_gpu_detect_free_bytes(int device);

#endif /* MTLM_GPU_DETECT_H */
