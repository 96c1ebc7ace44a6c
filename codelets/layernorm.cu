/* CUDA kernels of layernorm.c.
 *
 * Threads keep their columns of a row in registers (K times V of them, by
 * accesses of 16 bytes), so that it is read once; the backward kernel goes
 * through several rows and keeps its columns' sums for the gradients of the
 * weights as well.  Rows that are too long for that are read again: K = 0. */

#include "config.h"

#include "codelets/launch.cuh"
#include "codelets/layernorm.h"
#include "codelets/op.h"
#include "codelets/rows.cuh"

constexpr int WARP = 32, MAX_WARPS = 32;

/* Calls f(k, c) for each group of columns c .. c + V - 1 of this thread. */
template <int V, int K, typename F>
static __device__ __forceinline__ void columns(int64_t h, F f)
{
#ifdef __CUDACC__
#pragma unroll
#endif
    for (int k = 0; k < K; k++) {
        const int64_t c = ((int64_t) k * blockDim.x + threadIdx.x) * V;

        if (c < h)
            f(k, c);
    }
    if (K == 0)
        for (int64_t c = threadIdx.x * V; c < h; c += blockDim.x * V)
            f(0, c);
}

/* This thread's part of a row. */
template <typename T, int V, int K> struct row {
    const T *p;
    mtlm_neighbours<T, V> kept[K > 0 ? K : 1] = {};

    __device__ void read(const T *from, int64_t h)
    {
        p = from;
        if (K > 0)
            columns<V, K>(h, [&](int k, int64_t c) {
                kept[k] = *mtlm_together<const mtlm_neighbours<T, V>>(p + c);
            });
    }

    __device__ void get(int k, int64_t c, float (&x)[V]) const
    {
        if (K == 0)
            mtlm_load(p + c, x);
        else
            for (int i = 0; i < V; i++)
                x[i] = mtlm_float(kept[k].at[i]);
    }
};

/* Replaces v by its sums over the threads of a row, equal in each thread: the
 * threads of a warp, or of the whole block. */
template <int N> static __device__ void row_sums(float (&v)[N])
{
    __shared__ float part[N][MAX_WARPS];
    const int warps = blockDim.x / WARP, warp = threadIdx.x / WARP;

    for (int i = 0; i < N; i++)
        for (int n = WARP / 2; n > 0; n /= 2)
            v[i] += __shfl_xor_sync(~0u, v[i], n);
    if (warps == 1)
        return;
    __syncthreads(); /* the previous sums have been read */
    if (threadIdx.x % WARP == 0)
        for (int i = 0; i < N; i++)
            part[i][warp] = v[i];
    __syncthreads();
    for (int i = 0; i < N; i++) {
        v[i] = 0;
        for (int w = 0; w < warps; w++)
            v[i] += part[i][w];
    }
}

/* How threads share rows: a warp per row, several rows in a block; or a block
 * per row. */
struct row_threads {
    dim3 blocks, threads;
    bool kept; /* the row fits KEPT accesses per thread */
};

constexpr int KEPT = 4;

static struct row_threads row_threads_of(int64_t rows, int64_t h, int width)
{
    const int64_t n = (h + width - 1) / width;
    int64_t threads = (n + KEPT * WARP - 1) / (KEPT * WARP) * WARP;

    if (threads > MAX_WARPS * WARP)
        threads = MAX_WARPS * WARP;
    const int64_t rows_per_block = threads == WARP ? 4 : 1;
    return {dim3((unsigned) ((rows + rows_per_block - 1) / rows_per_block)),
            dim3((unsigned) threads, (unsigned) rows_per_block),
            n <= threads * KEPT};
}

template <typename T, int V, int K>
static __global__ void __launch_bounds__(MAX_WARPS *WARP)
    layernorm_fwd(const T *x, const T *gamma, const T *beta, T *y, float *mean,
                  float *rstd, int64_t rows, int64_t h, float epsilon)
{
    const int64_t r = (int64_t) blockIdx.x * blockDim.y + threadIdx.y;
    float sum[1] = {}, square[1] = {};
    row<T, V, K> in;

    if (r >= rows) /* a whole warp leaves; the block has no barriers */
        return;
    in.read(x + r * h, h);
    columns<V, K>(h, [&](int k, int64_t c) {
        float v[V];

        in.get(k, c, v);
        for (int i = 0; i < V; i++)
            sum[0] += v[i];
    });
    row_sums(sum);
    const float m = sum[0] / h;
    columns<V, K>(h, [&](int k, int64_t c) {
        float v[V];

        in.get(k, c, v);
        for (int i = 0; i < V; i++)
            square[0] += (v[i] - m) * (v[i] - m);
    });
    row_sums(square);
    const float s = 1 / sqrtf(square[0] / h + epsilon);
    columns<V, K>(h, [&](int k, int64_t c) {
        float v[V], scale[V], shift[V];

        in.get(k, c, v);
        mtlm_load(gamma + c, scale);
        mtlm_load(beta + c, shift);
        for (int i = 0; i < V; i++)
            v[i] = (v[i] - m) * s * scale[i] + shift[i];
        mtlm_store(y + r * h + c, v);
    });
    if (threadIdx.x == 0) {
        mean[r] = m;
        rstd[r] = s;
    }
}

void mtlm_layernorm_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[LN_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[LN_X]);

    mtlm_dispatch_wide(
        call->value, h, {ptr[LN_X], ptr[LN_GAMMA], ptr[LN_BETA], ptr[LN_Y]},
        [&](auto t, auto width) {
            using T = decltype(t);
            constexpr int V = decltype(width)::value;
            const struct row_threads by = row_threads_of(rows, h, V);

            mtlm_launch(by.kept ? layernorm_fwd<T, V, KEPT>
                                : layernorm_fwd<T, V, 0>,
                        by.blocks, by.threads, 0, context->device->stream,
                        (const T *) ptr[LN_X], (const T *) ptr[LN_GAMMA],
                        (const T *) ptr[LN_BETA], (T *) ptr[LN_Y],
                        (float *) ptr[LN_MEAN], (float *) ptr[LN_RSTD], rows, h,
                        (float) call->attr.layernorm.epsilon);
        });
}

/* Operands of the backward kernels. */
template <typename T> struct backward_operands {
    const T *x, *gamma, *dy;
    const float *mean, *rstd;
    T *dx;
    int64_t rows, h;
};

/* Computes dx of row r (layernorm.c). */
template <int V, int K, bool add, typename T>
static __device__ __forceinline__ void backward_row(
    const backward_operands<T> &o, int64_t r, const row<T, V, K> &x,
    const row<T, V, K> &dy, const row<T, V, K> &gamma)
{
    const float m = o.mean[r], s = o.rstd[r];
    float sum[2] = {};
    row<T, V, K> old;

    if (add) /* read before the barriers, to overlap */
        old.read(o.dx + r * o.h, o.h);
    columns<V, K>(o.h, [&](int k, int64_t c) {
        float v[V], d[V], scale[V];

        x.get(k, c, v);
        dy.get(k, c, d);
        gamma.get(k, c, scale);
        for (int i = 0; i < V; i++) {
            sum[0] += d[i] * scale[i];
            sum[1] += d[i] * scale[i] * ((v[i] - m) * s);
        }
    });
    row_sums(sum);
    const float mean = sum[0] / o.h, dot = sum[1] / o.h;
    columns<V, K>(o.h, [&](int k, int64_t c) {
        float v[V], d[V], scale[V], was[V] = {};

        x.get(k, c, v);
        dy.get(k, c, d);
        gamma.get(k, c, scale);
        if (add)
            old.get(k, c, was);
        for (int i = 0; i < V; i++)
            v[i] = was[i] + s * (d[i] * scale[i] - mean - (v[i] - m) * s * dot);
        mtlm_store(o.dx + r * o.h + c, v);
    });
}

constexpr int TILE_THREADS = 512;

/* Computes dx, and parts [2, blocks, h] of dgamma and dbeta.  A block computes
 * tile_rows rows; it reads the next row before the current one is done. */
template <typename T, int V, int K, bool add>
static __global__ void __launch_bounds__(TILE_THREADS)
    layernorm_bwd(backward_operands<T> o, float *parts, int64_t tile_rows)
{
    const int64_t first = blockIdx.x * tile_rows, h = o.h;
    const int64_t end = first + tile_rows < o.rows ? first + tile_rows : o.rows;
    float dgamma[K][V] = {}, dbeta[K][V] = {};
    row<T, V, K> gamma, x, dy;

    gamma.read(o.gamma, h);
    x.read(o.x + first * h, h);
    dy.read(o.dy + first * h, h);
    for (int64_t r = first; r < end; r++) {
        const row<T, V, K> x_now = x, dy_now = dy;
        const float m = o.mean[r], s = o.rstd[r];

        if (r + 1 < end) {
            x.read(o.x + (r + 1) * h, h);
            dy.read(o.dy + (r + 1) * h, h);
        }
        backward_row<V, K, add>(o, r, x_now, dy_now, gamma);
        columns<V, K>(h, [&](int k, int64_t c) {
            float v[V], d[V];

            x_now.get(k, c, v);
            dy_now.get(k, c, d);
            for (int i = 0; i < V; i++) {
                dgamma[k][i] += d[i] * ((v[i] - m) * s);
                dbeta[k][i] += d[i];
            }
        });
    }
    columns<V, K>(h, [&](int k, int64_t c) {
        mtlm_store(parts + (int64_t) blockIdx.x * h + c, dgamma[k]);
        mtlm_store(parts + ((int64_t) gridDim.x + blockIdx.x) * h + c,
                   dbeta[k]);
    });
}

/* Rows too long for one kernel: dx here, the rest by layernorm_dweight.
 */
template <typename T, int V, bool add>
static __global__ void __launch_bounds__(MAX_WARPS *WARP)
    layernorm_dx(backward_operands<T> o)
{
    const int64_t r = blockIdx.x;
    row<T, V, 0> gamma, x, dy;

    gamma.read(o.gamma, o.h);
    x.read(o.x + r * o.h, o.h);
    dy.read(o.dy + r * o.h, o.h);
    backward_row<V, 0, add>(o, r, x, dy, gamma);
}

template <typename T, int V> struct layernorm_dweight : mtlm_row_work<V, 2> {
    backward_operands<T> o;

    __device__ void at(int64_t r, int64_t c, float (&)[V],
                       float (&sum)[2][V]) const
    {
        const float m = o.mean[r], s = o.rstd[r];
        float v[V], d[V];

        mtlm_load(o.x + r * o.h + c, v);
        mtlm_load(o.dy + r * o.h + c, d);
        for (int i = 0; i < V; i++) {
            sum[0][i] += d[i] * ((v[i] - m) * s);
            sum[1][i] += d[i];
        }
    }
};

/* Backward in one kernel; totals: dgamma, dbeta. */
template <typename T, int V, int K, bool add>
static void backward_once(const backward_operands<T> &o, float *const totals[2],
                          const struct mtlm_device *device)
{
    /* About as many threads as fit on a GPU: by ptxas up to 64 registers each
     * for fp32 in one piece, more otherwise.  A thread has at least so many
     * rows. */
    constexpr int64_t enough = K == 1 && sizeof(T) == 4 ? 1 << 17 : 1 << 16;
    constexpr int64_t at_least = 4;
    const int64_t n = (o.h + K * V - 1) / (K * V);
    const int64_t threads = (n + WARP - 1) / WARP * WARP;
    const int64_t most = enough / threads;
    int64_t tile_rows = (o.rows + most - 1) / most;
    float *parts = (float *) device->workspace;

    if (tile_rows < at_least)
        tile_rows = at_least;
    const int64_t blocks = (o.rows + tile_rows - 1) / tile_rows;
    assert(2 * blocks * o.h * sizeof(*parts) <= device->workspace_bytes);
    mtlm_launch(layernorm_bwd<T, V, K, add>, (unsigned) blocks,
                (unsigned) threads, 0, device->stream, o, parts, tile_rows);
    mtlm_add_parts_cuda(totals, 2, parts, blocks, o.h, device->stream);
}

template <typename T, int V, bool add>
static void backward_twice(const backward_operands<T> &o,
                           float *const totals[2],
                           const struct mtlm_device *device)
{
    mtlm_launch(layernorm_dx<T, V, add>, (unsigned) o.rows, MAX_WARPS * WARP, 0,
                device->stream, o);
    mtlm_over_rows(layernorm_dweight<T, V>{{}, o}, o.rows, o.h, device, totals);
}

template <bool add>
static void backward(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context)
{
    const int64_t rows = mtlm_shape_rows(&call->shape[LNB_X]);
    const int64_t h = mtlm_shape_cols(&call->shape[LNB_X]);
    float *const totals[] = {(float *) ptr[LNB_DGAMMA],
                             (float *) ptr[LNB_DBETA]};

    mtlm_dispatch_wide(
        call->value, h, {ptr[LNB_X], ptr[LNB_GAMMA], ptr[LNB_DY], ptr[LNB_DX]},
        [&](auto t, auto width) {
            using T = decltype(t);
            constexpr int V = decltype(width)::value;
            const int64_t n = (h + V - 1) / V;
            const backward_operands<T> o = {(const T *) ptr[LNB_X],
                                            (const T *) ptr[LNB_GAMMA],
                                            (const T *) ptr[LNB_DY],
                                            (const float *) ptr[LNB_MEAN],
                                            (const float *) ptr[LNB_RSTD],
                                            (T *) ptr[LNB_DX],
                                            rows,
                                            h};

            if (n <= TILE_THREADS / 2)
                backward_once<T, V, 1, add>(o, totals, context->device);
            else if (n <= 2 * TILE_THREADS)
                backward_once<T, V, 2, add>(o, totals, context->device);
            else
                backward_twice<T, V, add>(o, totals, context->device);
        });
}

void mtlm_layernorm_bwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    backward<false>(ptr, call, context);
}

void mtlm_layernorm_bwd_add_cuda(void *const ptr[],
                                 const struct mtlm_call *call,
                                 const struct mtlm_context *context)
{
    backward<true>(ptr, call, context);
}
