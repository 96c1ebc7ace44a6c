/* Attention of a few new positions of one sequence to all positions so far,
 * whose keys and values a cache holds.  Generation of text calls this
 * operation; there is no gradient.
 *
 * qkv [r, 1, 3 hl], per head [q | k | v], each d = hl / heads wide; cache
 * [positions, 2 hl], per position the keys of all heads, then the values;
 * y [r, 1, hl].
 *
 * Row i of qkv has position context->position + i.  The kernel appends the
 * first context->rows rows to the cache.  Query i sees the keys of positions 0
 * .. context->position + i.  Rows from context->rows on get y = 0.
 *
 * attr.attention: heads, first_head, coefficient and alibi_heads only. */

#include "config.h"

#include <assert.h>
#include <string.h>

#include "codelets/attention/alibi.h"
#include "codelets/infer.h"
#include "codelets/vector_math.h"

enum { QKV, CACHE, Y };

static int attention_cached_infer(struct mtlm_call *call,
                                  struct mtlm_error *err)
{
    struct mtlm_shape *shape = call->shape;
    int64_t hl;

    if (mtlm_infer_expect_rank(call, QKV, "qkv", 3, err)
        || mtlm_infer_expect_rank(call, CACHE, "cache", 2, err)
        || mtlm_infer_expect_shape(
            call, QKV, "qkv",
            MTLM_SHAPE(shape[QKV].dim[0], 1, shape[QKV].dim[2]), err))
        return -1;
    hl = shape[QKV].dim[2] / 3;
    shape[Y] = MTLM_SHAPE(shape[QKV].dim[0], 1, hl);
    return mtlm_infer_expect_shape(
        call, CACHE, "cache", MTLM_SHAPE(shape[CACHE].dim[0], 2 * hl), err);
}

/* One head: queries, keys and values of the new rows, and of the cache. */
struct head {
    int64_t d, ld, cache_ld;
    /* score = scale q k^T + slope (k's position - q's); both times log2(e) */
    mtlm_real scale, slope;
    const mtlm_real *q;
    mtlm_real *k, *v; /* in the cache, from position 0 on */
};

static struct head head_of(void *const ptr[], const struct mtlm_call *call,
                           int n)
{
    const int64_t hl = call->shape[Y].dim[2];
    const int64_t d = hl / call->attr.attention.heads;
    mtlm_real *cache = ptr[CACHE];

    return (struct head){
        .d = d,
        .ld = 3 * hl,
        .cache_ld = 2 * hl,
        /* The coefficient divides scores and multiplies them again. */
        .scale = MTLM_LOG2_E / mtlm_sqrt(d),
        .slope = MTLM_LOG2_E
                 * mtlm_alibi_slope(call->attr.attention.first_head + n,
                                    call->attr.attention.alibi_heads),
        .q = (const mtlm_real *) ptr[QKV] + 3 * d * n,
        .k = cache + d * n,
        .v = cache + hl + d * n,
    };
}

static void append_row(const struct head *h, int64_t row, int64_t position)
{
    const mtlm_real *k = h->q + row * h->ld + h->d;

    memcpy(h->k + position * h->cache_ld, k, h->d * sizeof(*k));
    memcpy(h->v + position * h->cache_ld, k + h->d, h->d * sizeof(*k));
}

static mtlm_real dot(const mtlm_real *a, const mtlm_real *b, int64_t n)
{
    mtlm_real sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Replaces n scores by 2^(score - maximum); returns their sum. */
static mtlm_real softmax(mtlm_real *score, int64_t n)
{
    mtlm_real max = score[0], sum = 0;

#pragma omp simd reduction(max : max)
    for (int64_t i = 0; i < n; i++)
        max = score[i] > max ? score[i] : max;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        score[i] = mtlm_exp2(score[i] - max);
        sum += score[i];
    }
    return sum;
}

/* Writes y [d] of the query in that row, which sees `seen` keys. */
static void attend(const struct head *h, int64_t row, int64_t seen,
                   mtlm_real *score, mtlm_real *y)
{
    mtlm_real inverse;

    for (int64_t i = 0; i < seen; i++)
        score[i] =
            h->scale * dot(h->q + row * h->ld, h->k + i * h->cache_ld, h->d)
            + h->slope * (mtlm_real) (i - seen + 1);
    inverse = 1 / softmax(score, seen);
    memset(y, 0, h->d * sizeof(*y));
    for (int64_t i = 0; i < seen; i++) {
        const mtlm_real weight = score[i] * inverse;
        const mtlm_real *v = h->v + i * h->cache_ld;

#pragma omp simd
        for (int64_t c = 0; c < h->d; c++)
            y[c] += weight * v[c];
    }
}

static void attention_cached_cpu(void *const ptr[],
                                 const struct mtlm_call *call,
                                 const struct mtlm_context *context)
{
    const int64_t rows = call->shape[QKV].dim[0], hl = call->shape[Y].dim[2];
    const int64_t positions = call->shape[CACHE].dim[0];
    const int64_t first = context->position, n = context->rows;
    mtlm_real *score =
        mtlm_scratch_get(context->scratch, positions * sizeof(*score));
    mtlm_real *y = ptr[Y];

    assert(n <= rows && first + n <= positions);
    for (int k = 0; k < call->attr.attention.heads; k++) {
        const struct head h = head_of(ptr, call, k);

        for (int64_t i = 0; i < n; i++) {
            append_row(&h, i, first + i);
            attend(&h, i, first + i + 1, score, y + i * hl + k * h.d);
        }
    }
    memset(y + n * hl, 0, (rows - n) * hl * sizeof(*y));
}

const struct mtlm_op mtlm_op_attention_cached = {
    .name = "attention_cached",
    .op_class = MTLM_CLASS_HOST,
    .n_operands = 3,
    .access = {[QKV] = MTLM_R, [CACHE] = MTLM_RW, [Y] = MTLM_W},
    .dtype = {[QKV] = MTLM_VALUE, [Y] = MTLM_VALUE},
    .infer = attention_cached_infer,
    .cpu = attention_cached_cpu,
};
