/* Calls a way for every head of every sample, and sets the results of the
 * padding. */

#include "config.h"

#include <string.h>

#include "codelets/attention/alibi.h"
#include "codelets/attention/attention.h"
#include "codelets/attention/attention_heads.h"
#include "codelets/vector_math.h"

/* Numbers of a call's operands. */
struct operands {
    int other; /* the operand with the keys */
    int lengths, y, lse;
    int dy, dq, dkv; /* backward */
};

/* One call of an operation. */
struct attention_work {
    const struct mtlm_attention_way *way;
    const struct operands *operands;
    void *const *ptr;
    const struct mtlm_call *call;
    const struct mtlm_context *context;
};

/* Returns the address of value n. */
static void *at(const struct attention_work *w, void *values, int64_t n)
{
    return (char *) values + n * mtlm_dtype_bytes(w->call->value);
}

/* Returns how many of the rows from position `first` on precede the padding. */
static int64_t real_rows(int64_t rows, int64_t first, int64_t length)
{
    const int64_t n = length - first;

    return n < 0 ? 0 : n < rows ? n : rows;
}

/* Returns head n of sample j. */
static struct mtlm_head head_of(const struct attention_work *w, int64_t j,
                                int n)
{
    const struct mtlm_call *call = w->call;
    const int other = w->operands->other;
    const int32_t *lengths = w->ptr[w->operands->lengths];
    const int64_t *dim = call->shape[ATT_QKV].dim;
    const int64_t d = dim[2] / 3 / call->attr.attention.heads;
    const int64_t first = j * dim[2] + 3 * d * n;
    const int64_t first_query = call->attr.attention.first_query;
    const int64_t first_key = call->attr.attention.first_key;
    const mtlm_real c = call->attr.attention.coefficient;
    const int number = call->attr.attention.first_head + n;

    return (struct mtlm_head){
        .dropout = &call->attr.attention.dropout,
        .sample = w->context->sample + j,
        .number = number,
        .seq_length = call->attr.attention.seq_length,
        .first_query = first_query,
        .first_key = first_key,
        .queries = real_rows(dim[0], first_query, lengths[j]),
        .keys = real_rows(call->shape[other].dim[0], first_key, lengths[j]),
        .causal = call->attr.attention.causal,
        .d = d,
        .ld = dim[1] * dim[2],
        .ld_y = dim[1] * dim[2] / 3,
        .scale = 1 / (mtlm_sqrt(d) * c),
        .slope = mtlm_alibi_slope(number, call->attr.attention.alibi_heads) / c,
        .coefficient = c,
        .type = call->value,
        .q = at(w, w->ptr[ATT_QKV], first),
        .k = at(w, w->ptr[other], first + d),
        .v = at(w, w->ptr[other], first + 2 * d),
    };
}

/* Returns a worker's scratch for heads of `keys` keys. */
static mtlm_real *scratch_of(const struct attention_work *w,
                             int64_t (*elems)(int64_t keys, int64_t d))
{
    const int64_t keys = w->call->shape[w->operands->other].dim[0];
    const int64_t d = mtlm_shape_cols(&w->call->shape[ATT_QKV]) / 3
                      / w->call->attr.attention.heads;

    return mtlm_scratch_get(w->context->scratch,
                            elems(keys, d) * sizeof(mtlm_real));
}

/* Sets y and lse of the padding: rows from `from` on. */
static void pad_rows(const struct attention_work *w,
                     const struct mtlm_head *head, void *y, mtlm_real *lse)
{
    const int64_t rows = w->call->shape[ATT_QKV].dim[0];

    for (int64_t i = head->queries; i < rows; i++) {
        memset(at(w, y, i * head->ld_y), 0,
               head->d * mtlm_dtype_bytes(head->type));
        lse[i] = MTLM_ATTENTION_NO_LSE;
    }
}

static void forward(const struct attention_work *w)
{
    const int64_t *dim = w->call->shape[ATT_QKV].dim;
    const bool merge = w->operands->other != ATT_QKV;
    const int heads = w->call->attr.attention.heads;
    mtlm_real *lse = w->ptr[w->operands->lse];
    mtlm_real *scratch = scratch_of(w, w->way->fwd_scratch);

    for (int64_t j = 0; j < dim[1]; j++)
        for (int n = 0; n < heads; n++, lse += dim[0]) {
            const struct mtlm_head head = head_of(w, j, n);
            void *y = at(w, w->ptr[w->operands->y], (j * heads + n) * head.d);

            w->way->fwd(&head, merge, y, lse, scratch);
            if (!merge)
                pad_rows(w, &head, y, lse);
        }
}

static void backward(const struct attention_work *w, bool add)
{
    const struct operands *o = w->operands;
    const int64_t *dim = w->call->shape[ATT_QKV].dim;
    const int heads = w->call->attr.attention.heads;
    const mtlm_real *lse = w->ptr[o->lse];
    mtlm_real *scratch = scratch_of(w, w->way->bwd_scratch);

    for (int64_t j = 0; j < dim[1]; j++)
        for (int n = 0; n < heads; n++, lse += dim[0]) {
            const struct mtlm_head head = head_of(w, j, n);
            const int64_t first = (j * heads + n) * head.d;
            void *dq = at(w, w->ptr[o->dq], 3 * first);
            void *dk = at(w, w->ptr[o->dkv], 3 * first + head.d);

            w->way->bwd(&head, add, at(w, w->ptr[o->y], first), lse,
                        at(w, w->ptr[o->dy], first), dq, dk, at(w, dk, head.d),
                        scratch);
            for (int64_t i = head.queries; i < dim[0] && !add; i++)
                memset(at(w, dq, i * head.ld), 0,
                       3 * head.d * mtlm_dtype_bytes(head.type));
        }
}

void mtlm_attention_heads_fwd(const struct mtlm_attention_way *way,
                              void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    static const struct operands operands = {
        .other = ATT_QKV, .lengths = ATT_LENGTHS, .y = ATT_Y, .lse = ATT_LSE};

    forward(&(struct attention_work){way, &operands, ptr, call, context});
}

void mtlm_attention_heads_more_fwd(const struct mtlm_attention_way *way,
                                   void *const ptr[],
                                   const struct mtlm_call *call,
                                   const struct mtlm_context *context)
{
    static const struct operands operands = {.other = ATTM_QKV_K,
                                             .lengths = ATTM_LENGTHS,
                                             .y = ATTM_Y,
                                             .lse = ATTM_LSE};

    forward(&(struct attention_work){way, &operands, ptr, call, context});
}

/* Of attention_bwd and attention_bwd_add. */
static const struct operands of_one_part = {.other = ATTB_QKV,
                                            .lengths = ATTB_LENGTHS,
                                            .y = ATTB_Y,
                                            .lse = ATTB_LSE,
                                            .dy = ATTB_DY,
                                            .dq = ATTB_DQKV,
                                            .dkv = ATTB_DQKV};

void mtlm_attention_heads_bwd(const struct mtlm_attention_way *way,
                              void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    backward(&(struct attention_work){way, &of_one_part, ptr, call, context},
             false);
}

void mtlm_attention_heads_bwd_add(const struct mtlm_attention_way *way,
                                  void *const ptr[],
                                  const struct mtlm_call *call,
                                  const struct mtlm_context *context)
{
    backward(&(struct attention_work){way, &of_one_part, ptr, call, context},
             true);
}

void mtlm_attention_heads_more_bwd(const struct mtlm_attention_way *way,
                                   void *const ptr[],
                                   const struct mtlm_call *call,
                                   const struct mtlm_context *context)
{
    static const struct operands operands = {.other = ATTMB_QKV_K,
                                             .lengths = ATTMB_LENGTHS,
                                             .y = ATTMB_Y,
                                             .lse = ATTMB_LSE,
                                             .dy = ATTMB_DY,
                                             .dq = ATTMB_DQKV_Q,
                                             .dkv = ATTMB_DQKV_K};

    backward(&(struct attention_work){way, &operands, ptr, call, context},
             true);
}
