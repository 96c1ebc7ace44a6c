#ifndef MTLM_TESTS_LANGUAGE_H
#define MTLM_TESTS_LANGUAGE_H

/* The part of CUDA's language that our kernels use, for g++: put in front of
 * a .cu by -include.  The toolkit's headers give the types; what nvcc would
 * add to the language is here.  See emulator.h.
 *
 * A kernel may use what is here and nothing else: add what it needs.  Dynamic
 * shared memory and launches: codelets/launch.cuh. */

#include <cuda_runtime.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tests/emulator/emulator.h"

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __launch_bounds__
#undef __forceinline__
#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local /* blocks run one after another */
#define __constant__
#define __launch_bounds__(...)
#define __forceinline__ inline

/* Calls kernel() for each thread. */
template <typename F>
static inline void mtlm_emulate(dim3 blocks, dim3 threads, size_t shared_bytes,
                                F kernel)
{
    mtlm_emulator_run(
        {blocks.x, blocks.y, blocks.z}, {threads.x, threads.y, threads.z},
        shared_bytes, [](void *arg) { (*(F *) arg)(); }, &kernel);
}

/* Where the caller stands. */
#define MTLM_CALLER                                                            \
    const char *file = __builtin_FILE(), int line = __builtin_LINE()

static inline void __syncthreads(MTLM_CALLER)
{
    mtlm_emulator_barrier(file, line);
}

static inline void __syncwarp(unsigned mask = ~0u, MTLM_CALLER)
{
    mtlm_emulator_warp(MTLM_WARP_SYNC, mask, 0, 0, file, line);
}

template <typename T>
static inline T mtlm_shuffle(unsigned mask, T value, unsigned from,
                             const char *file, int line)
{
    uint64_t bits = 0;

    static_assert(sizeof(T) <= sizeof(bits), "as large as a shuffle takes");
    memcpy(&bits, &value, sizeof(T));
    bits = mtlm_emulator_warp(MTLM_WARP_SHUFFLE, mask, bits, from, file, line);
    memcpy(&value, &bits, sizeof(T));
    return value;
}

/* Lanes are shuffled within parts of width of them (a power of two); what
 * would come from another part is the lane's own. */
template <typename T>
static inline T __shfl_sync(unsigned mask, T value, int from, int width = 32,
                            MTLM_CALLER)
{
    const unsigned lane = mtlm_emulator_lane();

    return mtlm_shuffle(mask, value,
                        (lane & -width) | ((unsigned) from & (width - 1)), file,
                        line);
}

template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T value, int with,
                                int width = 32, MTLM_CALLER)
{
    const unsigned lane = mtlm_emulator_lane(), from = lane ^ with;

    return mtlm_shuffle(mask, value,
                        (from & -width) > (lane & -width) ? lane : from, file,
                        line);
}

template <typename T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned by,
                                 int width = 32, MTLM_CALLER)
{
    const unsigned lane = mtlm_emulator_lane();
    const bool inside = (lane & (width - 1)) + by < (unsigned) width;

    return mtlm_shuffle(mask, value, inside ? lane + by : lane, file, line);
}

template <typename T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned by,
                               int width = 32, MTLM_CALLER)
{
    const unsigned lane = mtlm_emulator_lane();
    const bool inside = (lane & (width - 1)) >= by;

    return mtlm_shuffle(mask, value, inside ? lane - by : lane, file, line);
}

static inline unsigned __ballot_sync(unsigned mask, int vote, MTLM_CALLER)
{
    return (unsigned) mtlm_emulator_warp(MTLM_WARP_VOTE, mask, vote != 0, 0,
                                         file, line);
}

static inline int __any_sync(unsigned mask, int vote, MTLM_CALLER)
{
    return __ballot_sync(mask, vote, file, line) != 0;
}

static inline int __all_sync(unsigned mask, int vote, MTLM_CALLER)
{
    return __ballot_sync(mask, !vote, file, line) == 0;
}

/* Memory: blocks and threads run one at a time. */
template <typename T> static inline T __ldg(const T *p)
{
    return *p;
}

template <typename T> static inline T __ldcs(const T *p)
{
    return *p;
}

template <typename T> static inline void __stcs(T *p, T value)
{
    *p = value;
}

static inline void __threadfence()
{
}

static inline void __threadfence_block()
{
}

/* Of integers: additions of floating-point numbers have no fixed order. */
template <typename T> static inline T atomicAdd(T *p, T value)
{
    const T old = *p;

    static_assert(T(1) / 2 == 0, "only integers");
    *p = old + value;
    return old;
}

template <typename T> static inline T atomicMax(T *p, T value)
{
    const T old = *p;

    static_assert(T(1) / 2 == 0, "only integers");
    *p = std::max(old, value);
    return old;
}

/* Numbers.  The fast functions are the exact ones. */
using std::max;
using std::min;

#define __expf expf
#define __logf logf
#define __log2f log2f
#define __sinf sinf
#define __cosf cosf
#define __powf powf
#define __tanhf tanhf
#define __fsqrt_rn sqrtf

static inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}

static inline float __fdividef(float a, float b)
{
    return a / b;
}

static inline float __frcp_rn(float x)
{
    return 1 / x;
}

static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}

static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned) ((uint64_t) a * b >> 32);
}

static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

static inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned) x) : 32;
}

template <typename To, typename From> static inline To mtlm_bits_as(From x)
{
    To y;

    static_assert(sizeof(To) == sizeof(From), "the same bits");
    memcpy(&y, &x, sizeof(y));
    return y;
}

static inline int __float_as_int(float x)
{
    return mtlm_bits_as<int>(x);
}

static inline unsigned __float_as_uint(float x)
{
    return mtlm_bits_as<unsigned>(x);
}

static inline float __int_as_float(int x)
{
    return mtlm_bits_as<float>(x);
}

static inline float __uint_as_float(unsigned x)
{
    return mtlm_bits_as<float>(x);
}

#endif /* MTLM_TESTS_LANGUAGE_H */
