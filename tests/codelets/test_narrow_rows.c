/* Operations on 16-bit operands that are widened a few rows at a time: the bits
 * of the kernel of mtlm_real on the same numbers, rounded. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/attention/attention.h"
#include "codelets/value.h"
#include "runtime/base/value16.h"
#include "tests/codelets/narrow_operand.h"
#include "tests/codelets/support.h"

static const enum mtlm_dtype types[] = {MTLM_BF16, MTLM_F16};

enum { TYPES = sizeof(types) / sizeof(types[0]) };

static void run(const struct mtlm_call *call, void *const ptr[],
                struct mtlm_scratch *wide)
{
    struct mtlm_scratch scratch = {0};
    const struct mtlm_context context = {.sample = 3,
                                         .first = true,
                                         .position = 4,
                                         .scratch = &scratch,
                                         .wide = wide};

    mtlm_value_run_cpu(ptr, call, &context);
    mtlm_scratch_free(&scratch);
}

/* Lengths of samples: the first one has no padding, the last one is short. */
static void set_lengths(struct narrow_operand *o, int64_t s)
{
    for (int64_t j = 0; j < o->n; j++)
        ((int32_t *) o->given)[j] = (int32_t) (s / (1 + 2 * j));
    memcpy(o->wide, o->given, o->n * sizeof(int32_t));
}

/* Fails unless `given` holds what `wide` holds, rounded. */
static void check_bits(const struct narrow_operand *o)
{
    uint16_t *want;

    if (!o->is_value) {
        assert_memory_equal(o->given, o->wide, o->n * 4);
        return;
    }
    want = mtlm_calloc(o->n, sizeof(*want));
    mtlm_value16_round(o->type, o->wide, o->n, want);
    assert_memory_equal(o->given, want, o->n * sizeof(*want));
    free(want);
}

/* Runs the call on 16-bit values and on mtlm_real; fails unless all operands
 * have the same bits then.  s: positions of a sample.  Returns the bytes of
 * widened operands. */
static size_t check_op(struct mtlm_call call, int64_t s)
{
    const int operands = mtlm_ops[call.kind]->n_operands;
    struct narrow_operand o[MTLM_MAX_OPERANDS];
    void *wide[MTLM_MAX_OPERANDS], *given[MTLM_MAX_OPERANDS];
    struct mtlm_scratch scratch = {0};
    struct mtlm_call real;
    struct mtlm_error err;
    size_t bytes;

    assert_int_equal(mtlm_call_infer(&call, &err), 0);
    real = call;
    real.value = MTLM_REAL;
    for (int i = 0; i < operands; i++) {
        o[i] = narrow_operand_new(&call, i);
        if (o[i].type == MTLM_I32)
            set_lengths(&o[i], s);
        wide[i] = o[i].wide;
        given[i] = o[i].given;
    }
    run(&real, wide, NULL);
    run(&call, given, &scratch);
    bytes = scratch.bytes;
    /* Scratch grows by whole pages. */
    assert_true(bytes >= mtlm_value_wide_bytes(&call)
                && bytes - mtlm_value_wide_bytes(&call) < 4096);
    mtlm_scratch_free(&scratch);
    for (int i = 0; i < operands; i++) {
        check_bits(&o[i]);
        narrow_operand_free(o[i]);
    }
    return bytes;
}

static const struct mtlm_shape rows[] = {
    {.rank = 3, .dim = {1000, 1, 513}}, /* several parts, a last short one */
    {.rank = 3, .dim = {200, 3, 1024}}, /* samples divide no block of rows */
    {.rank = 3, .dim = {70, 32, 768}},  /* a position is a block of rows */
    {.rank = 3, .dim = {5, 2, 16}},     /* one part */
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void check_rows(enum mtlm_dtype type, struct mtlm_shape x)
{
    const struct mtlm_shape h = MTLM_SHAPE(x.dim[2]);
    const struct mtlm_shape stats = MTLM_SHAPE(x.dim[0], x.dim[1]);
    const union mtlm_attr epsilon = {.layernorm.epsilon = 1e-5};
    const union mtlm_attr dropout = {
        .dropout = {.p = 0.2, .seed = 5, .layer = 2, .first_row = 7}};
    const struct mtlm_call calls[] = {
        {.kind = MTLM_OP_LAYERNORM_FWD, .attr = epsilon, .shape = {x, h, h}},
        {.kind = MTLM_OP_LAYERNORM_BWD,
         .shape = {x, h, stats, stats, x, x, h, h}},
        {.kind = MTLM_OP_LAYERNORM_BWD_ADD,
         .shape = {x, h, stats, stats, x, x, h, h}},
        {.kind = MTLM_OP_BIAS_DROPOUT_ADD_FWD,
         .attr = dropout,
         .shape = {x, h, x}},
        {.kind = MTLM_OP_BIAS_DROPOUT_ADD_BWD,
         .attr = dropout,
         .shape = {x, x, h}},
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct mtlm_call call = calls[i];
        size_t bytes;

        call.value = type;
        bytes = check_op(call, 0);
        if (x.dim[0] > 5) /* less than two whole operands */
            assert_true(bytes < 2 * mtlm_shape_elems(&x) * sizeof(float));
    }
}

static void test_rows_of_layernorm_and_dropout(void **state)
{
    (void) state;
    for (int t = 0; t < TYPES; t++)
        for (int i = 0; i < ROWS; i++)
            check_rows(types[t], rows[i]);
}

/* Attention of the later part of a sample, s positions, and of an earlier part;
 * 2 heads of d elements.  The last sample ends in the earlier part: the later
 * part has no queries, or no keys, of it. */
static void check_attention(enum mtlm_dtype type, int64_t s, int64_t d,
                            bool causal, int alibi_heads)
{
    enum { FIRST = 60, B = 3, HEADS = 2 };
    const struct mtlm_shape qkv = MTLM_SHAPE(s, B, 3 * HEADS * d);
    const struct mtlm_shape earlier = MTLM_SHAPE(FIRST, B, 3 * HEADS * d);
    const struct mtlm_shape y = MTLM_SHAPE(s, B, HEADS * d);
    const struct mtlm_shape lse = MTLM_SHAPE(B, HEADS, s);
    const struct mtlm_shape y_earlier = MTLM_SHAPE(FIRST, B, HEADS * d);
    const struct mtlm_shape lse_earlier = MTLM_SHAPE(B, HEADS, FIRST);
    const struct mtlm_shape lengths = MTLM_SHAPE(1, B);
    const union mtlm_attr attr = {
        .attention = {.heads = HEADS,
                      .causal = causal,
                      .first_query = FIRST,
                      .first_key = FIRST,
                      .seq_length = FIRST + s,
                      .coefficient = 2,
                      .alibi_heads = alibi_heads,
                      .dropout = {.p = 0.1, .seed = 9, .layer = 1}}};
    struct mtlm_call calls[] = {
        {.kind = MTLM_OP_ATTENTION_FWD, .shape = {qkv, lengths}},
        {.kind = MTLM_OP_ATTENTION_BWD, .shape = {qkv, lengths, y, lse, y}},
        {.kind = MTLM_OP_ATTENTION_BWD_ADD,
         .shape = {qkv, lengths, y, lse, y, qkv}},
        {.kind = MTLM_OP_ATTENTION_MORE_FWD,
         .shape = {qkv, earlier, lengths, y, lse}},
        {.kind = MTLM_OP_ATTENTION_MORE_BWD,
         .shape = {qkv, earlier, lengths, y, lse, y, qkv, earlier}},
        /* Earlier queries see later keys; not causal. */
        {.kind = MTLM_OP_ATTENTION_MORE_FWD,
         .shape = {earlier, qkv, lengths, y_earlier, lse_earlier}},
        {.kind = MTLM_OP_ATTENTION_MORE_BWD,
         .shape = {earlier, qkv, lengths, y_earlier, lse_earlier, y_earlier,
                   earlier, qkv}},
    };

    for (int i = 0; i < (causal ? 5 : 7); i++) {
        calls[i].value = type;
        calls[i].attr = attr;
        if (i == 3 || i == 4)
            calls[i].attr.attention.first_key = 0;
        if (i >= 5)
            calls[i].attr.attention.first_query = 0;
        assert_int_equal(check_op(calls[i], FIRST + s), 0);
    }
}

static void test_rows_of_attention(void **state)
{
    (void) state;
    for (int t = 0; t < TYPES; t++) {
        check_attention(types[t], 130, 64, true, 0);
        check_attention(types[t], 130, 64, false, 0);
        check_attention(types[t], 130, 21, true, 2); /* no whole vectors */
        check_attention(types[t], 130, 7, false, 0);
        /* More than a block of keys. */
        check_attention(types[t], 230, 64, true, 0);
        check_attention(types[t], 230, 21, false, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_layernorm_and_dropout),
        cmocka_unit_test(test_rows_of_attention),
    };

    /* With instructions for bf16 attention widens no rows. */
    setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
