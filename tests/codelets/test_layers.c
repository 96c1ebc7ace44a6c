/* layernorm, linear, bias+tanh, scores, bias+dropout+add, pooling, token types:
 * the single-precision kernels against the formulas in double. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codelets/dropout.h"
#include "codelets/scores.h"
#include "tests/codelets/support.h"

#define BOUND 1e-5

/* Odd on purpose: no multiple of any vector or block.  K is more than a part
 * of a row (MTLM_DROPOUT_PART). */
enum { S = 35, B = 3, ROWS = S * B, K = 267, N = 45 };

static void test_layernorm_forward(void **state)
{
    const struct mtlm_call call = {
        .kind = MTLM_OP_LAYERNORM_FWD,
        .attr.layernorm.epsilon = 1e-5,
        .shape = {MTLM_SHAPE(S, B, K), MTLM_SHAPE(K), MTLM_SHAPE(K)}};
    mtlm_real *x = new_normal(ROWS * K, 1), *gamma = new_normal(K, 2);
    mtlm_real *beta = new_normal(K, 3), *y = new_undefined(ROWS * K);
    mtlm_real mean[ROWS], rstd[ROWS];
    double want[ROWS * K];

    (void) state;
    /* A mean far from 0 must not spoil the variance. */
    for (int i = 0; i < ROWS * K; i++)
        x[i] += 0.1 * (i / K);
    run_op(call, (void *[]){x, gamma, beta, y, mean, rstd}, 0);
    for (int r = 0; r < ROWS; r++) {
        double m = 0, square = 0;

        for (int i = 0; i < K; i++)
            m += (double) x[r * K + i] / K;
        for (int i = 0; i < K; i++)
            square += pow(x[r * K + i] - m, 2) / K;
        for (int i = 0; i < K; i++)
            want[r * K + i] =
                (x[r * K + i] - m) / sqrt(square + 1e-5) * gamma[i] + beta[i];
        assert_true(fabs(mean[r] - m) < 1e-6 * (1 + fabs(m)));
        assert_true(fabs(rstd[r] * sqrt(square + 1e-5) - 1) < 1e-5);
    }
    assert_true(worst_error(y, want, ROWS * K) < BOUND);
    free(x), free(gamma), free(beta), free(y);
}

static void check_layernorm_backward(enum mtlm_op_kind kind)
{
    const bool add = kind == MTLM_OP_LAYERNORM_BWD_ADD;
    const struct mtlm_call call = {
        .kind = kind,
        .shape = {MTLM_SHAPE(S, B, K), MTLM_SHAPE(K), MTLM_SHAPE(S, B),
                  MTLM_SHAPE(S, B), MTLM_SHAPE(S, B, K), MTLM_SHAPE(S, B, K),
                  MTLM_SHAPE(K), MTLM_SHAPE(K)}};
    mtlm_real *x = new_normal(ROWS * K, 1), *gamma = new_normal(K, 2);
    mtlm_real *mean = new_normal(ROWS, 3), *rstd = new_normal(ROWS, 4);
    mtlm_real *dy = new_normal(ROWS * K, 5), *dx = new_normal(ROWS * K, 6);
    mtlm_real *dgamma = new_normal(K, 7), *dbeta = new_normal(K, 8);
    double want[ROWS * K], want_gamma[K], want_beta[K];

    for (int i = 0; i < K; i++)
        want_gamma[i] = dgamma[i], want_beta[i] = dbeta[i];
    for (int r = 0; r < ROWS; r++) {
        double sum = 0, dot = 0;

        for (int i = 0; i < K; i++) {
            const int at = r * K + i;
            const double xhat = ((double) x[at] - mean[r]) * rstd[r];

            sum += (double) dy[at] * gamma[i] / K;
            dot += (double) dy[at] * gamma[i] * xhat / K;
            want_gamma[i] += dy[at] * xhat;
            want_beta[i] += dy[at];
        }
        for (int i = 0; i < K; i++) {
            const int at = r * K + i;
            const double xhat = ((double) x[at] - mean[r]) * rstd[r];

            want[at] =
                (add ? dx[at] : 0)
                + rstd[r] * ((double) dy[at] * gamma[i] - sum - xhat * dot);
        }
    }
    run_op(call, (void *[]){x, gamma, mean, rstd, dy, dx, dgamma, dbeta}, 0);
    assert_true(worst_error(dx, want, ROWS * K) < BOUND);
    assert_true(worst_error(dgamma, want_gamma, K) < BOUND);
    assert_true(worst_error(dbeta, want_beta, K) < BOUND);
    free(x), free(gamma), free(mean), free(rstd);
    free(dy), free(dx), free(dgamma), free(dbeta);
}

static void test_layernorm_backward(void **state)
{
    (void) state;
    check_layernorm_backward(MTLM_OP_LAYERNORM_BWD);
    check_layernorm_backward(MTLM_OP_LAYERNORM_BWD_ADD);
}

static void test_linear_forward(void **state)
{
    const struct mtlm_call plain = {
        .kind = MTLM_OP_LINEAR_FWD,
        .shape = {MTLM_SHAPE(S, B, K), MTLM_SHAPE(N, K)}};
    const struct mtlm_call bias = {
        .kind = MTLM_OP_LINEAR_BIAS_FWD,
        .shape = {MTLM_SHAPE(S, B, K), MTLM_SHAPE(N, K), MTLM_SHAPE(N)}};
    mtlm_real *x = new_normal(ROWS * K, 1), *w = new_normal(N * K, 2);
    mtlm_real *b = new_normal(N, 3), *y = new_undefined(ROWS * N);
    double want[ROWS * N];

    (void) state;
    for (int r = 0; r < ROWS; r++)
        for (int n = 0; n < N; n++) {
            want[r * N + n] = 0;
            for (int k = 0; k < K; k++)
                want[r * N + n] += (double) x[r * K + k] * w[n * K + k];
        }
    run_op(plain, (void *[]){x, w, y}, 0);
    assert_true(worst_error(y, want, ROWS * N) < BOUND);
    for (int i = 0; i < ROWS * N; i++)
        want[i] += b[i % N];
    run_op(bias, (void *[]){x, w, b, y}, 0);
    assert_true(worst_error(y, want, ROWS * N) < BOUND);
    free(x), free(w), free(b), free(y);
}

static void test_linear_gradients(void **state)
{
    const struct mtlm_call dgrad = {
        .kind = MTLM_OP_LINEAR_DGRAD,
        .shape = {MTLM_SHAPE(S, B, N), MTLM_SHAPE(N, K)}};
    struct mtlm_call wgrad = {.kind = MTLM_OP_LINEAR_BIAS_WGRAD,
                              .shape = {MTLM_SHAPE(S, B, K),
                                        MTLM_SHAPE(S, B, N), MTLM_SHAPE(N, K),
                                        MTLM_SHAPE(N)}};
    mtlm_real *x = new_normal(ROWS * K, 1), *w = new_normal(N * K, 2);
    mtlm_real *dy = new_normal(ROWS * N, 3), *dx = new_undefined(ROWS * K);
    mtlm_real *dw = new_normal(N * K, 4), *db = new_normal(N, 5);
    mtlm_real *set = new_undefined(N * K);
    double want_x[ROWS * K] = {0}, want_w[N * K], want_b[N];
    double want_set[N * K] = {0};

    (void) state;
    for (int i = 0; i < N; i++)
        want_b[i] = db[i];
    for (int r = 0; r < ROWS; r++)
        for (int n = 0; n < N; n++) {
            want_b[n] += dy[r * N + n];
            for (int k = 0; k < K; k++) {
                want_x[r * K + k] += (double) dy[r * N + n] * w[n * K + k];
                want_set[n * K + k] += (double) dy[r * N + n] * x[r * K + k];
            }
        }
    for (int i = 0; i < N * K; i++)
        want_w[i] = dw[i] + want_set[i];
    run_op(dgrad, (void *[]){dy, w, dx}, 0);
    run_op(wgrad, (void *[]){x, dy, dw, db}, 0);
    assert_true(worst_error(dx, want_x, ROWS * K) < BOUND);
    assert_true(worst_error(dw, want_w, N * K) < BOUND);
    assert_true(worst_error(db, want_b, N) < BOUND);
    /* The same, but dweight does not count, which is not even a number. */
    wgrad.sets = true;
    run_op(wgrad, (void *[]){x, dy, set, db}, 0);
    assert_true(worst_error(set, want_set, N * K) < BOUND);
    free(x), free(w), free(dy), free(dx), free(dw), free(set), free(db);
}

/* The samples of a microbatch have masks of their own. */
static void check_tanh(double p)
{
    const union mtlm_attr attr = {
        .dropout = {.p = p, .seed = 77, .site = MTLM_SITE_HEAD}};
    const struct mtlm_call fwd = {
        .kind = MTLM_OP_BIAS_TANH_FWD,
        .attr = attr,
        .shape = {MTLM_SHAPE(1, B, K), MTLM_SHAPE(K)}};
    const struct mtlm_call bwd = {
        .kind = MTLM_OP_BIAS_TANH_BWD,
        .attr = attr,
        .shape = {
            MTLM_SHAPE(1, B, K), MTLM_SHAPE(1, B, K), {0}, MTLM_SHAPE(K)}};
    mtlm_real *x = new_normal(B * K, 1), *bias = new_normal(K, 2);
    mtlm_real *y = new_undefined(B * K), *dx = new_undefined(B * K);
    mtlm_real *dy = new_normal(B * K, 3), *dbias = new_normal(K, 4);
    mtlm_real factor[B * K];
    double want[B * K], want_dx[B * K], want_dbias[K];
    int dropped = 0;

    for (int j = 0; j < B; j++)
        mtlm_dropout_factors(&attr.dropout, 5 + j, 0, K, factor + j * K);
    for (int i = 0; i < K; i++)
        want_dbias[i] = dbias[i];
    for (int i = 0; i < B * K; i++) {
        const double t = tanh((double) x[i] + bias[i % K]);

        dropped += factor[i] == 0;
        want[i] = factor[i] * t;
        want_dx[i] = factor[i] * dy[i] * (1 - t * t);
        want_dbias[i % K] += want_dx[i];
    }
    assert_int_equal(dropped > 0, p > 0);
    run_op(fwd, (void *[]){x, bias, y}, 5);
    run_op(bwd, (void *[]){y, dy, dx, dbias}, 5);
    assert_true(worst_error(y, want, B * K) < BOUND);
    assert_true(worst_error(dx, want_dx, B * K) < BOUND);
    assert_true(worst_error(dbias, want_dbias, K) < BOUND);
    free(x), free(bias), free(y), free(dx), free(dy), free(dbias);
}

static void test_tanh_forward_and_backward(void **state)
{
    (void) state;
    check_tanh(0);
    check_tanh(0.3);
}

/* Column 1 of every position, behind a first part of 4; padding has a score of
 * its own and no gradient. */
static void test_scores_of_positions_are_a_row_for_each_sample(void **state)
{
    enum { FIRST = 4, COLS = FIRST + S + 2 };
    const union mtlm_attr attr = {
        .scores = {.first = FIRST, .column = 1, .choices = 1}};
    const struct mtlm_call fwd = {.kind = MTLM_OP_SCORES_FWD,
                                  .attr = attr,
                                  .shape = {MTLM_SHAPE(S, B, 2),
                                            MTLM_SHAPE(1, B),
                                            MTLM_SHAPE(1, B, COLS)}};
    const struct mtlm_call bwd = {.kind = MTLM_OP_SCORES_BWD,
                                  .attr = attr,
                                  .shape = {MTLM_SHAPE(1, B),
                                            MTLM_SHAPE(1, B, COLS),
                                            MTLM_SHAPE(S, B, 2)}};
    int32_t length[B] = {FIRST + S, FIRST + 9, 1};
    mtlm_real *x = new_normal(ROWS * 2, 1), *y = new_zeros(B * COLS);
    mtlm_real *dx = new_zeros(ROWS * 2);

    (void) state;
    run_op(fwd, (void *[]){x, length, y}, 0);
    for (int j = 0; j < B; j++)
        for (int c = 0; c < COLS; c++) {
            const int i = c - FIRST;

            const mtlm_real want = i < 0 || i >= S ? 0
                                   : c < length[j] ? x[(i * B + j) * 2 + 1]
                                                   : MTLM_SCORE_OF_PADDING;

            assert_true(y[j * COLS + c] == want);
        }
    run_op(bwd, (void *[]){length, y, dx}, 0);
    for (int i = 0; i < ROWS; i++) {
        const bool padding = FIRST + i / B >= length[i % B];

        assert_true(dx[2 * i] == 0);
        assert_true(dx[2 * i + 1] == (padding ? 0 : x[2 * i + 1]));
    }
    free(x), free(y), free(dx);
}

/* Consecutive samples are the choices of a question: the scores keep their
 * order in memory. */
static void test_scores_of_choices_are_a_row_for_each_question(void **state)
{
    enum { CHOICES = 4, QUESTIONS = 5, ALL = CHOICES * QUESTIONS };
    const union mtlm_attr attr = {.scores = {.choices = CHOICES}};
    const struct mtlm_call fwd = {.kind = MTLM_OP_SCORES_FWD,
                                  .attr = attr,
                                  .shape = {MTLM_SHAPE(1, ALL, 1),
                                            MTLM_SHAPE(1, ALL),
                                            MTLM_SHAPE(1, QUESTIONS, CHOICES)}};
    const struct mtlm_call bwd = {.kind = MTLM_OP_SCORES_BWD,
                                  .attr = attr,
                                  .shape = {MTLM_SHAPE(1, ALL),
                                            MTLM_SHAPE(1, QUESTIONS, CHOICES),
                                            MTLM_SHAPE(1, ALL, 1)}};
    int32_t length[ALL] = {[0 ... ALL - 1] = 1};
    mtlm_real *x = new_normal(ALL, 1), *y = new_zeros(ALL);
    mtlm_real *dx = new_zeros(ALL);

    (void) state;
    run_op(fwd, (void *[]){x, length, y}, 0);
    run_op(bwd, (void *[]){length, y, dx}, 0);
    assert_memory_equal(y, x, ALL * sizeof(*x));
    assert_memory_equal(dx, x, ALL * sizeof(*x));
    free(x), free(y), free(dx);
}

static void test_pooling_takes_the_first_row(void **state)
{
    const struct mtlm_call fwd = {.kind = MTLM_OP_POOL_FWD,
                                  .shape = {MTLM_SHAPE(S, B, K)}};
    const struct mtlm_call bwd = {
        .kind = MTLM_OP_POOL_BWD,
        .shape = {MTLM_SHAPE(1, B, K), MTLM_SHAPE(S, B, K)}};
    mtlm_real *x = new_normal(ROWS * K, 1), *y = new_undefined(B * K);
    mtlm_real *dx = new_normal(ROWS * K, 2), *before = new_normal(ROWS * K, 2);

    (void) state;
    run_op(fwd, (void *[]){x, y}, 0);
    assert_memory_equal(y, x, B * K * sizeof(*y));
    run_op(bwd, (void *[]){y, dx}, 0);
    for (int i = 0; i < ROWS * K; i++)
        assert_true(dx[i] == before[i] + (i < B * K ? y[i] : 0));
    free(x), free(y), free(dx), free(before);
}

static void test_token_types_are_added(void **state)
{
    const struct mtlm_call call = {
        .kind = MTLM_OP_TOKEN_TYPE_FWD,
        .shape = {MTLM_SHAPE(S, B), MTLM_SHAPE(2, K), MTLM_SHAPE(S, B, K)}};
    mtlm_real *x = new_normal(ROWS * K, 1), *before = new_normal(ROWS * K, 1);
    mtlm_real *table = new_normal(2 * K, 2);
    int32_t *types = new_tokens(ROWS, 2, 3);

    (void) state;
    run_op(call, (void *[]){types, table, x}, 0);
    for (int i = 0; i < ROWS * K; i++)
        assert_true(x[i] == before[i] + table[types[i / K] * K + i % K]);
    free(x), free(before), free(table), free(types);
}

static void test_without_dropout_the_sum_is_plain(void **state)
{
    const struct mtlm_call call = {
        .kind = MTLM_OP_BIAS_DROPOUT_ADD_FWD,
        .shape = {MTLM_SHAPE(S, B, K), MTLM_SHAPE(K), MTLM_SHAPE(S, B, K)}};
    mtlm_real *x = new_normal(ROWS * K, 1), *bias = new_normal(K, 2);
    mtlm_real *residual = new_normal(ROWS * K, 3);
    mtlm_real *y = new_undefined(ROWS * K);

    (void) state;
    run_op(call, (void *[]){x, bias, residual, y}, 0);
    for (int i = 0; i < ROWS * K; i++)
        assert_true(y[i] == residual[i] + (x[i] + bias[i % K]));
    free(x), free(bias), free(residual), free(y);
}

static void test_add_adds(void **state)
{
    const struct mtlm_call call = {.kind = MTLM_OP_ADD,
                                   .shape = {MTLM_SHAPE(K), MTLM_SHAPE(K)}};
    mtlm_real *x = new_normal(K, 1), *before = new_normal(K, 1);
    mtlm_real *y = new_normal(K, 2);

    (void) state;
    run_op(call, (void *[]){y, x}, 0);
    for (int i = 0; i < K; i++)
        assert_true(x[i] == before[i] + y[i]);
    free(x), free(before), free(y);
}

/* y [n] of zeros but for some elements: x gets them, and y is zeros. */
static void check_add_clear(int64_t n, int64_t step)
{
    const struct mtlm_call call = {.kind = MTLM_OP_ADD_CLEAR,
                                   .shape = {MTLM_SHAPE(n), MTLM_SHAPE(n)}};
    mtlm_real *x = new_normal(n, 1), *before = new_normal(n, 1);
    mtlm_real *y = new_normal(n, 2), *added = new_normal(n, 2);

    for (int64_t i = 0; i < n; i++)
        if (i % step != step - 1)
            y[i] = added[i] = 0;
    run_op(call, (void *[]){y, x}, 0);
    for (int64_t i = 0; i < n; i++) {
        assert_true(x[i] == before[i] + added[i]);
        assert_true(y[i] == 0);
    }
    free(x), free(before), free(y), free(added);
}

static void test_add_clear_adds_and_clears(void **state)
{
    (void) state;
    for (int64_t n = 1; n < 1300; n += 37) {
        check_add_clear(n, 1);
        check_add_clear(n, 101);
        check_add_clear(n, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layernorm_forward),
        cmocka_unit_test(test_layernorm_backward),
        cmocka_unit_test(test_linear_forward),
        cmocka_unit_test(test_linear_gradients),
        cmocka_unit_test(test_tanh_forward_and_backward),
        cmocka_unit_test(test_scores_of_positions_are_a_row_for_each_sample),
        cmocka_unit_test(test_scores_of_choices_are_a_row_for_each_question),
        cmocka_unit_test(test_pooling_takes_the_first_row),
        cmocka_unit_test(test_token_types_are_added),
        cmocka_unit_test(test_without_dropout_the_sum_is_plain),
        cmocka_unit_test(test_add_adds),
        cmocka_unit_test(test_add_clear_adds_and_clears),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
