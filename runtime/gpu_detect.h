#ifndef MTLM_GPU_DETECT_H
#define MTLM_GPU_DETECT_H

#include "runtime/gpu.h"

/* The GPUs that this process sees; takes nothing of them.  Does not look where
 * they are unwanted, by that or by STARPU_NCUDA=0. */
void mtlm_gpus_detect(struct mtlm_gpus *gpus, bool unwanted);

/* Begins to use a device, which takes some hundred MiB of it: CUDA's context
 * of this process. */
int mtlm_gpu_begin(int device, struct mtlm_error *err);

/* Bytes of that device that are free now. */
double mtlm_gpu_free_bytes(int device);

#endif /* MTLM_GPU_DETECT_H */
