/* Attention in single precision against the formula in double, over lengths
 * that no block divides; shards of heads; dropout. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/dropout.h"
#include "tests/codelets/support.h"

#define BOUND 1e-5
enum { SAMPLE = 4 };

/* One call and its reference. */
struct problem {
    int s, b, heads, d;
    int first_head;
    double p;
};

static struct mtlm_call forward_call(const struct problem *of)
{
    return (struct mtlm_call){
        .kind = MTLM_OP_ATTENTION_FWD,
        .attr.attention = {.heads = of->heads,
                           .first_head = of->first_head,
                           .dropout = {.p = of->p,
                                       .seed = 21,
                                       .layer = 1,
                                       .site = MTLM_SITE_ATTENTION}},
        .shape = {MTLM_SHAPE(of->s, of->b, 3 * of->heads * of->d)}};
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

/* prob [s]: the probabilities of one query; returns their logarithm's
 * normaliser. */
static double probabilities(const struct problem *of, const mtlm_real *qkv,
                            int j, int n, int query, double *prob)
{
    double max = -INFINITY, sum = 0;

    for (int k = 0; k <= query; k++) {
        prob[k] = 0;
        for (int c = 0; c < of->d; c++)
            prob[k] +=
                at(of, qkv, query, j, n, 0, c) * at(of, qkv, k, j, n, 1, c);
        prob[k] /= sqrt(of->d);
        max = fmax(max, prob[k]);
    }
    for (int k = 0; k <= query; k++)
        sum += exp(prob[k] - max);
    for (int k = 0; k <= query; k++)
        prob[k] = exp(prob[k] - max) / sum;
    return max + log(sum);
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
                    for (int k = 0; k <= q; k++)
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
                for (int k = 0; k <= q; k++) {
                    dprob[k] = 0;
                    for (int c = 0; c < of->d; c++)
                        dprob[k] +=
                            factor[k] * row[c] * at(of, qkv, k, j, n, 2, c);
                    dot += prob[k] * dprob[k];
                }
                for (int k = 0; k <= q; k++)
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

    call = run_op(call, (void *[]){(void *) qkv, y, lse}, SAMPLE);
    call.kind = MTLM_OP_ATTENTION_BWD;
    call.shape[3] = call.shape[1];
    run_op(call, (void *[]){(void *) qkv, y, lse, (void *) dy, dqkv}, SAMPLE);
}

static void check(struct problem of)
{
    const int64_t n = elems_of_y(&of), rows = of.b * of.heads * of.s;
    mtlm_real *qkv = new_normal(3 * n, of.s), *y = new_undefined(n);
    mtlm_real *lse = new_undefined(rows), *dy = new_normal(n, of.s + 1);
    mtlm_real *dqkv = new_undefined(3 * n);
    double *want = mtlm_calloc(n, sizeof(*want));
    double *want_lse = mtlm_calloc(rows, sizeof(*want_lse));
    double *want_dqkv = mtlm_calloc(3 * n, sizeof(*want_dqkv));

    run_both(&of, qkv, y, lse, dy, dqkv);
    reference(&of, qkv, want, want_lse);
    reference_backward(&of, qkv, dy, want_dqkv);
    assert_true(worst_error(y, want, n) < BOUND);
    assert_true(worst_error(lse, want_lse, rows) < BOUND);
    assert_true(worst_error(dqkv, want_dqkv, 3 * n) < BOUND);
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

    (void) state;
    for (int64_t i = 0; i < 3 * n; i++)
        if (i % 12 < 8)
            qkv[i] *= 60;
    run_op(forward_call(&of), (void *[]){qkv, y, lse}, SAMPLE);
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

    (void) state;
    memcpy(other, qkv, 65 * 24 * sizeof(*qkv));
    run_op(forward_call(&of), (void *[]){qkv, y, lse}, SAMPLE);
    run_op(forward_call(&of), (void *[]){other, y2, lse}, SAMPLE);
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
                             .shape = {MTLM_SHAPE(8, 2, 30)}};

    (void) state;
    assert_refused(
        call, "attention_fwd: qkv is [8, 2, 30], needs a multiple of 3 x 4");
    call.attr.attention.heads = 0;
    assert_refused(
        call, "attention_fwd: qkv is [8, 2, 30], needs a multiple of 3 x 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_position),
        cmocka_unit_test(test_less_than_a_block),
        cmocka_unit_test(test_whole_blocks),
        cmocka_unit_test(test_several_blocks_of_queries_and_keys),
        cmocka_unit_test(test_dropout_follows_the_head_s_number),
        cmocka_unit_test(test_great_scores_stay_finite),
        cmocka_unit_test(test_shards_of_heads_are_parts_of_the_whole),
        cmocka_unit_test(test_later_positions_change_nothing),
        cmocka_unit_test(test_two_runs_give_the_same_bits),
        cmocka_unit_test(test_widths_that_heads_do_not_divide_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
