/* CUDA kernels of attention_fwd.c: a block takes BQ queries of a head along
 * all keys that they see, and carries their maximum and sum. */

#include "config.h"

#include "codelets/attention/attention.cuh"
#include "codelets/note.h"
#include "runtime/base/error.h"

constexpr float LOG2_E = 1.4426950408889634f, LN_2 = 0.69314718055994531f;

/* What a thread carries from keys to keys: the greatest score of each query
 * times log2(e), and the thread's parts of the sum and of y. */
template <typename Tile> struct carry {
    float max[Tile::RQ], sum[Tile::RQ];
    float4 y[Tile::RQ][Tile::RC];
};

template <typename Tile, typename T>
static __device__ void begin(const mtlm_att_head<T> &h, int64_t d, int64_t q0,
                             bool merge, const T *y, const float *lse,
                             carry<Tile> &to)
{
    for (int i = 0; i < Tile::RQ; i++) {
        const int64_t q = q0 + threadIdx.y * Tile::RQ + i;
        const bool known = merge && q < h.queries;
        const T *row = y + q * h.ld_y + h.at;

        /* An existing result counts as one key with the score lse. */
        to.max[i] = known ? lse[h.row + q] * LOG2_E : -INFINITY;
        to.sum[i] = known && threadIdx.x == 0;
        for (int c = 0; c < Tile::RC; c++) {
            const int col = 4 * (threadIdx.x + MTLM_ATT_SIDE * c);
            float part[4];

            for (int e = 0; e < 4; e++)
                part[e] = known && col + e < d ? mtlm_float(row[col + e]) : 0;
            to.y[i][c] = make_float4(part[0], part[1], part[2], part[3]);
        }
    }
}

/* Replaces the scores of one query by 2^(score - maximum) and rescales the
 * carried sums to the new maximum.  score[j] belongs to key tx + 16 j. */
template <typename Tile>
static __device__ void softmax(float score[Tile::RK], int i, carry<Tile> &to)
{
    float max = to.max[i], ratio;

    for (int j = 0; j < Tile::RK; j++)
        max = fmaxf(max, score[j]);
    max = mtlm_att_row_max(max);
    /* -infinity: the query has seen no key yet. */
    ratio = max > -INFINITY ? exp2f(to.max[i] - max) : 1;
    to.max[i] = max;
    to.sum[i] *= ratio;
    for (int j = 0; j < Tile::RK; j++) {
        score[j] = score[j] > -INFINITY ? exp2f(score[j] - max) : 0;
        to.sum[i] += score[j];
    }
    for (int c = 0; c < Tile::RC; c++) {
        to.y[i][c].x *= ratio, to.y[i][c].y *= ratio;
        to.y[i][c].z *= ratio, to.y[i][c].w *= ratio;
    }
}

/* The tile of keys k0 .. in memory kv: p [BQ][BK] = dropped exponentials. */
template <typename Tile, typename T>
static __device__ void probabilities(const mtlm_att_call<T> &a,
                                     const mtlm_att_head<T> &h, int64_t q0,
                                     int64_t k0, const float *q,
                                     const float *kv, const unsigned char *mask,
                                     float *p, carry<Tile> &to)
{
    const float scale = a.scale * a.coefficient * LOG2_E;
    float score[Tile::RQ][Tile::RK];

    mtlm_att_products<Tile>(q, kv, score);
    for (int i = 0; i < Tile::RQ; i++) {
        const int row = threadIdx.y * Tile::RQ + i;
        const int64_t seen =
            q0 + row < h.queries ? mtlm_att_seen(a, h, q0 + row) - k0 : 0;
        const float slope = h.slope * LOG2_E;
        const int64_t first = mtlm_att_distance(a, q0 + row, k0);

        for (int j = 0; j < Tile::RK; j++) {
            const int col = threadIdx.x + MTLM_ATT_SIDE * j;

            score[i][j] =
                col < seen ? score[i][j] * scale + slope * (float) (first + col)
                           : -INFINITY;
        }
        softmax<Tile>(score[i], i, to);
        for (int j = 0; j < Tile::RK; j++) {
            const int col = threadIdx.x + MTLM_ATT_SIDE * j;

            p[row * Tile::LDK + col] =
                score[i][j]
                * mtlm_att_factor<Tile>(a, h, q0, k0, row, col, mask);
        }
    }
}

template <typename Tile, typename T>
static __device__ void end(const mtlm_att_head<T> &h, int64_t sq, int64_t d,
                           int64_t q0, bool merge, const carry<Tile> &from,
                           T *y, float *lse)
{
    for (int i = 0; i < Tile::RQ; i++) {
        const int64_t q = q0 + threadIdx.y * Tile::RQ + i;
        const float sum = mtlm_att_row_sum(from.sum[i]);
        const bool real = q < h.queries;

        if (q >= sq || (merge && !real))
            continue;
        for (int c = 0; c < Tile::RC; c++)
            mtlm_att_store(y + q * h.ld_y + h.at,
                           4 * (threadIdx.x + MTLM_ATT_SIDE * c), d,
                           from.y[i][c], real ? 1 / sum : 0, false);
        if (threadIdx.x == 0)
            lse[h.row + q] =
                real ? from.max[i] * LN_2 + logf(sum) : MTLM_ATTENTION_NO_LSE;
    }
}

template <typename Tile, typename T>
static __global__ void __launch_bounds__(MTLM_ATT_THREADS)
    attention_fwd(const mtlm_att_call<T> a, bool merge, T *y, float *lse)
{
    float *const shared = (float *) mtlm_shared();
    float *q = shared, *kv = q + Tile::BQ * Tile::LD;
    float *p = kv + Tile::BK * Tile::LD;
    unsigned char *mask = (unsigned char *) (p + Tile::BQ * Tile::LDK);
    const mtlm_att_head<T> h = mtlm_att_head_of(a, blockIdx.z, blockIdx.y);
    /* Causal: the last queries take longest and so start first. */
    const int64_t q0 = (int64_t) (gridDim.x - 1 - blockIdx.x) * Tile::BQ;
    const int64_t last =
        (q0 + Tile::BQ < h.queries ? q0 + Tile::BQ : h.queries);
    const int64_t keys = q0 < h.queries ? mtlm_att_seen(a, h, last - 1) : 0;
    carry<Tile> carry;

    mtlm_att_load<Tile::BQ, Tile>(h.q, q0, h.queries, h.ld, a.d, a.wide, q);
    begin<Tile>(h, a.d, q0, merge, y, lse, carry);
    for (int64_t k0 = 0; k0 < keys; k0 += Tile::BK) {
        __syncthreads();
        mtlm_att_load<Tile::BK, Tile>(h.k, k0, h.keys, h.ld, a.d, a.wide, kv);
        if (a.threshold)
            mtlm_att_draw<Tile>(a, h, q0, k0, mask);
        __syncthreads();
        probabilities<Tile>(a, h, q0, k0, q, kv, mask, p, carry);
        __syncthreads();
        mtlm_att_load<Tile::BK, Tile>(h.v, k0, h.keys, h.ld, a.d, a.wide, kv);
        __syncthreads();
        mtlm_att_sums<Tile::BQ, Tile::BK, Tile>(p, Tile::LDK, kv, carry.y);
    }
    end<Tile>(h, a.sq, a.d, q0, merge, carry, y, lse);
}

template <typename Tile, typename T>
static void enqueue(const mtlm_att_call<T> &a, bool merge, void *y, void *lse,
                    cudaStream_t stream)
{
    const size_t bytes =
        sizeof(float)
            * ((Tile::BQ + Tile::BK) * Tile::LD + Tile::BQ * Tile::LDK)
        + Tile::BQ * Tile::MASK;
    const dim3 blocks((a.sq + Tile::BQ - 1) / Tile::BQ, a.heads, a.batch);

    mtlm_launch(attention_fwd<Tile, T>, blocks,
                dim3(MTLM_ATT_SIDE, MTLM_ATT_SIDE), bytes, stream, a, merge,
                (T *) y, (float *) lse);
}

static void forward(void *const ptr[], const struct mtlm_call *call,
                    const struct mtlm_context *context, int other, int lengths,
                    void *y, void *lse)
{
    const bool merge = other != ATT_QKV;
    const cudaStream_t stream = context->device->stream;

    mtlm_dispatch(call->value, [&](auto t) {
        using T = decltype(t);
        const mtlm_att_call<T> a =
            mtlm_att_call_of<T>(ptr, call, context, ATT_QKV, other, lengths);

        if (a.d <= 64)
            enqueue<mtlm_att_tile<64, 64, 64>>(a, merge, y, lse, stream);
        else if (a.d <= 128)
            enqueue<mtlm_att_tile<128, 64, 64>>(a, merge, y, lse, stream);
        else if (a.d <= MTLM_ATTENTION_GPU_D)
            enqueue<mtlm_att_tile<256, 64, 32>>(a, merge, y, lse, stream);
        else
            mtlm_fatal(__FILE__, __LINE__,
                       "attention on a GPU: a head has %d elements, needs at "
                       "most %d",
                       (int) a.d, MTLM_ATTENTION_GPU_D);
    });
}

void mtlm_attention_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
#if MTLM_CUDNN_ATTENTION
    if (mtlm_attention_cudnn_fwd(ptr, call, context))
        return;
#endif
    mtlm_note(MTLM_NOTE_ATTENTION, "own kernels (no cuDNN)");
    if (call->attr.attention.backend == MTLM_ATTENTION_FUSED)
        mtlm_fatal(__FILE__, __LINE__,
                   "--attention-backend fused: cuDNN is missing, older than "
                   "9.11, or cannot compute %d heads of %d elements; cuDNN "
                   "needs 16-bit values, samples in one part (--row-parts 1) "
                   "and no ALiBi",
                   call->attr.attention.heads,
                   (int) (mtlm_shape_cols(&call->shape[ATT_QKV]) / 3
                          / call->attr.attention.heads));
    forward(ptr, call, context, ATT_QKV, ATT_LENGTHS, ptr[ATT_Y], ptr[ATT_LSE]);
}

void mtlm_attention_more_fwd_cuda(void *const ptr[],
                                  const struct mtlm_call *call,
                                  const struct mtlm_context *context)
{
    forward(ptr, call, context, ATTM_QKV_K, ATTM_LENGTHS, ptr[ATTM_Y],
            ptr[ATTM_LSE]);
}
