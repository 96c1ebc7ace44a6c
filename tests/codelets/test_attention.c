/* Attention in single precision against the formula in double, over lengths
 * that no block divides; shards of heads; dropout; padding; rows in parts. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/attention/alibi.h"
#include "codelets/attention/attention.h"
#include "tests/codelets/attention_parts.h"
#include "tests/codelets/attention_reference.h"
#include "tests/codelets/support.h"

#define BOUND 1e-5
static void run_both(const struct attention_problem *of, const mtlm_real *qkv,
                     mtlm_real *y, mtlm_real *lse, const mtlm_real *dy,
                     mtlm_real *dqkv)
{
    struct mtlm_call call = attention_call(of);
    int32_t *lengths = attention_lengths(of);

    call = run_op(call, (void *[]){(void *) qkv, lengths, y, lse},
                  ATTENTION_SAMPLE);
    call.kind = MTLM_OP_ATTENTION_BWD;
    call.shape[4] = call.shape[2];
    run_op(call, (void *[]){(void *) qkv, lengths, y, lse, (void *) dy, dqkv},
           ATTENTION_SAMPLE);
    free(lengths);
}

/* As run_both() in n parts. */
static void run_parts(const struct attention_problem *of, const int64_t *cut,
                      int n, const mtlm_real *qkv, mtlm_real *y,
                      const mtlm_real *dy, mtlm_real *dqkv)
{
    const struct mtlm_call call = attention_call(of);
    int32_t *lengths = attention_lengths(of);

    run_attention_parts(&call, cut, n, qkv, lengths, dy, y, dqkv,
                        ATTENTION_SAMPLE);
    free(lengths);
}

/* A padded query has a value of its own; any other number is compared. */
static void check_lse(const struct attention_problem *of, const mtlm_real *lse,
                      double *want)
{
    const int64_t rows = of->b * of->heads * of->s;

    for (int64_t i = 0; i < rows; i++)
        if (want[i] == MTLM_ATTENTION_NO_LSE) {
            assert_true(lse[i] == MTLM_ATTENTION_NO_LSE);
            want[i] = INFINITY;
        }
    for (int64_t i = 0; i < rows; i++)
        assert_true(want[i] == INFINITY
                    || fabs(lse[i] - want[i]) < BOUND * (1 + fabs(want[i])));
}

/* Whole, and in two and three parts of unequal size. */
static void check(struct attention_problem of)
{
    const int64_t n = attention_elems(&of), rows = of.b * of.heads * of.s;
    const int64_t two[] = {0, of.s / 3, of.s};
    const int64_t three[] = {0, of.s / 2, of.s - of.s / 6, of.s};
    mtlm_real *qkv = new_normal(3 * n, of.s), *y = new_undefined(n);
    mtlm_real *lse = new_undefined(rows), *dy = new_normal(n, of.s + 1);
    mtlm_real *dqkv = new_undefined(3 * n);
    double *want = mtlm_calloc(n, sizeof(*want));
    double *want_lse = mtlm_calloc(rows, sizeof(*want_lse));
    double *want_dqkv = mtlm_calloc(3 * n, sizeof(*want_dqkv));

    attention_reference(&of, qkv, want, want_lse);
    attention_reference_backward(&of, qkv, dy, want_dqkv);
    for (int parts = 1; parts <= (of.s < 6 ? 1 : 3); parts++) {
        if (parts == 1)
            run_both(&of, qkv, y, lse, dy, dqkv);
        else
            run_parts(&of, parts == 2 ? two : three, parts, qkv, y, dy, dqkv);
        assert_true(worst_error(y, want, n) < BOUND);
        assert_true(worst_error(dqkv, want_dqkv, 3 * n) < BOUND);
    }
    check_lse(&of, lse, want_lse);
    free(qkv), free(y), free(lse), free(dy), free(dqkv);
    free(want), free(want_lse), free(want_dqkv);
}

static void test_one_position(void **state)
{
    (void) state;
    check((struct attention_problem){.s = 1, .b = 2, .heads = 3, .d = 8});
}

static void test_less_than_a_block(void **state)
{
    (void) state;
    check((struct attention_problem){.s = 33, .b = 3, .heads = 2, .d = 7});
}

static void test_whole_blocks(void **state)
{
    (void) state;
    check((struct attention_problem){.s = 128, .b = 1, .heads = 1, .d = 16});
}

static void test_several_blocks_of_queries_and_keys(void **state)
{
    (void) state;
    check((struct attention_problem){.s = 293, .b = 2, .heads = 2, .d = 9});
    check((struct attention_problem){.s = 601, .b = 1, .heads = 1, .d = 12});
}

static void test_dropout_follows_the_head_s_number(void **state)
{
    (void) state;
    check((struct attention_problem){
        .s = 301, .b = 2, .heads = 2, .d = 5, .first_head = 6, .p = 0.2});
}

static void test_without_a_mask_all_keys_are_seen(void **state)
{
    (void) state;
    check((struct attention_problem){
        .s = 1, .b = 2, .heads = 3, .d = 8, .full = true});
    check((struct attention_problem){
        .s = 293, .b = 2, .heads = 2, .d = 9, .full = true});
    check((struct attention_problem){
        .s = 301, .b = 2, .heads = 1, .d = 5, .full = true, .p = 0.2});
}

/* Padding that ends within a block and within a part; no padding; nothing but
 * padding. */
static void test_padding_is_left_out(void **state)
{
    for (int full = 0; full < 2; full++) {
        check((struct attention_problem){.s = 40,
                                         .b = 3,
                                         .heads = 2,
                                         .d = 8,
                                         .full = full,
                                         .padding = {0, 13, 40}});
        check((struct attention_problem){.s = 400,
                                         .b = 3,
                                         .heads = 1,
                                         .d = 8,
                                         .full = full,
                                         .p = 0.1,
                                         .padding = {1, 130, 399}});
    }
    (void) state;
}

/* Not even what is no number. */
static void test_what_the_padding_holds_does_not_matter(void **state)
{
    const struct attention_problem of = {
        .s = 90, .b = 2, .heads = 2, .d = 8, .full = true, .padding = {30, 7}};
    const int64_t n = attention_elems(&of), width = of.heads * of.d;
    mtlm_real *qkv = new_normal(3 * n, 1), *dy = new_normal(n, 2);
    mtlm_real *y[2], *dqkv[2], *lse[2];

    (void) state;
    for (int i = 0; i < 2; i++) {
        y[i] = new_undefined(n), dqkv[i] = new_undefined(3 * n);
        lse[i] = new_undefined(of.s * of.b * of.heads);
        run_both(&of, qkv, y[i], lse[i], dy, dqkv[i]);
        for (int64_t r = 0; r < of.s * of.b; r++)
            for (int64_t c = 0; c < 4 * width; c++)
                if (r / of.b >= of.s - of.padding[r % of.b])
                    *(c < width ? &dy[r * width + c]
                                : &qkv[r * 3 * width + c - width]) = NAN;
    }
    assert_memory_equal(y[0], y[1], n * sizeof(**y));
    assert_memory_equal(lse[0], lse[1], of.s * of.b * of.heads * sizeof(**lse));
    assert_memory_equal(dqkv[0], dqkv[1], 3 * n * sizeof(**dqkv));
    for (int64_t i = 0; i < n; i++)
        if (i / width / of.b >= of.s - of.padding[i / width % of.b])
            assert_true(y[0][i] == 0 && dqkv[0][3 * i] == 0
                        && dqkv[0][3 * i + 1] == 0 && dqkv[0][3 * i + 2] == 0);
    for (int i = 0; i < 2; i++)
        free(y[i]), free(dqkv[i]), free(lse[i]);
    free(qkv), free(dy);
}

/* Scores are divided by it and multiplied again. */
static void test_the_coefficient_changes_nothing_but_the_rounding(void **state)
{
    (void) state;
    check((struct attention_problem){
        .s = 293, .b = 2, .heads = 2, .d = 9, .coefficient = 24});
    check((struct attention_problem){.s = 70,
                                     .b = 2,
                                     .heads = 2,
                                     .d = 9,
                                     .full = true,
                                     .padding = {0, 9},
                                     .coefficient = 3});
}

static void test_slopes_of_alibi_are_those_of_transformers(void **state)
{
    static const int heads[] = {1, 2, 3, 6, 8, 12, 16, 25, 32, 71, 112};

    (void) state;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        for (int n = 0; n < heads[i]; n++)
            assert_true(fabs(mtlm_alibi_slope(n, heads[i])
                                 / attention_slope(n, heads[i])
                             - 1)
                        < 1e-13);
    assert_true(mtlm_alibi_slope(3, 0) == 0);
    /* Of 8 heads: 1/2, 1/4, ... 1/256, the paper's example. */
    assert_true(mtlm_alibi_slope(0, 8) == 0.5);
    assert_true(mtlm_alibi_slope(7, 8) == 1 / 256.0);
}

/* With padding, dropout, scaling, several blocks, and heads of a shard. */
static void test_alibi(void **state)
{
    (void) state;
    check((struct attention_problem){
        .s = 293, .b = 2, .heads = 3, .d = 9, .alibi_heads = 3});
    check((struct attention_problem){.s = 131,
                                     .b = 2,
                                     .heads = 2,
                                     .d = 16,
                                     .first_head = 4,
                                     .p = 0.2,
                                     .padding = {0, 31},
                                     .coefficient = 5,
                                     .alibi_heads = 6});
}

/* Of 128 positions, parts of 32: what dropout keeps must be the same set. */
static void test_dropout_does_not_depend_on_the_parts(void **state)
{
    const int64_t cut[] = {0, 32, 64, 96, 128};
    const struct attention_problem of = {
        .s = 128, .b = 1, .heads = 1, .d = 128, .full = true, .p = 0.5};
    const int64_t n = attention_elems(&of);
    mtlm_real *qkv = new_zeros(3 * n), *whole = new_undefined(n);
    mtlm_real *parts = new_undefined(n), *lse = new_undefined(of.s);
    mtlm_real *dqkv = new_undefined(3 * n);
    int dropped = 0;

    (void) state;
    /* With equal scores and values that are unit vectors, y is the mask. */
    for (int64_t i = 0; i < of.s; i++)
        qkv[i * 3 * of.d + 2 * of.d + i] = 1;
    run_both(&of, qkv, whole, lse, whole, dqkv);
    run_parts(&of, cut, 4, qkv, parts, whole, dqkv);
    for (int64_t i = 0; i < n; i++) {
        assert_true((whole[i] == 0) == (parts[i] == 0));
        dropped += whole[i] == 0;
    }
    assert_true(abs(dropped - (int) n / 2) < n / 20);
    free(qkv), free(whole), free(parts), free(lse), free(dqkv);
}

/* Scores up to 1e4: what is carried from block to block must be the maximum,
 * not the sum alone. */
static void test_great_scores_stay_finite(void **state)
{
    const struct attention_problem of = {.s = 300, .b = 1, .heads = 1, .d = 4};
    const int64_t n = attention_elems(&of);
    mtlm_real *qkv = new_normal(3 * n, 9), *y = new_undefined(n);
    mtlm_real *lse = new_undefined(of.s);
    double *want = mtlm_calloc(n, sizeof(*want));
    double *want_lse = mtlm_calloc(of.s, sizeof(*want_lse));
    int32_t lengths[] = {300};

    (void) state;
    for (int64_t i = 0; i < 3 * n; i++)
        if (i % 12 < 8)
            qkv[i] *= 60;
    run_op(attention_call(&of), (void *[]){qkv, lengths, y, lse},
           ATTENTION_SAMPLE);
    attention_reference(&of, qkv, want, want_lse);
    assert_true(worst_error(lse, want_lse, of.s) < BOUND);
    /* Scores of 1e4 are known to 1e-3 only, and so are probabilities. */
    assert_true(worst_error(y, want, n) < 1e-2);
    free(qkv), free(y), free(lse), free(want), free(want_lse);
}

static void test_shards_of_heads_are_parts_of_the_whole(void **state)
{
    const struct attention_problem whole = {
        .s = 70, .b = 2, .heads = 4, .d = 6, .p = 0.3, .alibi_heads = 4};
    struct attention_problem part = whole;
    const int64_t n = attention_elems(&whole);
    const int width = 4 * 6;
    mtlm_real *qkv = new_normal(3 * n, 1), *y = new_undefined(n);
    mtlm_real *lse = new_undefined(2 * 4 * 70), *dy = new_normal(n, 2);
    mtlm_real *dqkv = new_undefined(3 * n);

    (void) state;
    run_both(&whole, qkv, y, lse, dy, dqkv);
    part.heads = 2;
    for (part.first_head = 0; part.first_head < 4; part.first_head += 2) {
        const int at_y = part.first_head * 6, half = width / 2;
        mtlm_real *part_qkv = new_undefined(3 * n / 2);
        mtlm_real *part_dy = new_undefined(n / 2), *part_y = new_undefined(n);
        mtlm_real *part_dqkv = new_undefined(3 * n / 2);

        for (int r = 0; r < 70 * 2; r++) {
            memcpy(part_qkv + r * 3 * half, qkv + r * 3 * width + 3 * at_y,
                   3 * half * sizeof(*qkv));
            memcpy(part_dy + r * half, dy + r * width + at_y,
                   half * sizeof(*dy));
        }
        run_both(&part, part_qkv, part_y, lse, part_dy, part_dqkv);
        for (int r = 0; r < 70 * 2; r++) {
            assert_memory_equal(part_y + r * half, y + r * width + at_y,
                                half * sizeof(*y));
            assert_memory_equal(part_dqkv + r * 3 * half,
                                dqkv + r * 3 * width + 3 * at_y,
                                3 * half * sizeof(*y));
        }
        free(part_qkv), free(part_dy), free(part_y), free(part_dqkv);
    }
    free(qkv), free(y), free(lse), free(dy), free(dqkv);
}

/* The first positions cannot know what follows. */
static void test_later_positions_change_nothing(void **state)
{
    const struct attention_problem of = {.s = 90, .b = 1, .heads = 1, .d = 8};
    const int64_t n = attention_elems(&of);
    mtlm_real *qkv = new_normal(3 * n, 1), *other = new_normal(3 * n, 2);
    mtlm_real *y = new_undefined(n), *y2 = new_undefined(n);
    mtlm_real *lse = new_undefined(of.s);
    int32_t lengths[] = {90};

    (void) state;
    memcpy(other, qkv, 65 * 24 * sizeof(*qkv));
    run_op(attention_call(&of), (void *[]){qkv, lengths, y, lse},
           ATTENTION_SAMPLE);
    run_op(attention_call(&of), (void *[]){other, lengths, y2, lse},
           ATTENTION_SAMPLE);
    assert_memory_equal(y, y2, 65 * 8 * sizeof(*y));
    assert_memory_not_equal(y, y2, n * sizeof(*y));
    free(qkv), free(other), free(y), free(y2), free(lse);
}

static void test_two_runs_give_the_same_bits(void **state)
{
    const struct attention_problem of = {
        .s = 100, .b = 2, .heads = 2, .d = 8, .p = 0.1};
    const int64_t n = attention_elems(&of);
    mtlm_real *qkv = new_normal(3 * n, 1), *dy = new_normal(n, 2);
    mtlm_real *y[2], *lse = new_undefined(400), *dqkv[2];

    (void) state;
    for (int i = 0; i < 2; i++) {
        y[i] = new_undefined(n);
        dqkv[i] = new_undefined(3 * n);
        run_both(&of, qkv, y[i], lse, dy, dqkv[i]);
    }
    assert_memory_equal(y[0], y[1], n * sizeof(**y));
    assert_memory_equal(dqkv[0], dqkv[1], 3 * n * sizeof(**y));
    for (int i = 0; i < 2; i++)
        free(y[i]), free(dqkv[i]);
    free(qkv), free(dy), free(lse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_position),
        cmocka_unit_test(test_less_than_a_block),
        cmocka_unit_test(test_whole_blocks),
        cmocka_unit_test(test_several_blocks_of_queries_and_keys),
        cmocka_unit_test(test_dropout_follows_the_head_s_number),
        cmocka_unit_test(test_without_a_mask_all_keys_are_seen),
        cmocka_unit_test(test_padding_is_left_out),
        cmocka_unit_test(test_what_the_padding_holds_does_not_matter),
        cmocka_unit_test(test_the_coefficient_changes_nothing_but_the_rounding),
        cmocka_unit_test(test_slopes_of_alibi_are_those_of_transformers),
        cmocka_unit_test(test_alibi),
        cmocka_unit_test(test_dropout_does_not_depend_on_the_parts),
        cmocka_unit_test(test_great_scores_stay_finite),
        cmocka_unit_test(test_shards_of_heads_are_parts_of_the_whole),
        cmocka_unit_test(test_later_positions_change_nothing),
        cmocka_unit_test(test_two_runs_give_the_same_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
