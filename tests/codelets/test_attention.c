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

#include "codelets/dropout.h"
#include "codelets/vector_math.h"
#include "codelets/attention.h"
#include "tests/codelets/attention_parts.h"
#include "tests/codelets/support.h"

#define BOUND 1e-5
enum { SAMPLE = 4 };

enum { BATCH_AT_MOST = 3 };

/* One call and its reference. */
struct problem {
    int s, b, heads, d;
    int first_head;
    double p;
    bool full;                  /* not causal */
    int padding[BATCH_AT_MOST]; /* of each sample */
    double coefficient;         /* 0: 1 */
};

static struct mtlm_call forward_call(const struct problem *of)
{
    return (struct mtlm_call){
        .kind = MTLM_OP_ATTENTION_FWD,
        .attr.attention = {.heads = of->heads,
                           .first_head = of->first_head,
                           .causal = !of->full,
                           .seq_length = of->s,
                           .coefficient = of->coefficient ? of->coefficient : 1,
                           .dropout = {.p = of->p,
                                       .seed = 21,
                                       .layer = 1,
                                       .site = MTLM_SITE_ATTENTION}},
        .shape = {MTLM_SHAPE(of->s, of->b, 3 * of->heads * of->d),
                  MTLM_SHAPE(1, of->b)}};
}

static int32_t *lengths_of(const struct problem *of)
{
    int32_t *lengths = mtlm_calloc(of->b, sizeof(*lengths));

    for (int j = 0; j < of->b; j++)
        lengths[j] = of->s - of->padding[j];
    return lengths;
}

/* Keys that a query sees. */
static int seen_by(const struct problem *of, int j, int query)
{
    const int length = of->s - of->padding[j];

    return query >= length ? 0 : of->full ? length : query + 1;
}

static int64_t elems_of_y(const struct problem *of)
{
    return (int64_t) of->s * of->b * of->heads * of->d;
}

/* Element c of q (0), k (1) or v (2) at a position. */
static double at(const struct problem *of, const mtlm_real *qkv, int s, int j,
                 int n, int which, int c)
{
    return qkv[(((int64_t) s * of->b + j) * of->heads + n) * 3 * of->d
               + which * of->d + c];
}

/* prob [s]: the probabilities of one query of the keys that it sees; returns
 * their logarithm's normaliser. */
static double probabilities(const struct problem *of, const mtlm_real *qkv,
                            int j, int n, int query, double *prob)
{
    const int seen = seen_by(of, j, query);
    double max = -INFINITY, sum = 0;

    for (int k = 0; k < seen; k++) {
        prob[k] = 0;
        for (int c = 0; c < of->d; c++)
            prob[k] +=
                at(of, qkv, query, j, n, 0, c) * at(of, qkv, k, j, n, 1, c);
        prob[k] /= sqrt(of->d);
        max = fmax(max, prob[k]);
    }
    for (int k = 0; k < seen; k++)
        sum += exp(prob[k] - max);
    for (int k = 0; k < seen; k++)
        prob[k] = exp(prob[k] - max) / sum;
    return seen > 0 ? max + log(sum) : MTLM_ATTENTION_NO_LSE;
}

/* factor [s]: what dropout does to them. */
static void factors(const struct problem *of, int j, int n, int query,
                    mtlm_real *factor)
{
    const struct mtlm_call call = forward_call(of);

    mtlm_dropout_factors(&call.attr.attention.dropout, SAMPLE + j,
                         ((int64_t) (of->first_head + n) * of->s + query)
                             * of->s,
                         of->s, factor);
}

static void reference(const struct problem *of, const mtlm_real *qkv, double *y,
                      double *lse)
{
    double *prob = mtlm_calloc(of->s, sizeof(*prob));
    mtlm_real *factor = mtlm_calloc(of->s, sizeof(*factor));

    for (int j = 0; j < of->b; j++)
        for (int n = 0; n < of->heads; n++)
            for (int q = 0; q < of->s; q++) {
                double *row =
                    y + (((int64_t) q * of->b + j) * of->heads + n) * of->d;

                lse[(j * of->heads + n) * of->s + q] =
                    probabilities(of, qkv, j, n, q, prob);
                factors(of, j, n, q, factor);
                for (int c = 0; c < of->d; c++) {
                    row[c] = 0;
                    for (int k = 0; k < seen_by(of, j, q); k++)
                        row[c] +=
                            prob[k] * factor[k] * at(of, qkv, k, j, n, 2, c);
                }
            }
    free(prob), free(factor);
}

/* With dv = prob^T dy, dscore = prob (dprob - sum prob dprob). */
static void reference_backward(const struct problem *of, const mtlm_real *qkv,
                               const mtlm_real *dy, double *dqkv)
{
    double *prob = mtlm_calloc(of->s, sizeof(*prob));
    double *dprob = mtlm_calloc(of->s, sizeof(*dprob));
    mtlm_real *factor = mtlm_calloc(of->s, sizeof(*factor));
    const int width = of->b * of->heads * 3 * of->d;

    for (int j = 0; j < of->b; j++)
        for (int n = 0; n < of->heads; n++)
            for (int q = 0; q < of->s; q++) {
                double *dhead = dqkv + (j * of->heads + n) * 3 * of->d;
                const mtlm_real *row =
                    dy + (((int64_t) q * of->b + j) * of->heads + n) * of->d;
                double dot = 0;

                probabilities(of, qkv, j, n, q, prob);
                factors(of, j, n, q, factor);
                for (int k = 0; k < seen_by(of, j, q); k++) {
                    dprob[k] = 0;
                    for (int c = 0; c < of->d; c++)
                        dprob[k] +=
                            factor[k] * row[c] * at(of, qkv, k, j, n, 2, c);
                    dot += prob[k] * dprob[k];
                }
                for (int k = 0; k < seen_by(of, j, q); k++)
                    for (int c = 0; c < of->d; c++) {
                        const double ds =
                            prob[k] * (dprob[k] - dot) / sqrt(of->d);

                        dhead[q * width + c] += ds * at(of, qkv, k, j, n, 1, c);
                        dhead[k * width + of->d + c] +=
                            ds * at(of, qkv, q, j, n, 0, c);
                        dhead[k * width + 2 * of->d + c] +=
                            prob[k] * factor[k] * row[c];
                    }
            }
    free(prob), free(dprob), free(factor);
}

static void run_both(const struct problem *of, const mtlm_real *qkv,
                     mtlm_real *y, mtlm_real *lse, const mtlm_real *dy,
                     mtlm_real *dqkv)
{
    struct mtlm_call call = forward_call(of);
    int32_t *lengths = lengths_of(of);

    call = run_op(call, (void *[]){(void *) qkv, lengths, y, lse}, SAMPLE);
    call.kind = MTLM_OP_ATTENTION_BWD;
    call.shape[4] = call.shape[2];
    run_op(call, (void *[]){(void *) qkv, lengths, y, lse, (void *) dy, dqkv},
           SAMPLE);
    free(lengths);
}

/* As run_both() in n parts. */
static void run_parts(const struct problem *of, const int64_t *cut, int n,
                      const mtlm_real *qkv, mtlm_real *y, const mtlm_real *dy,
                      mtlm_real *dqkv)
{
    const struct mtlm_call call = forward_call(of);
    int32_t *lengths = lengths_of(of);

    run_attention_parts(&call, cut, n, qkv, lengths, dy, y, dqkv, SAMPLE);
    free(lengths);
}

/* A padded query has a value of its own; any other number is compared. */
static void check_lse(const struct problem *of, const mtlm_real *lse,
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
static void check(struct problem of)
{
    const int64_t n = elems_of_y(&of), rows = of.b * of.heads * of.s;
    const int64_t two[] = {0, of.s / 3, of.s};
    const int64_t three[] = {0, of.s / 2, of.s - of.s / 6, of.s};
    mtlm_real *qkv = new_normal(3 * n, of.s), *y = new_undefined(n);
    mtlm_real *lse = new_undefined(rows), *dy = new_normal(n, of.s + 1);
    mtlm_real *dqkv = new_undefined(3 * n);
    double *want = mtlm_calloc(n, sizeof(*want));
    double *want_lse = mtlm_calloc(rows, sizeof(*want_lse));
    double *want_dqkv = mtlm_calloc(3 * n, sizeof(*want_dqkv));

    reference(&of, qkv, want, want_lse);
    reference_backward(&of, qkv, dy, want_dqkv);
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
    check((struct problem){.s = 1, .b = 2, .heads = 3, .d = 8});
}

static void test_less_than_a_block(void **state)
{
    (void) state;
    check((struct problem){.s = 33, .b = 3, .heads = 2, .d = 7});
}

static void test_whole_blocks(void **state)
{
    (void) state;
    check((struct problem){.s = 128, .b = 1, .heads = 1, .d = 16});
}

static void test_several_blocks_of_queries_and_keys(void **state)
{
    (void) state;
    check((struct problem){.s = 293, .b = 2, .heads = 2, .d = 9});
    check((struct problem){.s = 601, .b = 1, .heads = 1, .d = 12});
}

static void test_dropout_follows_the_head_s_number(void **state)
{
    (void) state;
    check((struct problem){
        .s = 301, .b = 2, .heads = 2, .d = 5, .first_head = 6, .p = 0.2});
}

static void test_without_a_mask_all_keys_are_seen(void **state)
{
    (void) state;
    check((struct problem){.s = 1, .b = 2, .heads = 3, .d = 8, .full = true});
    check((struct problem){.s = 293, .b = 2, .heads = 2, .d = 9, .full = true});
    check((struct problem){
        .s = 301, .b = 2, .heads = 1, .d = 5, .full = true, .p = 0.2});
}

/* Padding that ends within a block and within a part; no padding; nothing but
 * padding. */
static void test_padding_is_left_out(void **state)
{
    for (int full = 0; full < 2; full++) {
        check((struct problem){.s = 40,
                               .b = 3,
                               .heads = 2,
                               .d = 8,
                               .full = full,
                               .padding = {0, 13, 40}});
        check((struct problem){.s = 400,
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
    const struct problem of = {
        .s = 90, .b = 2, .heads = 2, .d = 8, .full = true, .padding = {30, 7}};
    const int64_t n = elems_of_y(&of), width = of.heads * of.d;
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
    check((struct problem){
        .s = 293, .b = 2, .heads = 2, .d = 9, .coefficient = 24});
    check((struct problem){.s = 70,
                           .b = 2,
                           .heads = 2,
                           .d = 9,
                           .full = true,
                           .padding = {0, 9},
                           .coefficient = 3});
}

/* Of 128 positions, parts of 32: what dropout keeps must be the same set. */
static void test_dropout_does_not_depend_on_the_parts(void **state)
{
    const int64_t cut[] = {0, 32, 64, 96, 128};
    const struct problem of = {
        .s = 128, .b = 1, .heads = 1, .d = 128, .full = true, .p = 0.5};
    const int64_t n = elems_of_y(&of);
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
    const struct problem of = {.s = 300, .b = 1, .heads = 1, .d = 4};
    const int64_t n = elems_of_y(&of);
    mtlm_real *qkv = new_normal(3 * n, 9), *y = new_undefined(n);
    mtlm_real *lse = new_undefined(of.s);
    double *want = mtlm_calloc(n, sizeof(*want));
    double *want_lse = mtlm_calloc(of.s, sizeof(*want_lse));
    int32_t lengths[] = {300};

    (void) state;
    for (int64_t i = 0; i < 3 * n; i++)
        if (i % 12 < 8)
            qkv[i] *= 60;
    run_op(forward_call(&of), (void *[]){qkv, lengths, y, lse}, SAMPLE);
    reference(&of, qkv, want, want_lse);
    assert_true(worst_error(lse, want_lse, of.s) < BOUND);
    /* Scores of 1e4 are known to 1e-3 only, and so are probabilities. */
    assert_true(worst_error(y, want, n) < 1e-2);
    free(qkv), free(y), free(lse), free(want), free(want_lse);
}

static void test_shards_of_heads_are_parts_of_the_whole(void **state)
{
    const struct problem whole = {
        .s = 70, .b = 2, .heads = 4, .d = 6, .p = 0.3};
    struct problem part = whole;
    const int64_t n = elems_of_y(&whole);
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
    const struct problem of = {.s = 90, .b = 1, .heads = 1, .d = 8};
    const int64_t n = elems_of_y(&of);
    mtlm_real *qkv = new_normal(3 * n, 1), *other = new_normal(3 * n, 2);
    mtlm_real *y = new_undefined(n), *y2 = new_undefined(n);
    mtlm_real *lse = new_undefined(of.s);
    int32_t lengths[] = {90};

    (void) state;
    memcpy(other, qkv, 65 * 24 * sizeof(*qkv));
    run_op(forward_call(&of), (void *[]){qkv, lengths, y, lse}, SAMPLE);
    run_op(forward_call(&of), (void *[]){other, lengths, y2, lse}, SAMPLE);
    assert_memory_equal(y, y2, 65 * 8 * sizeof(*y));
    assert_memory_not_equal(y, y2, n * sizeof(*y));
    free(qkv), free(other), free(y), free(y2), free(lse);
}

static void test_two_runs_give_the_same_bits(void **state)
{
    const struct problem of = {.s = 100, .b = 2, .heads = 2, .d = 8, .p = 0.1};
    const int64_t n = elems_of_y(&of);
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
        cmocka_unit_test(test_one_position),
        cmocka_unit_test(test_less_than_a_block),
        cmocka_unit_test(test_whole_blocks),
        cmocka_unit_test(test_several_blocks_of_queries_and_keys),
        cmocka_unit_test(test_dropout_follows_the_head_s_number),
        cmocka_unit_test(test_without_a_mask_all_keys_are_seen),
        cmocka_unit_test(test_padding_is_left_out),
        cmocka_unit_test(test_what_the_padding_holds_does_not_matter),
        cmocka_unit_test(test_the_coefficient_changes_nothing_but_the_rounding),
        cmocka_unit_test(test_dropout_does_not_depend_on_the_parts),
        cmocka_unit_test(test_great_scores_stay_finite),
        cmocka_unit_test(test_shards_of_heads_are_parts_of_the_whole),
        cmocka_unit_test(test_later_positions_change_nothing),
        cmocka_unit_test(test_two_runs_give_the_same_bits),
        cmocka_unit_test(test_widths_that_heads_do_not_divide_are_refused),
        cmocka_unit_test(test_shapes_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
