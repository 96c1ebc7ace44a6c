/* Kernels with mistakes that the emulator has to find, and without. */

#include "codelets/launch.cuh"
#include "tests/emulator/planted.h"

static __global__ void reverse(const int *from, int *to, bool wait)
{
    __shared__ int part[PLANTED_THREADS];

    part[threadIdx.x] = from[blockIdx.x * blockDim.x + threadIdx.x];
    if (wait)
        __syncthreads();
    to[blockIdx.x * blockDim.x + threadIdx.x] =
        part[blockDim.x - 1 - threadIdx.x];
}

void planted_reverse(const int *from, int *to, int blocks, bool wait)
{
    mtlm_launch(reverse, blocks, PLANTED_THREADS, 0, 0, from, to, wait);
}

/* Sums of a warp, and who has an odd number. */
static __global__ void warp_sum(const int *from, int *sum, unsigned *odd)
{
    int v = from[threadIdx.x];

    *odd = __ballot_sync(~0u, v % 2);
    for (int n = 16; n > 0; n /= 2)
        v += __shfl_xor_sync(~0u, v, n);
    sum[threadIdx.x] = v;
}

void planted_warp_sum(const int *from, int *sum, unsigned *odd, int threads)
{
    mtlm_launch(warp_sum, 1, threads, 0, 0, from, sum, odd);
}

static __global__ void some_wait(int *to)
{
    if (threadIdx.x < 5)
        __syncthreads();
    to[threadIdx.x] = 1;
}

void planted_some_wait(int *to)
{
    mtlm_launch(some_wait, 1, PLANTED_THREADS, 0, 0, to);
}

static __global__ void two_barriers(int *to)
{
    if (threadIdx.x % 32 < 16)
        __syncthreads();
    else
        __syncthreads();
    to[threadIdx.x] = 1;
}

void planted_two_barriers(int *to)
{
    mtlm_launch(two_barriers, 1, PLANTED_THREADS, 0, 0, to);
}

/* One block too many writes. */
static __global__ void count(int *to)
{
    to[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
}

void planted_count(int *to, int blocks, int threads)
{
    mtlm_launch(count, blocks, threads, 0, 0, to);
}

static __global__ void shared(int *to, int at)
{
    int *part = (int *) mtlm_shared();

    to[0] = part[at];
}

void planted_shared(int *to, int at)
{
    mtlm_launch(shared, 1, 1, 16, 0, to, at);
}
