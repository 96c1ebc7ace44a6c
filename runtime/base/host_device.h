#ifndef MTLM_HOST_DEVICE_H
#define MTLM_HOST_DEVICE_H

/* Marks a function of a header for CUDA kernels and C alike: one formula for
 * both. */
#ifdef __CUDACC__
#define MTLM_HOST_DEVICE __host__ __device__
#else
#define MTLM_HOST_DEVICE
#endif

#endif /* MTLM_HOST_DEVICE_H */
