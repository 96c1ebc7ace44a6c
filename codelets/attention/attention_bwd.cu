/* CUDA kernels of attention_bwd.c: one makes the gradients of queries, a
 * block's along the keys; the other those of keys and values, along the
 * queries.  Both compute the probabilities again, which costs less than
 * adding up the gradients of several blocks in a fixed order. */

#include "config.h"

#include "codelets/attention/attention.cuh"
#include "runtime/base/error.h"

constexpr float LOG2_E = 1.4426950408889634f;

/* What backward reads besides queries, keys and values. */
template <typename T> struct results {
    const T *y, *dy;
    const float *lse;
};

/* Computes for each query of a thread: lse times log2(e); delta, the sum of y
 * dy, which equals the sum of the probabilities times their gradients.  dy: the
 * tile of q0 in shared memory. */
template <typename Tile, typename T>
static __device__ void row_statistics(const mtlm_att_head<T> &h, int64_t d,
                                      const results<T> &r, int64_t q0,
                                      const float *dy, float lse[Tile::RQ],
                                      float delta[Tile::RQ])
{
    for (int i = 0; i < Tile::RQ; i++) {
        const int row = threadIdx.y * Tile::RQ + i;
        const bool real = q0 + row < h.queries;
        const T *y = r.y + (q0 + row) * h.ld_y + h.at;
        float sum = 0;

        for (int64_t c = threadIdx.x; real && c < d; c += MTLM_ATT_SIDE)
            sum += mtlm_float(y[c]) * dy[row * Tile::LD + c];
        delta[i] = mtlm_att_row_sum(sum);
        lse[i] = real ? r.lse[h.row + q0 + row] * LOG2_E : 0;
    }
}

/* Computes the dropped probabilities p and the gradients ds of the scores, for
 * the thread's queries and keys in the tile of queries q0 .. and keys k0 .. */
template <typename Tile, typename T>
static __device__ void scores(const mtlm_att_call<T> &a,
                              const mtlm_att_head<T> &h, int64_t q0, int64_t k0,
                              const float *q, const float *k, const float *v,
                              const float *dy, const unsigned char *mask,
                              const float lse[Tile::RQ],
                              const float delta[Tile::RQ],
                              float p[Tile::RQ][Tile::RK],
                              float ds[Tile::RQ][Tile::RK])
{
    const float scale = a.scale * a.coefficient * LOG2_E;

    mtlm_att_products<Tile>(q, k, p);
    mtlm_att_products<Tile>(dy, v, ds);
    for (int i = 0; i < Tile::RQ; i++) {
        const int row = threadIdx.y * Tile::RQ + i;
        const int64_t seen =
            q0 + row < h.queries ? mtlm_att_seen(a, h, q0 + row) - k0 : 0;
        const float slope = h.slope * LOG2_E;
        const int64_t first = mtlm_att_distance(a, q0 + row, k0);

        for (int j = 0; j < Tile::RK; j++) {
            const int col = threadIdx.x + MTLM_ATT_SIDE * j;
            const float score = p[i][j] * scale + slope * (float) (first + col);
            const float prob = col < seen ? exp2f(score - lse[i]) : 0;
            const float factor =
                mtlm_att_factor<Tile>(a, h, q0, k0, row, col, mask);

            p[i][j] = prob * factor;
            ds[i][j] = prob * (ds[i][j] * factor - delta[i]);
        }
    }
}

template <int R, typename Tile, typename T>
static __device__ void store(const float4 from[R / MTLM_ATT_SIDE][Tile::RC],
                             int64_t first, int64_t rows, int64_t ld, int64_t d,
                             float factor, bool add, T *to)
{
    for (int i = 0; i < R / MTLM_ATT_SIDE; i++) {
        const int64_t row = first + threadIdx.y * (R / MTLM_ATT_SIDE) + i;

        for (int c = 0; c < Tile::RC && row < rows; c++)
            mtlm_att_store(to + row * ld, 4 * (threadIdx.x + MTLM_ATT_SIDE * c),
                           d, from[i][c], factor, add);
    }
}

template <int R, typename Tile>
static __device__ void clear(float4 x[R / MTLM_ATT_SIDE][Tile::RC])
{
    for (int i = 0; i < R / MTLM_ATT_SIDE; i++)
        for (int c = 0; c < Tile::RC; c++)
            x[i][c] = make_float4(0, 0, 0, 0);
}

/* Tiles in shared memory; weights: of probabilities or their gradients. */
template <typename Tile> struct tiles {
    float *q, *dy, *k, *v, *weights;
    unsigned char *mask;

    static constexpr int WEIGHTS = Tile::BQ * Tile::LDK > Tile::BK *Tile::LDQ
                                       ? Tile::BQ *Tile::LDK
                                       : Tile::BK *Tile::LDQ;
    static constexpr size_t BYTES =
        sizeof(float) * (2 * (Tile::BQ + Tile::BK) * Tile::LD + WEIGHTS)
        + Tile::BQ * Tile::MASK;

    __device__ explicit tiles(float *shared)
    {
        q = shared;
        dy = q + Tile::BQ * Tile::LD;
        k = dy + Tile::BQ * Tile::LD;
        v = k + Tile::BK * Tile::LD;
        weights = v + Tile::BK * Tile::LD;
        mask = (unsigned char *) (weights + WEIGHTS);
    }
};

template <typename Tile, typename T>
static __device__ void load_queries(const mtlm_att_call<T> &a,
                                    const mtlm_att_head<T> &h,
                                    const results<T> &r, int64_t q0,
                                    const tiles<Tile> &tile)
{
    mtlm_att_load<Tile::BQ, Tile>(h.q, q0, h.queries, h.ld, a.d, a.wide,
                                  tile.q);
    mtlm_att_load<Tile::BQ, Tile>(r.dy + h.at, q0, h.queries, h.ld_y, a.d,
                                  a.wide, tile.dy);
}

template <typename Tile, typename T>
static __device__ void load_keys(const mtlm_att_call<T> &a,
                                 const mtlm_att_head<T> &h, int64_t k0,
                                 const tiles<Tile> &tile)
{
    mtlm_att_load<Tile::BK, Tile>(h.k, k0, h.keys, h.ld, a.d, a.wide, tile.k);
    mtlm_att_load<Tile::BK, Tile>(h.v, k0, h.keys, h.ld, a.d, a.wide, tile.v);
}

/* dq: the operand dqkv of the queries. */
template <typename Tile, typename T>
static __global__ void __launch_bounds__(MTLM_ATT_THREADS)
    attention_bwd_queries(const mtlm_att_call<T> a, const results<T> r,
                          bool add, T *dq)
{
    float *const shared = (float *) mtlm_shared();
    const tiles<Tile> tile(shared);
    const mtlm_att_head<T> h = mtlm_att_head_of(a, blockIdx.z, blockIdx.y);
    const int64_t q0 = (int64_t) (gridDim.x - 1 - blockIdx.x) * Tile::BQ;
    const int64_t last = q0 + Tile::BQ < h.queries ? q0 + Tile::BQ : h.queries;
    const int64_t keys = q0 < h.queries ? mtlm_att_seen(a, h, last - 1) : 0;
    float lse[Tile::RQ], delta[Tile::RQ];
    float4 sum[Tile::RQ][Tile::RC];

    clear<Tile::BQ, Tile>(sum);
    load_queries(a, h, r, q0, tile);
    __syncthreads();
    row_statistics<Tile>(h, a.d, r, q0, tile.dy, lse, delta);
    for (int64_t k0 = 0; k0 < keys; k0 += Tile::BK) {
        float p[Tile::RQ][Tile::RK], ds[Tile::RQ][Tile::RK];

        __syncthreads();
        load_keys(a, h, k0, tile);
        if (a.threshold)
            mtlm_att_draw<Tile>(a, h, q0, k0, tile.mask);
        __syncthreads();
        scores<Tile>(a, h, q0, k0, tile.q, tile.k, tile.v, tile.dy, tile.mask,
                     lse, delta, p, ds);
        for (int i = 0; i < Tile::RQ; i++)
            for (int j = 0; j < Tile::RK; j++)
                tile.weights[(threadIdx.y * Tile::RQ + i) * Tile::LDK
                             + threadIdx.x + MTLM_ATT_SIDE * j] = ds[i][j];
        __syncthreads();
        mtlm_att_sums<Tile::BQ, Tile::BK, Tile>(tile.weights, Tile::LDK, tile.k,
                                                sum);
    }
    /* In the padding: 0; with add, the gradient stays. */
    store<Tile::BQ, Tile>(sum, q0, add ? h.queries : a.sq, h.ld, a.d,
                          a.scale * a.coefficient, add, dq + 3 * h.at);
}

/* Writes x transposed to weights [BK][BQ]. */
template <typename Tile>
static __device__ void put_transposed(const float x[Tile::RQ][Tile::RK],
                                      float *weights)
{
    for (int i = 0; i < Tile::RQ; i++)
        for (int j = 0; j < Tile::RK; j++)
            weights[(threadIdx.x + MTLM_ATT_SIDE * j) * Tile::LDQ
                    + threadIdx.y * Tile::RQ + i] = x[i][j];
}

/* Returns the first query of the first tile that sees a key from k0 on. */
template <typename Tile, typename T>
static __device__ int64_t first_queries(const mtlm_att_call<T> &a, int64_t k0)
{
    const int64_t first = a.first_key + k0 - a.first_query;

    return !a.causal || first < 0 ? 0 : first / Tile::BQ * Tile::BQ;
}

/* dkv: the operand dqkv of the keys. */
template <typename Tile, typename T>
static __global__ void __launch_bounds__(MTLM_ATT_THREADS)
    attention_bwd_keys(const mtlm_att_call<T> a, const results<T> r, bool add,
                       T *dkv)
{
    float *const shared = (float *) mtlm_shared();
    const tiles<Tile> tile(shared);
    const mtlm_att_head<T> h = mtlm_att_head_of(a, blockIdx.z, blockIdx.y);
    const int64_t k0 = (int64_t) blockIdx.x * Tile::BK;
    const int64_t queries = k0 < h.keys ? h.queries : 0;
    float4 dk[Tile::RK][Tile::RC], dv[Tile::RK][Tile::RC];

    clear<Tile::BK, Tile>(dk);
    clear<Tile::BK, Tile>(dv);
    load_keys(a, h, k0, tile);
    for (int64_t q0 = first_queries<Tile>(a, k0); q0 < queries;
         q0 += Tile::BQ) {
        float lse[Tile::RQ], delta[Tile::RQ];
        float p[Tile::RQ][Tile::RK], ds[Tile::RQ][Tile::RK];

        __syncthreads();
        load_queries(a, h, r, q0, tile);
        if (a.threshold)
            mtlm_att_draw<Tile>(a, h, q0, k0, tile.mask);
        __syncthreads();
        row_statistics<Tile>(h, a.d, r, q0, tile.dy, lse, delta);
        scores<Tile>(a, h, q0, k0, tile.q, tile.k, tile.v, tile.dy, tile.mask,
                     lse, delta, p, ds);
        put_transposed<Tile>(p, tile.weights);
        __syncthreads();
        mtlm_att_sums<Tile::BK, Tile::BQ, Tile>(tile.weights, Tile::LDQ,
                                                tile.dy, dv);
        __syncthreads();
        put_transposed<Tile>(ds, tile.weights);
        __syncthreads();
        mtlm_att_sums<Tile::BK, Tile::BQ, Tile>(tile.weights, Tile::LDQ, tile.q,
                                                dk);
    }
    store<Tile::BK, Tile>(dk, k0, add ? h.keys : a.sk, h.ld, a.d,
                          a.scale * a.coefficient, add, dkv + 3 * h.at + a.d);
    store<Tile::BK, Tile>(dv, k0, add ? h.keys : a.sk, h.ld, a.d, 1, add,
                          dkv + 3 * h.at + 2 * a.d);
}

/* Where the operands are. */
struct operands {
    int other, lengths, y, lse, dy, dq, dkv;
    bool add;
};

template <typename Tile, typename T>
static void enqueue(const mtlm_att_call<T> &a, const results<T> &r, bool add,
                    void *dq, void *dkv, cudaStream_t stream)
{
    const dim3 threads(MTLM_ATT_SIDE, MTLM_ATT_SIDE);
    const dim3 over_queries((a.sq + Tile::BQ - 1) / Tile::BQ, a.heads, a.batch);
    const dim3 over_keys((a.sk + Tile::BK - 1) / Tile::BK, a.heads, a.batch);

    mtlm_launch(attention_bwd_queries<Tile, T>, over_queries, threads,
                tiles<Tile>::BYTES, stream, a, r, add, (T *) dq);
    mtlm_launch(attention_bwd_keys<Tile, T>, over_keys, threads,
                tiles<Tile>::BYTES, stream, a, r, add, (T *) dkv);
}

static void backward(void *const ptr[], const struct mtlm_call *call,
                     const struct mtlm_context *context,
                     const struct operands &at)
{
    const cudaStream_t stream = context->device->stream;
    void *dq = ptr[at.dq], *dkv = ptr[at.dkv];

    mtlm_dispatch(call->value, [&](auto t) {
        using T = decltype(t);
        const results<T> r = {(const T *) ptr[at.y], (const T *) ptr[at.dy],
                              (const float *) ptr[at.lse]};
        mtlm_att_call<T> a = mtlm_att_call_of<T>(ptr, call, context, ATT_QKV,
                                                 at.other, at.lengths);

        a.wide &= (uintptr_t) r.dy % 16 == 0;
        if (a.d <= 64)
            enqueue<mtlm_att_tile<64, 64, 64>>(a, r, at.add, dq, dkv, stream);
        else if (a.d <= 128)
            enqueue<mtlm_att_tile<128, 32, 64>>(a, r, at.add, dq, dkv, stream);
        else if (a.d <= MTLM_ATTENTION_GPU_D)
            enqueue<mtlm_att_tile<256, 32, 32>>(a, r, at.add, dq, dkv, stream);
        else
            mtlm_fatal(__FILE__, __LINE__,
                       "attention on a GPU: a head has %d elements, needs at "
                       "most %d",
                       (int) a.d, MTLM_ATTENTION_GPU_D);
    });
}

void mtlm_attention_bwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
#if MTLM_CUDNN_ATTENTION
    if (mtlm_attention_cudnn_bwd(ptr, call, context))
        return;
#endif
    backward(ptr, call, context,
             {ATT_QKV, ATTB_LENGTHS, ATTB_Y, ATTB_LSE, ATTB_DY, ATTB_DQKV,
              ATTB_DQKV, false});
}

void mtlm_attention_bwd_add_cuda(void *const ptr[],
                                 const struct mtlm_call *call,
                                 const struct mtlm_context *context)
{
#if MTLM_CUDNN_ATTENTION
    /* No graph of nodes calls cuDNN here: only parts of samples add to a
     * gradient. */
    assert(call->attr.attention.dropout.p == 0
           || !mtlm_attention_cudnn_takes(call, context));
#endif
    backward(ptr, call, context,
             {ATT_QKV, ATTB_LENGTHS, ATTB_Y, ATTB_LSE, ATTB_DY, ATTB_DQKV,
              ATTB_DQKV, true});
}

void mtlm_attention_more_bwd_cuda(void *const ptr[],
                                  const struct mtlm_call *call,
                                  const struct mtlm_context *context)
{
    backward(ptr, call, context,
             {ATTM_QKV_K, ATTMB_LENGTHS, ATTMB_Y, ATTMB_LSE, ATTMB_DY,
              ATTMB_DQKV_Q, ATTMB_DQKV_K, true});
}
