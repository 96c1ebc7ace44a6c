#ifndef MTLM_HOST_DEVICE_H
#define MTLM_HOST_DEVICE_H

/* Marks a function of a header that CUDA kernels call as well as C: one
 * formula for both. */
#ifdef __CUDACC__
#define MTLM_HOST_DEVICE __host__ __device__
#else
#define MTLM_HOST_DEVICE
#endif

#endif /* MTLM_HOST_DEVICE_H */
