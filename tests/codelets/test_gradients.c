/* Every differentiable operation against central differences, in double
 * precision: relative error of directional derivatives at most 1e-6. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codelets/control_slots.h"
#include "tests/codelets/attention_parts.h"
#include "tests/codelets/gradcheck.h"
#include "tests/codelets/support.h"

#define BOUND 1e-6

static const struct mtlm_dropout dropout = {
    .p = 0.3, .seed = 77, .layer = 2, .site = MTLM_SITE_MLP};

static void test_embedding_whole_and_shard(void **state)
{
    struct gradcheck check = {
        .kind = MTLM_OP_EMBEDDING_FWD,
        .attr.vocabulary = {.first = 0, .size = 11},
        .shape = {MTLM_SHAPE(5, 3), MTLM_SHAPE(11, 7)},
        .tokens_below = 11,
    };

    (void) state;
    assert_true(gradcheck_worst(&check) <= BOUND);
    check.attr.vocabulary.first = 4;
    check.shape[1] = MTLM_SHAPE(4, 7);
    assert_true(gradcheck_worst(&check) <= BOUND);
}

static void test_position_dropout(void **state)
{
    struct gradcheck check = {
        .kind = MTLM_OP_POSITION_DROPOUT_FWD,
        .shape = {MTLM_SHAPE(5, 3, 7), MTLM_SHAPE(9, 7)},
    };

    (void) state;
    assert_true(gradcheck_worst(&check) <= BOUND);
    check.attr.dropout = dropout;
    assert_true(gradcheck_worst(&check) <= BOUND);
    check.attr.dropout.first_row = 3;
    assert_true(gradcheck_worst(&check) <= BOUND);
}

static void test_embedding_dropout(void **state)
{
    struct gradcheck check = {
        .kind = MTLM_OP_EMBEDDING_DROPOUT_FWD,
        .shape = {MTLM_SHAPE(5, 3, 7)},
    };

    (void) state;
    assert_true(gradcheck_worst(&check) <= BOUND);
    check.attr.dropout = dropout;
    assert_true(gradcheck_worst(&check) <= BOUND);
    check.attr.dropout.first_row = 3;
    assert_true(gradcheck_worst(&check) <= BOUND);
}

/* More rows than one block of the weights' sums. */
static void test_layernorm_and_its_adding_form(void **state)
{
    const struct gradcheck check = {
        .kind = MTLM_OP_LAYERNORM_FWD,
        .attr.layernorm.epsilon = 1e-5,
        .shape = {MTLM_SHAPE(25, 3, 19), MTLM_SHAPE(19), MTLM_SHAPE(19)},
    };

    (void) state;
    assert_int_equal(mtlm_op_layernorm_fwd.grad.call[0].kind_add,
                     MTLM_OP_LAYERNORM_BWD_ADD);
    assert_true(gradcheck_worst(&check) <= BOUND);
}

static void test_linear(void **state)
{
    const struct gradcheck check = {
        .kind = MTLM_OP_LINEAR_FWD,
        .shape = {MTLM_SHAPE(5, 3, 7), MTLM_SHAPE(10, 7)},
    };

    (void) state;
    assert_true(gradcheck_worst(&check) <= BOUND);
}

static void test_linear_with_bias(void **state)
{
    const struct gradcheck check = {
        .kind = MTLM_OP_LINEAR_BIAS_FWD,
        .shape = {MTLM_SHAPE(25, 3, 7), MTLM_SHAPE(10, 7), MTLM_SHAPE(10)},
    };

    (void) state;
    assert_true(gradcheck_worst(&check) <= BOUND);
}

static void test_bias_gelu(void **state)
{
    const struct gradcheck check = {
        .kind = MTLM_OP_BIAS_GELU_FWD,
        .shape = {MTLM_SHAPE(13, 3, 21), MTLM_SHAPE(21)},
    };

    (void) state;
    assert_true(gradcheck_worst(&check) <= BOUND);
}

static void test_bias_gelu_by_the_error_function(void **state)
{
    const struct gradcheck check = {
        .kind = MTLM_OP_BIAS_GELU_FWD,
        .attr.gelu.exact = true,
        .shape = {MTLM_SHAPE(13, 3, 21), MTLM_SHAPE(21)},
    };

    (void) state;
    assert_true(gradcheck_worst(&check) <= BOUND);
}

static void test_linear_before_gelu(void **state)
{
    struct gradcheck check = {
        .kind = MTLM_OP_LINEAR_GELU_FWD,
        .shape = {MTLM_SHAPE(25, 3, 7), MTLM_SHAPE(10, 7), MTLM_SHAPE(10)},
    };

    (void) state;
    assert_true(gradcheck_worst(&check) <= BOUND);
}

/* x = gelu(pre), by the product before it: with the unit matrix. */
static void prepare_gelu(const struct mtlm_call *call, void *const ptr[])
{
    const int64_t k = mtlm_shape_cols(&call->shape[0]);
    const int64_t n = mtlm_shape_elems(&call->shape[0]);
    const struct mtlm_call gelu = {
        .kind = MTLM_OP_LINEAR_GELU_FWD,
        .attr = call->attr,
        .shape = {call->shape[0], MTLM_SHAPE(k, k), MTLM_SHAPE(k)}};
    mtlm_real *unit = new_zeros(k * k), *bias = new_zeros(k);
    mtlm_real *pre = new_undefined(n);

    for (int64_t i = 0; i < k; i++)
        unit[i * k + i] = 1;
    run_op(gelu, (void *[]){ptr[2], unit, bias, pre, ptr[0]}, 0);
    for (int64_t i = 0; i < n; i++)
        assert_true(pre[i] == ((mtlm_real *) ptr[2])[i]);
    free(unit), free(bias), free(pre);
}

static void test_linear_behind_gelu(void **state)
{
    (void) state;
    for (int exact = 0; exact < 2; exact++) {
        const struct gradcheck check = {
            .kind = MTLM_OP_GELU_LINEAR_FWD,
            .attr.gelu.exact = exact,
            .shape = {MTLM_SHAPE(25, 3, 7), MTLM_SHAPE(10, 7),
                      MTLM_SHAPE(25, 3, 7)},
            .derived = {[0] = true},
            .prepare = prepare_gelu,
        };

        assert_true(gradcheck_worst(&check) <= BOUND);
    }
}

static void test_bias_tanh(void **state)
{
    struct gradcheck check = {
        .kind = MTLM_OP_BIAS_TANH_FWD,
        .shape = {MTLM_SHAPE(1, 5, 21), MTLM_SHAPE(21)},
    };

    (void) state;
    assert_true(gradcheck_worst(&check) <= BOUND);
    check.attr.dropout = dropout;
    assert_true(gradcheck_worst(&check) <= BOUND);
}

/* Positions from the fourth one on, some of them padding; or six choices. */
static void test_scores(void **state)
{
    static const int32_t lengths[24] = {10, 6, 11, 1, 5, [5 ... 23] = 1};
    struct gradcheck check = {
        .kind = MTLM_OP_SCORES_FWD,
        .attr.scores = {.first = 3, .column = 1, .choices = 1},
        .shape = {MTLM_SHAPE(7, 5, 2), MTLM_SHAPE(1, 5), MTLM_SHAPE(1, 5, 11)},
        .integers = lengths,
    };

    (void) state;
    assert_true(gradcheck_worst(&check) <= BOUND);
    check = (struct gradcheck){
        .kind = MTLM_OP_SCORES_FWD,
        .attr.scores = {.choices = 6},
        .shape = {MTLM_SHAPE(1, 24, 1), MTLM_SHAPE(1, 24), MTLM_SHAPE(1, 4, 6)},
        .integers = lengths,
    };
    assert_true(gradcheck_worst(&check) <= BOUND);
}

static void test_pool(void **state)
{
    const struct gradcheck check = {
        .kind = MTLM_OP_POOL_FWD,
        .shape = {MTLM_SHAPE(13, 3, 7)},
    };

    (void) state;
    assert_true(gradcheck_worst(&check) <= BOUND);
}

static void test_token_types(void **state)
{
    const struct gradcheck check = {
        .kind = MTLM_OP_TOKEN_TYPE_FWD,
        .shape = {MTLM_SHAPE(13, 3), MTLM_SHAPE(2, 7), MTLM_SHAPE(13, 3, 7)},
        .tokens_below = 2,
    };

    (void) state;
    assert_true(gradcheck_worst(&check) <= BOUND);
}

static void test_bias_dropout_add(void **state)
{
    struct gradcheck check = {
        .kind = MTLM_OP_BIAS_DROPOUT_ADD_FWD,
        .shape = {MTLM_SHAPE(13, 3, 21), MTLM_SHAPE(21), MTLM_SHAPE(13, 3, 21)},
    };

    (void) state;
    assert_true(gradcheck_worst(&check) <= BOUND);
    check.attr.dropout = dropout;
    assert_true(gradcheck_worst(&check) <= BOUND);
    check.attr.dropout.first_row = 26;
    assert_true(gradcheck_worst(&check) <= BOUND);
}

enum { HEADS = 2, WIDTH = 2 * 3 * 5 };

/* Whole attention, with the options that tests vary. */
static struct gradcheck attention(int64_t s, bool causal,
                                  const int32_t lengths[])
{
    return (struct gradcheck){
        .kind = MTLM_OP_ATTENTION_FWD,
        .attr.attention = {.heads = HEADS,
                           .first_head = 4,
                           .causal = causal,
                           .seq_length = s,
                           .coefficient = causal ? 1 : 3},
        .shape = {MTLM_SHAPE(s, 2, WIDTH), MTLM_SHAPE(1, 2)},
        .integers = lengths,
    };
}

/* One position; fewer than a block; several blocks of queries; several of
 * keys, the last ones not full.  Causal, and with padding. */
static void test_attention(void **state)
{
    static const int64_t lengths[] = {1, 7, 130, 300, 523};

    (void) state;
    for (int i = 0; i < 5; i++)
        for (int causal = 0; causal < 2; causal++) {
            const int32_t s = lengths[i], real[] = {s, s - s / 3};
            struct gradcheck check = attention(s, causal, real);

            assert_true(gradcheck_worst(&check) <= BOUND);
            check.attr.attention.dropout = dropout;
            check.attr.attention.dropout.site = MTLM_SITE_ATTENTION;
            if (s > 1) /* the only probability may be dropped */
                assert_true(gradcheck_worst(&check) <= BOUND);
        }
}

/* Of several blocks of queries and keys, by heads 4 and 5 of 6. */
static void test_attention_with_alibi(void **state)
{
    const int32_t real[] = {300, 200};
    struct gradcheck check = attention(300, true, real);

    (void) state;
    check.attr.attention.alibi_heads = 6;
    check.attr.attention.coefficient = 3;
    assert_true(gradcheck_worst(&check) <= BOUND);
    check.attr.attention.dropout = dropout;
    check.attr.attention.dropout.site = MTLM_SITE_ATTENTION;
    assert_true(gradcheck_worst(&check) <= BOUND);
}

/* Rows in parts: a call's gradient is that of all of them together, and must
 * be what the whole has. */
static void check_parts(int64_t s, bool causal)
{
    const int32_t lengths[] = {s, s - s / 3};
    const int64_t cut[] = {0, s / 4, s / 2, s - s / 5, s}, all[] = {0, s};
    const struct gradcheck check = attention(s, causal, lengths);
    struct mtlm_call call = {.kind = check.kind, .attr = check.attr};
    const int64_t n = s * 2 * WIDTH;
    mtlm_real *qkv = new_normal(n, 1), *dy = new_normal(n / 3, 2);
    mtlm_real *y = new_undefined(n / 3), *dqkv = new_undefined(n);
    mtlm_real *want_y = new_undefined(n / 3), *want = new_undefined(n);

    call.shape[0] = check.shape[0];
    call.attr.attention.dropout = dropout;
    run_attention_parts(&call, all, 1, qkv, lengths, dy, want_y, want, 3);
    run_attention_parts(&call, cut, 4, qkv, lengths, dy, y, dqkv, 3);
    assert_true(worst_error(y, want_y, n / 3) < 1e-13);
    assert_true(worst_error(dqkv, want, n) < 1e-13);
    free(qkv), free(dy), free(y), free(dqkv), free(want_y), free(want);
}

static void test_attention_in_parts(void **state)
{
    (void) state;
    check_parts(70, false);
    check_parts(70, true);
    check_parts(523, false);
    check_parts(523, true);
    gradcheck_otherwise(MTLM_OP_ATTENTION_MORE_FWD);
}

/* Maximum and sums follow from the logits; the loss is not scaled. */
static void prepare_sums(const struct mtlm_call *call, void *const ptr[])
{
    const struct mtlm_call stats = {.kind = MTLM_OP_XENT_STATS,
                                    .attr = call->attr,
                                    .shape = {call->shape[0], call->shape[1]}};
    mtlm_real *local = new_undefined(mtlm_shape_elems(&call->shape[2]));

    run_op(stats, (void *[]){ptr[0], ptr[1], local, ptr[2], ptr[3]}, 0);
    ((double *) ptr[5])[MTLM_CONTROL_LOSS_SCALE] = 1;
    free(local);
}

static void test_cross_entropy_with_padding(void **state)
{
    const struct gradcheck check = {
        .kind = MTLM_OP_XENT_LOSS,
        .attr.vocabulary = {.first = 0, .size = 17},
        .shape = {MTLM_SHAPE(5, 3, 24), MTLM_SHAPE(5, 3), MTLM_SHAPE(5, 3),
                  MTLM_SHAPE(2, 5, 3), MTLM_SHAPE(5, 3),
                  MTLM_SHAPE(MTLM_CONTROL_COUNT), MTLM_SHAPE(MTLM_LOSS_COUNT)},
        .tokens_below = 17,
        .derived = {[2] = true, [3] = true, [4] = true},
        .prepare = prepare_sums,
    };

    (void) state;
    assert_true(gradcheck_worst(&check) <= BOUND);
}

/* Runs last. */
static void test_no_operation_with_a_gradient_is_left_out(void **state)
{
    (void) state;
    for (int kind = 0; kind < MTLM_OP_COUNT; kind++)
        /* Collectives need other ranks: tests/graph/test_gradients.c. */
        if (mtlm_ops[kind]->grad.call[0].used
            && mtlm_ops[kind]->op_class != MTLM_CLASS_COLLECTIVE
            && !gradcheck_done(kind))
            fail_msg("%s is not checked", mtlm_ops[kind]->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embedding_whole_and_shard),
        cmocka_unit_test(test_position_dropout),
        cmocka_unit_test(test_embedding_dropout),
        cmocka_unit_test(test_layernorm_and_its_adding_form),
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_linear_with_bias),
        cmocka_unit_test(test_linear_before_gelu),
        cmocka_unit_test(test_linear_behind_gelu),
        cmocka_unit_test(test_bias_gelu),
        cmocka_unit_test(test_bias_gelu_by_the_error_function),
        cmocka_unit_test(test_bias_tanh),
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_token_types),
        cmocka_unit_test(test_bias_dropout_add),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_attention_with_alibi),
        cmocka_unit_test(test_attention_in_parts),
        cmocka_unit_test(test_cross_entropy_with_padding),
        cmocka_unit_test(test_no_operation_with_a_gradient_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
