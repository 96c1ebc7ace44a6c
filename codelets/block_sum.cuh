#ifndef MTLM_BLOCK_SUM_CUH
#define MTLM_BLOCK_SUM_CUH

/* Sums over the threads of a CUDA block. */

#include <cuda_runtime.h>

/* Returns the sum of v over a block of `threads` threads, a multiple of 32.
 * Every thread gets the same bits, in every run. */
template <int threads, typename T>
static inline __device__ T mtlm_block_sum(T v)
{
    __shared__ T part[threads / 32];
    T sum = 0;

    for (int n = 16; n > 0; n /= 2)
        v += __shfl_xor_sync(~0u, v, n);
    __syncthreads(); /* part of the sum before this one may still be read */
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    for (int i = 0; i < threads / 32; i++)
        sum += part[i];
    return sum;
}

#endif /* MTLM_BLOCK_SUM_CUH */
