#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/codelets/attention_parts.h"
#include "tests/codelets/support.h"

struct parts {
    const struct mtlm_call *whole;
    const int64_t *cut;
    int n;
    int64_t sample;
    int64_t width; /* of a row of y; three times that of qkv */
    void *lengths;
    void *qkv, *y, *dy, *dqkv; /* of whole->value */
    mtlm_real *lse[PARTS_AT_MOST];
};

static void *rows(const struct parts *p, void *x, int part, int64_t width)
{
    return (char *) x
           + p->cut[part] * width * mtlm_dtype_bytes(p->whole->value);
}

/* The queries of part q and the keys of part k. */
static struct mtlm_call call_of(const struct parts *p, enum mtlm_op_kind kind,
                                int q, int k)
{
    struct mtlm_call call = {
        .kind = kind, .value = p->whole->value, .attr = p->whole->attr};
    const int64_t *dim = p->whole->shape[0].dim;
    const int64_t sq = p->cut[q + 1] - p->cut[q];
    const int64_t sk = p->cut[k + 1] - p->cut[k];
    const struct mtlm_shape y = MTLM_SHAPE(sq, dim[1], dim[2] / 3);
    const struct mtlm_shape lse =
        MTLM_SHAPE(dim[1], call.attr.attention.heads, sq);
    struct mtlm_shape *at = call.shape;

    call.attr.attention.first_query = p->cut[q];
    call.attr.attention.first_key = p->cut[k];
    *at++ = MTLM_SHAPE(sq, dim[1], dim[2]);
    if (q != k)
        *at++ = MTLM_SHAPE(sk, dim[1], dim[2]);
    *at++ = MTLM_SHAPE(1, dim[1]);
    *at++ = y;
    *at++ = lse;
    if (kind == MTLM_OP_ATTENTION_FWD || kind == MTLM_OP_ATTENTION_MORE_FWD)
        return call;
    *at++ = y;
    *at++ = MTLM_SHAPE(sq, dim[1], dim[2]);
    if (q != k)
        *at++ = MTLM_SHAPE(sk, dim[1], dim[2]);
    return call;
}

static void forward(const struct parts *p, int q, int k)
{
    void *y = rows(p, p->y, q, p->width);
    void *qkv_q = rows(p, p->qkv, q, 3 * p->width);
    void *qkv_k = rows(p, p->qkv, k, 3 * p->width);

    if (q == k)
        run_op(call_of(p, MTLM_OP_ATTENTION_FWD, q, k),
               (void *[]){qkv_q, p->lengths, y, p->lse[q]}, p->sample);
    else
        run_op(call_of(p, MTLM_OP_ATTENTION_MORE_FWD, q, k),
               (void *[]){qkv_q, qkv_k, p->lengths, y, p->lse[q]}, p->sample);
}

static void backward(const struct parts *p, int q, int k)
{
    void *y = rows(p, p->y, q, p->width);
    void *dy = rows(p, p->dy, q, p->width);
    void *qkv_q = rows(p, p->qkv, q, 3 * p->width);
    void *qkv_k = rows(p, p->qkv, k, 3 * p->width);
    void *dqkv_q = rows(p, p->dqkv, q, 3 * p->width);
    void *dqkv_k = rows(p, p->dqkv, k, 3 * p->width);

    if (q == k)
        run_op(call_of(p, MTLM_OP_ATTENTION_BWD_ADD, q, k),
               (void *[]){qkv_q, p->lengths, y, p->lse[q], dy, dqkv_q},
               p->sample);
    else
        run_op(call_of(p, MTLM_OP_ATTENTION_MORE_BWD, q, k),
               (void *[]){qkv_q, qkv_k, p->lengths, y, p->lse[q], dy, dqkv_q,
                          dqkv_k},
               p->sample);
}

void run_attention_parts(const struct mtlm_call *whole, const int64_t *cut,
                         int n, const void *qkv, const int32_t *lengths,
                         const void *dy, void *y, void *dqkv, int64_t sample)
{
    const int64_t *dim = whole->shape[0].dim;
    const bool causal = whole->attr.attention.causal;
    struct parts p = {.whole = whole,
                      .cut = cut,
                      .n = n,
                      .sample = sample,
                      .width = dim[1] * dim[2] / 3,
                      .lengths = (void *) lengths,
                      .qkv = (void *) qkv,
                      .y = y,
                      .dy = (void *) dy,
                      .dqkv = dqkv};

    for (int q = 0; q < n; q++) {
        p.lse[q] = new_undefined((cut[q + 1] - cut[q]) * dim[1]
                                 * whole->attr.attention.heads);
        forward(&p, q, q);
        for (int k = 0; k < (causal ? q : n); k++)
            if (k != q)
                forward(&p, q, k);
    }
    memset(dqkv, 0,
           mtlm_shape_elems(&whole->shape[0]) * mtlm_dtype_bytes(whole->value));
    for (int q = n - 1; q >= 0; q--) {
        for (int k = (causal ? q : n) - 1; k >= 0; k--)
            if (k != q)
                backward(&p, q, k);
        backward(&p, q, q);
        free(p.lse[q]);
    }
}
