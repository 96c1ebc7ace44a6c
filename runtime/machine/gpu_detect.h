#ifndef MTLM_GPU_DETECT_H
#define MTLM_GPU_DETECT_H

#include "runtime/machine/gpu.h"

/* Before mtlm_gpu_detect_all(), in a process that may use NCCL: CUDA is to load
 * all kernels when the GPU begins, unless CUDA_MODULE_LOADING says otherwise.
 * By default it loads each before its first launch, and the whole process waits
 * meanwhile until the GPU has done what it was given (CUDA programming guide,
 * lazy loading, potential hazards).  A collective among that ends when its
 * peers join, and what they still need for that may be this rank's to send. */
void mtlm_gpu_detect_load_at_once(void);

/* The GPUs that this process sees; takes nothing of them.  Does not look where
 * they are unwanted, by that or by STARPU_NCUDA=0. */
void mtlm_gpu_detect_all(struct mtlm_gpus *gpus, bool unwanted);

/* Begins to use a device, which takes some hundred MiB of it: CUDA's context
 * of this process. */
int mtlm_gpu_detect_begin(int device, struct mtlm_error *err);

/* Bytes of that device that are free now. */
double mtlm_gpu_detect_free_bytes(int device);

#endif /* MTLM_GPU_DETECT_H */
