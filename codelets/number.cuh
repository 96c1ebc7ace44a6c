#ifndef MTLM_NUMBER_CUH
#define MTLM_NUMBER_CUH

/* Numbers of the value type (float, __nv_bfloat16 or __half) for kernels that
 * compute in float.  T is one of these types. */

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <assert.h>
#include <stdint.h>
#include <initializer_list>
#include <type_traits>

#include "runtime/base/dtype.h"

static inline __device__ float mtlm_float(float x)
{
    return x;
}

static inline __device__ float mtlm_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

static inline __device__ float mtlm_float(__half x)
{
    return __half2float(x);
}

/* Returns x in T, rounded to nearest even.  Host code may call it, too. */
template <typename T> static inline __host__ __device__ T mtlm_round(float x);

template <> inline __host__ __device__ float mtlm_round<float>(float x)
{
    return x;
}

template <>
inline __host__ __device__ __nv_bfloat16 mtlm_round<__nv_bfloat16>(float x)
{
    return __float2bfloat16_rn(x);
}

template <> inline __host__ __device__ __half mtlm_round<__half>(float x)
{
    return __float2half_rn(x);
}

/* V neighbours, accessed 16 bytes at a time, or fewer if they have fewer
 * bytes. */
template <typename T, int V>
struct alignas(sizeof(T) * V < 16 ? sizeof(T) * V : 16) mtlm_neighbours {
    T at[V];
};

template <typename T, typename P>
static inline __device__ T *mtlm_together(P *p)
{
#ifndef __CUDACC__ /* a GPU stops here by itself */
    assert((uintptr_t) p % alignof(T) == 0);
#endif
    return (T *) p;
}

/* Reads p[0 .. V - 1], aligned as above. */
template <int V, typename T>
static inline __device__ void mtlm_load(const T *p, float (&x)[V])
{
    const auto raw = *mtlm_together<const mtlm_neighbours<T, V>>(p);

#ifdef __CUDACC__
#pragma unroll
#endif
    for (int i = 0; i < V; i++)
        x[i] = mtlm_float(raw.at[i]);
}

/* Writes p[0 .. V - 1], rounded. */
template <int V, typename T>
static inline __device__ void mtlm_store(T *p, const float (&x)[V])
{
    mtlm_neighbours<T, V> raw;

#ifdef __CUDACC__
#pragma unroll
#endif
    for (int i = 0; i < V; i++)
        raw.at[i] = mtlm_round<T>(x[i]);
    *mtlm_together<mtlm_neighbours<T, V>>(p) = raw;
}

/* Elements of T in 16 bytes. */
template <typename T> constexpr int mtlm_width = 16 / sizeof(T);

/* Returns whether rows of cols elements at p can be accessed V elements at a
 * time. */
template <int V, typename... T>
static inline bool mtlm_wide(int64_t cols, const T *...p)
{
    return cols % V == 0
           && (((uintptr_t) p % alignof(mtlm_neighbours<T, V>) == 0) && ...);
}

/* Calls f with a number of the value type: in f, decltype(argument) is T. */
template <typename F>
static inline void mtlm_dispatch(enum mtlm_dtype value, F f)
{
    if (value == MTLM_BF16)
        f(__nv_bfloat16());
    else if (value == MTLM_F16)
        f(__half());
    else
        f(float());
}

/* Calls f with a number of the value type and the number V of elements to
 * access at once (decltype(argument)::value).  V is WIDTH (0: elements in 16
 * bytes) if rows of cols elements at these addresses allow, else 1. */
template <int WIDTH = 0, typename F>
static inline void mtlm_dispatch_wide(
    enum mtlm_dtype value, int64_t cols,
    std::initializer_list<const void *> operands, F f)
{
    bool aligned = true;

    for (const void *p : operands)
        aligned &= (uintptr_t) p % 16 == 0;
    mtlm_dispatch(value, [&](auto t) {
        constexpr int V = WIDTH ? WIDTH : mtlm_width<decltype(t)>;

        if (aligned && cols % V == 0)
            f(t, std::integral_constant<int, V>());
        else
            f(t, std::integral_constant<int, 1>());
    });
}

#endif /* MTLM_NUMBER_CUH */
