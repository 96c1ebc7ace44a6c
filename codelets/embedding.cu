/* CUDA kernels of embedding.c.
 *
 * The gradient without atomic additions: tokens are sorted (those of equal
 * value in order), so that the rows of one word stand together.  Blocks of
 * threads take CHUNK of them each; a word that ends where it began within a
 * chunk is done, what reaches into other chunks leaves a part in the
 * workspace, and a second kernel adds these up.  So all sums have one order. */

#include "config.h"

#include <assert.h>

#include "codelets/embedding.h"
#include "codelets/op.h"
#include "codelets/rows.cuh"

template <typename T, int V> struct embedding_forward : mtlm_row_work<V> {
    const int32_t *tokens;
    const T *word;
    T *y;
    int64_t first, n_words, h;

    __device__ void at(int64_t r, int64_t c, float (&)[V],
                       float (&)[1][V]) const
    {
        const int64_t row = tokens[r] - first;
        float v[V] = {};

        if (row >= 0 && row < n_words)
            mtlm_load(word + row * h + c, v);
        mtlm_store(y + r * h + c, v);
    }
};

void mtlm_embedding_fwd_cuda(void *const ptr[], const struct mtlm_call *call,
                             const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[EMB_TOKENS]);
    const int64_t *dim = call->shape[EMB_WORD].dim, h = dim[1];

    mtlm_dispatch_wide(
        call->value, h, {ptr[EMB_WORD], ptr[EMB_Y]}, [&](auto t, auto width) {
            using T = decltype(t);
            constexpr int V = decltype(width)::value;

            mtlm_over_rows(
                embedding_forward<T, V>{{},
                                        (const int32_t *) ptr[EMB_TOKENS],
                                        (const T *) ptr[EMB_WORD],
                                        (T *) ptr[EMB_Y],
                                        call->attr.vocabulary.first,
                                        dim[0],
                                        h},
                n, h, context->device);
        });
}

constexpr int WARP = 32, WARPS = 8;

/* A batch of tokens, sorted, and the rows of this shard. */
struct sorted {
    int32_t *key;   /* [n]: row of the table; n_words: in another shard */
    int32_t *order; /* [n]: position in the batch */
    int n, n_words, chunk;
};

static __device__ int key_of(int32_t token, int64_t first, int n_words)
{
    const int64_t row = token - first;

    return row >= 0 && row < n_words ? (int) row : n_words;
}

/* One warp per token counts the tokens that sort before it. */
static __global__ void __launch_bounds__(WARP *WARPS)
    sort_tokens(const int32_t *tokens, int64_t first, sorted to)
{
    const int i = blockIdx.x * WARPS + threadIdx.x / WARP;
    int before = 0, key;

    if (i >= to.n)
        return;
    key = key_of(tokens[i], first, to.n_words);
#ifdef __CUDACC__
#pragma unroll 4
#endif
    for (int j = threadIdx.x % WARP; j < to.n; j += WARP) {
        const int other = key_of(tokens[j], first, to.n_words);

        before += other < key || (other == key && j < i);
    }
    for (int n = WARP / 2; n > 0; n /= 2)
        before += __shfl_xor_sync(~0u, before, n);
    if (threadIdx.x % WARP == 0) {
        to.key[before] = key;
        to.order[before] = i;
    }
}

template <int V> static __device__ void add_to(float *p, const float (&sum)[V])
{
    float v[V];

    mtlm_load(p, v);
    for (int i = 0; i < V; i++)
        v[i] += sum[i];
    mtlm_store(p, v);
}

/* parts [chunks, 2, h]: the sum for the word that continues from the chunk
 * before, and the sum for the word that continues in the next chunk. */
template <typename T, int V>
static __global__ void add_chunks(sorted s, const T *dy, float *dword,
                                  float *parts, int64_t h)
{
    const int64_t c = ((int64_t) blockIdx.y * blockDim.x + threadIdx.x) * V;
    const int begin = blockIdx.x * s.chunk;
    const int end = begin + s.chunk < s.n ? begin + s.chunk : s.n;
    float *const part = parts + (int64_t) blockIdx.x * 2 * h + c;
    float sum[V] = {};

    if (c >= h)
        return;
    bool from_before = begin > 0 && s.key[begin - 1] == s.key[begin];
    for (int k = begin; k < end && s.key[k] < s.n_words; k++) {
        const int key = s.key[k], next = k + 1 < s.n ? s.key[k + 1] : -1;
        float v[V];

        mtlm_load(dy + s.order[k] * h + c, v);
        for (int i = 0; i < V; i++)
            sum[i] += v[i];
        if (next == key && k + 1 < end)
            continue;
        if (from_before)
            mtlm_store(part, sum);
        else if (next == key)
            mtlm_store(part + h, sum);
        else
            add_to(dword + key * h + c, sum);
        from_before = false;
        for (int i = 0; i < V; i++)
            sum[i] = 0;
    }
}

/* Returns the first position of a greater key. */
static __device__ int end_of(const sorted &s, int key)
{
    int low = 0, high = s.n;

    while (low < high) {
        const int middle = (low + high) / 2;

        if (s.key[middle] <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds up the word that begins in this chunk and continues in the next ones. */
template <int V>
static __global__ void add_chunk_parts(sorted s, float *dword,
                                       const float *parts, int64_t h)
{
    const int64_t c = ((int64_t) blockIdx.y * blockDim.x + threadIdx.x) * V;
    const int begin = blockIdx.x * s.chunk, end = begin + s.chunk;
    float sum[V];

    if (c >= h || end >= s.n)
        return;
    const int key = s.key[end];
    if (key == s.n_words || s.key[end - 1] != key
        || (begin > 0 && s.key[begin - 1] == key))
        return;
    const int last = (end_of(s, key) - 1) / s.chunk;
    mtlm_load(parts + ((int64_t) blockIdx.x * 2 + 1) * h + c, sum);
#ifdef __CUDACC__
#pragma unroll 4
#endif
    for (int j = blockIdx.x + 1; j <= last; j++) {
        float v[V];

        mtlm_load(parts + (int64_t) j * 2 * h + c, v);
        for (int i = 0; i < V; i++)
            sum[i] += v[i];
    }
    add_to(dword + key * h + c, sum);
}

/* Divides the workspace; chunks are as small as the workspace allows. */
static sorted sorted_in(const struct mtlm_device *device, int64_t n,
                        int64_t n_words, int64_t h, float **parts)
{
    const int64_t tokens = (n + 3) / 4 * 4;
    const size_t used = 2 * tokens * sizeof(int32_t);
    int32_t *const start = (int32_t *) device->workspace;
    int64_t chunk = 32;

    assert(n <= INT32_MAX / 2 && used < device->workspace_bytes);
    while (used + ((n + chunk - 1) / chunk) * 2 * h * sizeof(float)
           > device->workspace_bytes) {
        assert(chunk < n);
        chunk *= 2;
    }
    *parts = (float *) (start + 2 * tokens);
    return {start, start + tokens, (int) n, (int) n_words, (int) chunk};
}

void mtlm_embedding_wgrad_cuda(void *const ptr[], const struct mtlm_call *call,
                               const struct mtlm_context *context)
{
    const int64_t n = mtlm_shape_elems(&call->shape[EMBW_TOKENS]);
    const int64_t *dim = call->shape[EMBW_DWORD].dim, h = dim[1];
    cudaStream_t stream = context->device->stream;
    float *dword = (float *) ptr[EMBW_DWORD], *parts;
    const sorted s = sorted_in(context->device, n, dim[0], h, &parts);

    mtlm_launch(sort_tokens, (s.n + WARPS - 1) / WARPS, WARP * WARPS, 0, stream,
                (const int32_t *) ptr[EMBW_TOKENS], call->attr.vocabulary.first,
                s);
    mtlm_dispatch_wide(
        call->value, h, {ptr[EMBW_DY], dword}, [&](auto t, auto width) {
            using T = decltype(t);
            constexpr int V = decltype(width)::value;
            const struct mtlm_tiles tiles = mtlm_tiles_of(1, h, V, false);
            const dim3 blocks((s.n + s.chunk - 1) / s.chunk, tiles.blocks.x);

            mtlm_launch(add_chunks<T, V>, blocks, tiles.threads, 0, stream, s,
                        (const T *) ptr[EMBW_DY], dword, parts, h);
            mtlm_launch(add_chunk_parts<V>, blocks, tiles.threads, 0, stream, s,
                        dword, (const float *) parts, h);
        });
}
