/* Layers and attention on shapes that do not fit: the sentence that refuses
 * them names both. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/codelets/support.h"

static void test_shapes_that_do_not_fit_are_refused_with_both(void **state)
{
    (void) state;
    assert_refused((struct mtlm_call){.kind = MTLM_OP_LAYERNORM_FWD,
                                      .shape = {MTLM_SHAPE(2, 3, 8),
                                                MTLM_SHAPE(7), MTLM_SHAPE(8)}},
                   "layernorm_fwd: gamma is [7], needs [8]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_LINEAR_FWD,
                           .shape = {MTLM_SHAPE(2, 3, 8), MTLM_SHAPE(5, 7)}},
        "linear_fwd: weight is [5, 7], needs [5, 8]");
    assert_refused(
        (struct mtlm_call){
            .kind = MTLM_OP_LINEAR_BIAS_FWD,
            .shape = {MTLM_SHAPE(2, 3, 8), MTLM_SHAPE(5, 8), MTLM_SHAPE(8)}},
        "linear_bias_fwd: bias is [8], needs [5]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_LINEAR_DGRAD,
                           .shape = {MTLM_SHAPE(2, 3, 8), MTLM_SHAPE(5, 8)}},
        "linear_dgrad: weight is [5, 8], needs [8, 8]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_LINEAR_DGRAD_ADD,
                           .shape = {MTLM_SHAPE(2, 3, 5), MTLM_SHAPE(5, 8),
                                     MTLM_SHAPE(2, 3, 7)}},
        "linear_dgrad_add: dx is [2, 3, 7], needs [2, 3, 8]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_LINEAR_WGRAD,
                           .shape = {MTLM_SHAPE(2, 3, 8), MTLM_SHAPE(2, 4, 5),
                                     MTLM_SHAPE(5, 8)}},
        "linear_wgrad: dy is [2, 4, 5], needs [2, 3, 5]");
    assert_refused(
        (struct mtlm_call){
            .kind = MTLM_OP_LINEAR_GELU_FWD,
            .shape = {MTLM_SHAPE(2, 3, 8), MTLM_SHAPE(5, 8), MTLM_SHAPE(8)}},
        "linear_gelu_fwd: bias is [8], needs [5]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_GELU_LINEAR_FWD,
                           .shape = {MTLM_SHAPE(2, 3, 8), MTLM_SHAPE(5, 8),
                                     MTLM_SHAPE(2, 3, 5)}},
        "gelu_linear_fwd: pre is [2, 3, 5], needs [2, 3, 8]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_GELU_LINEAR_DGRAD,
                           .shape = {MTLM_SHAPE(2, 3, 5), MTLM_SHAPE(5, 8),
                                     MTLM_SHAPE(2, 4, 8)}},
        "gelu_linear_dgrad: pre is [2, 4, 8], needs [2, 3, 8]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_BIAS_GELU_FWD,
                           .shape = {MTLM_SHAPE(2, 3, 8), MTLM_SHAPE(2, 4)}},
        "bias_gelu_fwd: bias is [2, 4], needs [8]");
    assert_refused((struct mtlm_call){.kind = MTLM_OP_BIAS_DROPOUT_ADD_FWD,
                                      .shape = {MTLM_SHAPE(6, 8), MTLM_SHAPE(8),
                                                MTLM_SHAPE(6, 8)}},
                   "bias_dropout_add_fwd: x is [6, 8], needs 3 dimensions");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_BIAS_TANH_FWD,
                           .shape = {MTLM_SHAPE(1, 3, 8), MTLM_SHAPE(7)}},
        "bias_tanh_fwd: bias is [7], needs [8]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_BIAS_TANH_BWD,
                           .shape = {MTLM_SHAPE(1, 3, 8), MTLM_SHAPE(1, 2, 8)}},
        "bias_tanh_bwd: dy is [1, 2, 8], needs [1, 3, 8]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_SCORES_FWD,
                           .attr.scores = {.choices = 4},
                           .shape = {MTLM_SHAPE(1, 6, 1), MTLM_SHAPE(1, 6),
                                     MTLM_SHAPE(1, 1, 4)}},
        "scores_fwd: x is [1, 6, 1], needs column 0 and a multiple of 4 "
        "samples");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_SCORES_FWD,
                           .attr.scores = {.first = 3, .choices = 1},
                           .shape = {MTLM_SHAPE(6, 2, 1), MTLM_SHAPE(1, 2),
                                     MTLM_SHAPE(1, 2, 8)}},
        "scores_fwd: y is [1, 2, 8], needs [1, 2, 9]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_SCORES_BWD,
                           .attr.scores = {.column = 2, .choices = 1},
                           .shape = {MTLM_SHAPE(1, 2), MTLM_SHAPE(1, 2, 6),
                                     MTLM_SHAPE(6, 2, 2)}},
        "scores_bwd: x is [6, 2, 2], needs column 2 and a multiple of 1 "
        "samples");
    assert_refused(
        (struct mtlm_call){
            .kind = MTLM_OP_SCORES_FWD,
            .attr.scores = {.choices = 1},
            .shape = {MTLM_SHAPE(6, 2, 1), MTLM_SHAPE(2), MTLM_SHAPE(1, 2, 8)}},
        "scores_fwd: lengths is [2], needs [1, 2]");
    assert_refused((struct mtlm_call){.kind = MTLM_OP_POOL_FWD,
                                      .shape = {MTLM_SHAPE(6, 8)}},
                   "pool_fwd: x is [6, 8], needs 3 dimensions");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_POOL_BWD,
                           .shape = {MTLM_SHAPE(2, 3, 8), MTLM_SHAPE(2, 3, 8)}},
        "pool_bwd: dy is [2, 3, 8], needs [1, 3, 8]");
    assert_refused(
        (struct mtlm_call){
            .kind = MTLM_OP_TOKEN_TYPE_FWD,
            .shape = {MTLM_SHAPE(2, 3), MTLM_SHAPE(2, 8), MTLM_SHAPE(2, 3, 7)}},
        "token_type_fwd: x is [2, 3, 7], needs [2, 3, 8]");
}

static void test_widths_that_heads_do_not_divide_are_refused(void **state)
{
    struct mtlm_call call = {.kind = MTLM_OP_ATTENTION_FWD,
                             .attr.attention.heads = 4,
                             .shape = {MTLM_SHAPE(8, 2, 30), MTLM_SHAPE(1, 2)}};

    (void) state;
    assert_refused(
        call, "attention_fwd: qkv is [8, 2, 30], needs a multiple of 3 x 4");
    call.attr.attention.heads = 0;
    assert_refused(
        call, "attention_fwd: qkv is [8, 2, 30], needs a multiple of 3 x 0");
}

static void test_shapes_that_do_not_fit_are_refused(void **state)
{
    const struct mtlm_shape qkv = MTLM_SHAPE(8, 2, 12),
                            other = MTLM_SHAPE(6, 2, 12);
    const struct mtlm_shape y = MTLM_SHAPE(8, 2, 4), lse = MTLM_SHAPE(2, 2, 8);
    const struct mtlm_shape lengths = MTLM_SHAPE(1, 2);
    struct mtlm_call call = {.kind = MTLM_OP_ATTENTION_FWD,
                             .attr.attention.heads = 2,
                             .shape = {qkv, MTLM_SHAPE(2)}};

    (void) state;
    assert_refused(call, "attention_fwd: lengths is [2], needs [1, 2]");
    call = (struct mtlm_call){
        .kind = MTLM_OP_ATTENTION_MORE_FWD,
        .attr.attention.heads = 2,
        .shape = {qkv, MTLM_SHAPE(6, 3, 12), lengths, y, lse}};
    assert_refused(call,
                   "attention_more_fwd: qkv_k is [6, 3, 12], needs [6, 2, 12]");
    call.shape[1] = other;
    call.shape[3] = MTLM_SHAPE(6, 2, 4);
    assert_refused(call, "attention_more_fwd: y is [6, 2, 4], needs [8, 2, 4]");
    call =
        (struct mtlm_call){.kind = MTLM_OP_ATTENTION_BWD,
                           .attr.attention.heads = 2,
                           .shape = {qkv, lengths, y, MTLM_SHAPE(2, 2, 6), y}};
    assert_refused(call, "attention_bwd: lse is [2, 2, 6], needs [2, 2, 8]");
    call =
        (struct mtlm_call){.kind = MTLM_OP_ATTENTION_MORE_BWD,
                           .attr.attention.heads = 2,
                           .shape = {qkv, other, lengths, y, lse, y, qkv, qkv}};
    assert_refused(
        call, "attention_more_bwd: dqkv_k is [8, 2, 12], needs [6, 2, 12]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_that_do_not_fit_are_refused_with_both),
        cmocka_unit_test(test_widths_that_heads_do_not_divide_are_refused),
        cmocka_unit_test(test_shapes_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
