#ifndef MTLM_ATTENTION_CUH
#define MTLM_ATTENTION_CUH

/* What the CUDA kernels of attention share: tiles, heads, dropout. */

#include <stdint.h>

#include "codelets/attention/alibi.h"
#include "codelets/attention/attention.h"
#include "codelets/attention/attention_cudnn.h"
#include "codelets/launch.cuh"
#include "codelets/number.cuh"
#include "runtime/base/philox.h"
#include "runtime/machine/device.h"

/* The tests' emulator has no cuDNN. */
#if HAVE_CUDNN && defined(__CUDACC__)
#define MTLM_CUDNN_ATTENTION 1
#else
#define MTLM_CUDNN_ATTENTION 0
#endif

/* As on the CPU, no tensor of all scores exists.  A block of MTLM_ATT_SIDE x
 * MTLM_ATT_SIDE threads lets BQ queries of one head meet BK keys at a time, in
 * shared memory.  All types T compute in single precision.  Sums have a fixed
 * order: each thread's own sum, then over the threads of a row.
 *
 * Thread (tx, ty) holds queries ty BQ / 16 + i and keys tx + 16 j of a tile of
 * scores [BQ][BK].  Of a tile of rows [R][D] the thread holds rows ty R / 16 +
 * i and columns 4 tx + 64 c + (0 .. 3). */
constexpr int MTLM_ATT_SIDE = 16;
constexpr int MTLM_ATT_THREADS = MTLM_ATT_SIDE * MTLM_ATT_SIDE;

/* Tiles for heads of up to D elements.  Their shared memory is below the 163
 * KiB that a block of an A100 may have. */
template <int D_, int BQ_, int BK_> struct mtlm_att_tile {
    static constexpr int D = D_, BQ = BQ_, BK = BK_;
    static constexpr int RQ = BQ / MTLM_ATT_SIDE, RK = BK / MTLM_ATT_SIDE;
    static constexpr int RC = D / (4 * MTLM_ATT_SIDE); /* groups of 4 */
    /* Row length, four elements longer: threads of a quarter warp read 16 bytes
     * of different rows and so meet different banks. */
    static constexpr int LD = D + 4, LDQ = BQ + 4, LDK = BK + 4;
    /* Bytes that hold the dropped elements of a row, 8 elements per byte,
     * aligned to bytes. */
    static constexpr int MASK = BK / 8 + 1;
};

/* The arguments of a call. */
template <typename T> struct mtlm_att_call {
    const T *q, *kv; /* [sq, b, 3 hl], [sk, b, 3 hl]: qkv */
    const int *lengths;
    int64_t sq, sk, batch, d;
    int heads, first_head, alibi_heads;
    bool causal, wide; /* wide: rows allow accesses of 16 bytes */
    int64_t first_query, first_key, seq_length;
    float scale, coefficient; /* as in struct mtlm_head */
    int64_t sample;
    uint64_t seed;
    int layer, site;
    uint32_t threshold; /* of dropout; 0: none */
    float keep;         /* factor on kept elements */
};

template <typename T> struct mtlm_att_head {
    const T *q, *k, *v;
    int64_t queries, keys; /* before the padding */
    int64_t ld, ld_y;      /* elements between positions */
    int64_t at;            /* of the head in a row of y; 3 times: of qkv */
    int64_t row;           /* of lse, the first query's */
    int64_t number;        /* of query 0's row of scores in the sample */
    uint64_t stream;       /* of random numbers */
    float slope;           /* of ALiBi; 0: none */
};

static inline __device__ int64_t mtlm_att_rows(int64_t rows, int64_t first,
                                               int64_t length)
{
    const int64_t n = length - first;

    return n < 0 ? 0 : n < rows ? n : rows;
}

template <typename T>
static __device__ mtlm_att_head<T> mtlm_att_head_of(const mtlm_att_call<T> &a,
                                                    int sample, int head)
{
    mtlm_att_head<T> h;
    const int64_t length = a.lengths[sample];

    h.ld_y = a.batch * a.heads * a.d;
    h.ld = 3 * h.ld_y;
    h.at = ((int64_t) sample * a.heads + head) * a.d;
    h.row = ((int64_t) sample * a.heads + head) * a.sq;
    h.q = a.q + 3 * h.at;
    h.k = a.kv + 3 * h.at + a.d;
    h.v = a.kv + 3 * h.at + 2 * a.d;
    h.queries = mtlm_att_rows(a.sq, a.first_query, length);
    h.keys = mtlm_att_rows(a.sk, a.first_key, length);
    h.number = (a.first_head + head) * a.seq_length + a.first_query;
    h.stream = mtlm_philox_dropout_stream(a.sample + sample, a.layer, a.site);
    h.slope = mtlm_alibi_slope(a.first_head + head, a.alibi_heads);
    return h;
}

/* Returns the number of keys that a query (row number) sees, as
 * mtlm_head_seen(). */
template <typename T>
static inline __device__ int64_t mtlm_att_seen(const mtlm_att_call<T> &a,
                                               const mtlm_att_head<T> &h,
                                               int64_t query)
{
    const int64_t seen = a.first_query + query - a.first_key + 1;

    return !a.causal || seen > h.keys ? h.keys : seen < 0 ? 0 : seen;
}

/* Returns the position of a key less the position of a query (row numbers). */
template <typename T>
static inline __device__ int64_t mtlm_att_distance(const mtlm_att_call<T> &a,
                                                   int64_t query, int64_t key)
{
    return a.first_key + key - a.first_query - query;
}

/* Copies rows `first` on of d elements, ld apart, to `to` [R][LD].  Rows from
 * `rows` on and columns behind d become zero. */
template <int R, typename Tile, typename T>
static __device__ void mtlm_att_load(const T *from, int64_t first, int64_t rows,
                                     int64_t ld, int64_t d, bool wide,
                                     float *to)
{
    constexpr int N = mtlm_width<T>;
    const int tid = threadIdx.y * MTLM_ATT_SIDE + threadIdx.x;

    for (int i = tid; i < R * (Tile::D / N); i += MTLM_ATT_THREADS) {
        const int r = i / (Tile::D / N), c = i % (Tile::D / N) * N;
        const bool inside = first + r < rows;
        const T *row = from + (first + r) * ld;
        float x[N];

        if (inside && wide && c + N <= d)
            mtlm_load(row + c, x);
        else
            for (int e = 0; e < N; e++)
                x[e] = inside && c + e < d ? mtlm_float(row[c + e]) : 0;
        for (int e = 0; e < N; e++)
            to[r * Tile::LD + c + e] = x[e];
    }
}

/* Computes s [RQ][RK] = products of the rows of a [BQ][D] and of b [BK][D]. */
template <typename Tile>
static __device__ void mtlm_att_products(const float *a, const float *b,
                                         float s[Tile::RQ][Tile::RK])
{
    a += threadIdx.y * Tile::RQ * Tile::LD;
    b += threadIdx.x * Tile::LD;
    for (int i = 0; i < Tile::RQ; i++)
        for (int j = 0; j < Tile::RK; j++)
            s[i][j] = 0;
#pragma unroll 2
    for (int k = 0; k < Tile::D; k += 4) {
        float4 x[Tile::RQ], y[Tile::RK];

#pragma unroll
        for (int i = 0; i < Tile::RQ; i++)
            x[i] = *(const float4 *) (a + i * Tile::LD + k);
#pragma unroll
        for (int j = 0; j < Tile::RK; j++)
            y[j] = *(const float4 *) (b + j * MTLM_ATT_SIDE * Tile::LD + k);
#pragma unroll
        for (int i = 0; i < Tile::RQ; i++)
#pragma unroll
            for (int j = 0; j < Tile::RK; j++)
                s[i][j] += x[i].x * y[j].x + x[i].y * y[j].y + x[i].z * y[j].z
                           + x[i].w * y[j].w;
    }
}

/* Adds weights [R][N] (ldw apart) times rows [N][D] to `to` [R / 16][RC]. */
template <int R, int N, typename Tile>
static __device__ void mtlm_att_sums(const float *weights, int ldw,
                                     const float *rows,
                                     float4 to[R / MTLM_ATT_SIDE][Tile::RC])
{
    constexpr int RR = R / MTLM_ATT_SIDE;

    weights += threadIdx.y * RR * ldw;
    rows += 4 * threadIdx.x;
#pragma unroll 4
    for (int k = 0; k < N; k++) {
        float4 y[Tile::RC];

#pragma unroll
        for (int c = 0; c < Tile::RC; c++)
            y[c] =
                *(const float4 *) (rows + k * Tile::LD + c * 4 * MTLM_ATT_SIDE);
#pragma unroll
        for (int i = 0; i < RR; i++) {
            const float w = weights[i * ldw + k];

#pragma unroll
            for (int c = 0; c < Tile::RC; c++) {
                to[i][c].x += w * y[c].x;
                to[i][c].y += w * y[c].y;
                to[i][c].z += w * y[c].z;
                to[i][c].w += w * y[c].w;
            }
        }
    }
}

/* Returns the sum of x over the 16 threads of a row, in every thread. */
static inline __device__ float mtlm_att_row_sum(float x)
{
    for (int n = 1; n < MTLM_ATT_SIDE; n *= 2)
        x += __shfl_xor_sync(0xffffffffu, x, n, MTLM_ATT_SIDE);
    return x;
}

static inline __device__ float mtlm_att_row_max(float x)
{
    for (int n = 1; n < MTLM_ATT_SIDE; n *= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, n, MTLM_ATT_SIDE));
    return x;
}

/* Returns the number of the score of query q and key k in the sample. */
template <typename T>
static inline __device__ uint64_t mtlm_att_number(const mtlm_att_call<T> &a,
                                                  const mtlm_att_head<T> &h,
                                                  int64_t q, int64_t k)
{
    return (uint64_t) (h.number + q) * a.seq_length + a.first_key + k;
}

/* Writes mask [BQ][MASK]: one bit per score, set if dropped.  A byte holds the
 * eight numbers of one Philox block. */
template <typename Tile, typename T>
static __device__ void mtlm_att_draw(const mtlm_att_call<T> &a,
                                     const mtlm_att_head<T> &h, int64_t q0,
                                     int64_t k0, unsigned char *mask)
{
    const int tid = threadIdx.y * MTLM_ATT_SIDE + threadIdx.x;

    for (int i = tid; i < Tile::BQ * Tile::MASK; i += MTLM_ATT_THREADS) {
        const uint64_t first =
            mtlm_att_number(a, h, q0 + i / Tile::MASK, k0) / 8;
        uint32_t word[4], bits = 0;

        mtlm_philox_dropout(a.seed, h.stream, first + i % Tile::MASK, word);
        for (int w = 0; w < 4; w++) {
            bits |= (uint32_t) ((word[w] & 0xffff) < a.threshold) << (2 * w);
            bits |= (uint32_t) ((word[w] >> 16) < a.threshold) << (2 * w + 1);
        }
        mask[i] = (unsigned char) bits;
    }
}

/* What dropout multiplies the score of query row and key col of the tile
 * with. */
template <typename Tile, typename T>
static inline __device__ float mtlm_att_factor(const mtlm_att_call<T> &a,
                                               const mtlm_att_head<T> &h,
                                               int64_t q0, int64_t k0, int row,
                                               int col,
                                               const unsigned char *mask)
{
    const int bit = mtlm_att_number(a, h, q0 + row, k0) % 8 + col;

    if (a.threshold == 0)
        return 1;
    return mask[row * Tile::MASK + bit / 8] >> bit % 8 & 1 ? 0 : a.keep;
}

/* to [row][col ..] = x, or += x, as far as there are d columns. */
template <typename T>
static inline __device__ void mtlm_att_store(T *to, int64_t col, int64_t d,
                                             float4 x, float factor, bool add)
{
    const float value[4] = {x.x, x.y, x.z, x.w};

    for (int e = 0; e < 4; e++)
        if (col + e < d)
            to[col + e] = mtlm_round<T>(factor * value[e]
                                        + (add ? mtlm_float(to[col + e]) : 0));
}

/* From a call's attributes.  qkv: the operand with the queries, other: that
 * with the keys. */
template <typename T>
static mtlm_att_call<T> mtlm_att_call_of(void *const ptr[],
                                         const struct mtlm_call *call,
                                         const struct mtlm_context *context,
                                         int qkv, int other, int lengths)
{
    const int64_t *dim = call->shape[qkv].dim;
    const struct mtlm_dropout *dropout = &call->attr.attention.dropout;
    mtlm_att_call<T> a;

    a.q = (const T *) ptr[qkv];
    a.kv = (const T *) ptr[other];
    a.lengths = (const int *) ptr[lengths];
    a.sq = dim[0], a.sk = call->shape[other].dim[0], a.batch = dim[1];
    a.heads = call->attr.attention.heads;
    a.d = dim[2] / 3 / a.heads;
    a.first_head = call->attr.attention.first_head;
    a.alibi_heads = call->attr.attention.alibi_heads;
    a.causal = call->attr.attention.causal;
    a.wide = a.d * sizeof(T) % 16 == 0
             && ((uintptr_t) a.q | (uintptr_t) a.kv) % 16 == 0;
    a.first_query = call->attr.attention.first_query;
    a.first_key = call->attr.attention.first_key;
    a.seq_length = call->attr.attention.seq_length;
    a.coefficient = (float) call->attr.attention.coefficient;
    a.scale = 1 / (sqrtf((float) a.d) * a.coefficient);
    a.sample = context->sample;
    a.seed = dropout->seed;
    a.layer = dropout->layer, a.site = dropout->site;
    a.threshold = mtlm_philox_dropout_threshold(dropout->p);
    a.keep = a.threshold < 65536 ? 65536.0f / (65536 - a.threshold) : 0;
    return a;
}

#endif /* MTLM_ATTENTION_CUH */
