/* The kernels of attention: over lengths and widths of heads that no tile
 * divides, causal or not, with padding, dropout and query-key layer scaling, on
 * whole samples and on samples in two parts; and what on a GPU in 16 bits
 * cuDNN computes, whose dropout is not the CPU's. */

#include "config.h"

#include "tests/codelets/twins.h"

#if HAVE_CUDA

#include <math.h>
#include <stdlib.h>

#include "codelets/attention/attention.h"
#include "tests/codelets/support.h"
#include "tests/codelets/twin.h"

enum { SAMPLE = 4, BATCH_AT_MOST = 3 };

/* cuDNN rounds probabilities, and gradients of scores, before it multiplies:
 * each term of a sum by half a unit, and sums may cancel. */
enum { ROUNDINGS = 8 };

/* Samples, and how they are cut: the queries that count begin at first_query,
 * the keys of the operations on two parts at first_key. */
struct problem {
    int s, b, heads, d;
    double p;   /* of dropout */
    bool full;  /* not causal */
    bool cudnn; /* may be taken */
    double coefficient;
    int alibi_heads; /* 0: no ALiBi */
    int padding[BATCH_AT_MOST];
    int queries, first_query, keys, first_key;
    double apart; /* what all scores are less than of N(0, 1) */
};

/* Of the call that is compared: fill() has no argument of its own. */
static const struct problem *now;

static struct mtlm_call call_of(const struct problem *of,
                                enum mtlm_op_kind kind, bool two_parts)
{
    return (struct mtlm_call){
        .kind = kind,
        .attr.attention = {
            .heads = of->heads,
            .first_head = 3,
            .causal = !of->full,
            .first_query = of->first_query,
            .first_key = two_parts ? of->first_key : of->first_query,
            .seq_length = of->s,
            .coefficient = of->coefficient,
            .alibi_heads = of->alibi_heads,
            .backend = of->cudnn ? MTLM_ATTENTION_AUTO : MTLM_ATTENTION_FLASH,
            .dropout = {.p = of->p,
                        .seed = 21,
                        .layer = 1,
                        .site = MTLM_SITE_ATTENTION}}};
}

static struct mtlm_shape rows(const struct problem *of, int n, int parts)
{
    return MTLM_SHAPE(n, of->b, parts * of->heads * of->d);
}

/* q k^T / sqrt(d) of all pairs less by now->apart. */
static void move_apart(const struct mtlm_shape *shape, mtlm_real *qkv)
{
    const mtlm_real by = sqrt(now->apart * sqrt(now->d));
    const int64_t n = mtlm_shape_elems(shape);

    for (int64_t at = 0; at < n && now->apart > 0; at += 3 * now->d) {
        qkv[at] += by;
        qkv[at + now->d] -= by;
    }
}

static void fill_lengths(int32_t *lengths)
{
    for (int j = 0; j < now->b; j++)
        lengths[j] = now->s - now->padding[j];
}

static void fill_forward(const struct mtlm_call *call, void *const operand[])
{
    move_apart(&call->shape[ATT_QKV], operand[ATT_QKV]);
    fill_lengths(operand[ATT_LENGTHS]);
}

/* y and lse as attention_fwd gives them. */
static void run_forward(void *qkv, void *lengths, void *y, void *lse)
{
    struct mtlm_call call = call_of(now, MTLM_OP_ATTENTION_FWD, false);

    fill_lengths(lengths);
    call.shape[ATT_QKV] = rows(now, now->queries, 3);
    call.shape[ATT_LENGTHS] = MTLM_SHAPE(1, now->b);
    run_op(call, (void *[]){qkv, lengths, y, lse}, SAMPLE);
}

static void fill_backward(const struct mtlm_call *call, void *const operand[])
{
    move_apart(&call->shape[ATTB_QKV], operand[ATTB_QKV]);
    run_forward(operand[ATTB_QKV], operand[ATTB_LENGTHS], operand[ATTB_Y],
                operand[ATTB_LSE]);
}

static void fill_more_forward(const struct mtlm_call *call,
                              void *const operand[])
{
    (void) call;
    run_forward(operand[ATTM_QKV_Q], operand[ATTM_LENGTHS], operand[ATTM_Y],
                operand[ATTM_LSE]);
}

static void set_more_shapes(struct mtlm_call *call, const struct problem *of)
{
    call->shape[ATTM_QKV_Q] = rows(of, of->queries, 3);
    call->shape[ATTM_QKV_K] = rows(of, of->keys, 3);
    call->shape[ATTM_LENGTHS] = MTLM_SHAPE(1, of->b);
    call->shape[ATTM_Y] = rows(of, of->queries, 1);
    call->shape[ATTM_LSE] = MTLM_SHAPE(of->b, of->heads, of->queries);
}

/* y and lse as they are in the end. */
static void fill_more_backward(const struct mtlm_call *call,
                               void *const operand[])
{
    struct mtlm_call more = call_of(now, MTLM_OP_ATTENTION_MORE_FWD, true);

    fill_more_forward(call, operand);
    set_more_shapes(&more, now);
    run_op(more, operand, SAMPLE);
}

static void compare_one_part(const struct problem *of)
{
    const bool library = of->cudnn && !MTLM_EMULATED;
    struct twin twin = {.call = call_of(of, MTLM_OP_ATTENTION_FWD, false),
                        .fill = fill_forward,
                        .sample = SAMPLE,
                        /* Scores of hundreds have absolute errors of 1e-5. */
                        .bound = of->apart > 0 ? 1e-4 : 0,
                        .roundings = library ? ROUNDINGS : 0,
                        .aligned = of->cudnn};
    struct mtlm_shape *shape = twin.call.shape;

    now = of;
    shape[ATT_QKV] = rows(of, of->queries, 3);
    shape[ATT_LENGTHS] = MTLM_SHAPE(1, of->b);
    twin_compare(&twin);
    twin.fill = fill_backward;
    twin.call.kind = MTLM_OP_ATTENTION_BWD;
    shape[ATTB_Y] = shape[ATTB_DY] = rows(of, of->queries, 1);
    shape[ATTB_LSE] = MTLM_SHAPE(of->b, of->heads, of->queries);
    twin_compare(&twin);
    twin.call.kind = MTLM_OP_ATTENTION_BWD_ADD;
    shape[ATTB_DQKV] = shape[ATTB_QKV];
    twin_compare(&twin);
}

static void compare_two_parts(const struct problem *of)
{
    struct twin twin = {.call = call_of(of, MTLM_OP_ATTENTION_MORE_FWD, true),
                        .fill = fill_more_forward,
                        .sample = SAMPLE};
    struct mtlm_shape *shape = twin.call.shape;

    now = of;
    set_more_shapes(&twin.call, of);
    twin_compare(&twin);
    twin.fill = fill_more_backward;
    twin.call.kind = MTLM_OP_ATTENTION_MORE_BWD;
    shape[ATTMB_DY] = shape[ATTMB_Y];
    shape[ATTMB_DQKV_Q] = shape[ATTMB_QKV_Q];
    shape[ATTMB_DQKV_K] = shape[ATTMB_QKV_K];
    twin_compare(&twin);
}

void test_attention(void **state)
{
    /* One of them for each size of tiles; keys that follow; ALiBi. */
    static const struct problem problems[] = {
        {.s = 131,
         .b = 2,
         .heads = 2,
         .d = 40,
         .p = 0.1,
         .coefficient = 1,
         .queries = 69,
         .first_query = 62,
         .keys = 62},
        {.s = 75,
         .b = 3,
         .heads = 1,
         .d = 72,
         .p = 0.3,
         .full = true,
         .coefficient = 7,
         .padding = {17, 0, 75},
         .queries = 40,
         .first_query = 35,
         .keys = 35},
        {.s = 67,
         .b = 1,
         .heads = 2,
         .d = 256,
         .coefficient = 1,
         .queries = 35,
         .first_query = 32,
         .keys = 32},
        {.s = 37,
         .b = 2,
         .heads = 1,
         .d = 5,
         .p = 0.5,
         .full = true,
         .coefficient = 1,
         .padding = {0, 30},
         .queries = 20,
         .keys = 17,
         .first_key = 20},
        {.s = 131,
         .b = 2,
         .heads = 2,
         .d = 40,
         .p = 0.1,
         .coefficient = 5,
         .alibi_heads = 6,
         .queries = 69,
         .first_query = 62,
         .keys = 62},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(problems) / sizeof(*problems); i++) {
        struct problem whole = problems[i];

        whole.queries = whole.s;
        whole.first_query = 0;
        compare_one_part(&whole);
        compare_one_part(&problems[i]);
        compare_two_parts(&problems[i]);
    }
}

void test_attention_that_cudnn_takes(void **state)
{
    static const struct problem problems[] = {
        {.s = 131, .b = 2, .heads = 3, .d = 64},
        {.s = 128, .b = 1, .heads = 2, .d = 128},
        {.s = 75,
         .b = 3,
         .heads = 2,
         .d = 64,
         .full = true,
         .padding = {17, 0, 74}},
        {.s = 64, .b = 2, .heads = 1, .d = 40, .full = true, .padding = {0, 3}},
        {.s = 64, .b = 2, .heads = 1, .d = 256, .full = true, .padding = {5}},
        /* exp(-lse) is more than a float, and half a tile of rows is not there:
         * cudnn-frontend, pull request 628. */
        {.s = 192, .b = 1, .heads = 2, .d = 64, .full = true, .apart = 100},
        {.s = 192, .b = 1, .heads = 2, .d = 64, .apart = 100},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(problems) / sizeof(*problems); i++) {
        struct problem whole = problems[i];

        whole.cudnn = true;
        whole.coefficient = 1;
        whole.queries = whole.s;
        compare_one_part(&whole);
    }
}

#endif
