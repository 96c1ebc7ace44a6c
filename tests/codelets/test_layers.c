/* layernorm, linear, bias+GELU, bias+dropout+add and functions of one number:
 * the single-precision kernels against the formulas in double; what is
 * refused. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codelets/vector_math.h"
#include "tests/codelets/support.h"

#define BOUND 1e-5

/* Odd on purpose: no multiple of any vector or block. */
enum { S = 35, B = 3, ROWS = S * B, K = 67, N = 45 };

/* Down to where floats become subnormal. */
static void test_power_of_two_is_within_a_unit_in_the_last_place(void **state)
{
    double worst = 0;

    (void) state;
    for (double x = -126; x < 127; x += 1.37e-4) {
        const double want = exp2((double) (float) x);

        worst = fmax(worst, fabs(mtlm_exp2((float) x) - want) / want);
    }
    assert_true(worst < 0x1p-23);
    for (int n = -126; n < 127; n++)
        assert_true(mtlm_exp2(n) == ldexp(1, n));
    assert_true(mtlm_exp2(-200) == 0);
    assert_true(mtlm_exp2(-INFINITY) == 0);
    assert_true(isnan(mtlm_exp2(NAN)));
}

/* From -6 to 6, on both sides of 0; further down nothing is left in float. */
static void test_normal_distribution_is_within_two_units_of_one(void **state)
{
    double worst = 0, relative = 0;

    (void) state;
    for (double at = -6; at < 6; at += 1.3e-5) {
        const float x = at, e = mtlm_exp2(x * x * -0.5f * MTLM_LOG2_E);
        const double want = 0.5 * erfc(-(double) x / sqrt(2));
        const double error = fabs(mtlm_normal_cdf(x, e) - want);

        worst = fmax(worst, error);
        relative = fmax(relative, error / want);
    }
    assert_true(worst < 2 * 0x1p-23);
    assert_true(relative < 6e-6);
    assert_true(mtlm_normal_cdf(40, 0) == 1);
    assert_true(mtlm_normal_cdf(-40, 0) == 0);
    assert_true(mtlm_normal_cdf(0, 1) == 0.5f);
    assert_true(isnan(mtlm_normal_cdf(NAN, NAN)));
}

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
    const struct mtlm_call wgrad = {.kind = MTLM_OP_LINEAR_BIAS_WGRAD,
                                    .shape = {MTLM_SHAPE(S, B, K),
                                              MTLM_SHAPE(S, B, N),
                                              MTLM_SHAPE(N, K), MTLM_SHAPE(N)}};
    mtlm_real *x = new_normal(ROWS * K, 1), *w = new_normal(N * K, 2);
    mtlm_real *dy = new_normal(ROWS * N, 3), *dx = new_undefined(ROWS * K);
    mtlm_real *dw = new_normal(N * K, 4), *db = new_normal(N, 5);
    double want_x[ROWS * K] = {0}, want_w[N * K], want_b[N];

    (void) state;
    for (int i = 0; i < N * K; i++)
        want_w[i] = dw[i];
    for (int i = 0; i < N; i++)
        want_b[i] = db[i];
    for (int r = 0; r < ROWS; r++)
        for (int n = 0; n < N; n++) {
            want_b[n] += dy[r * N + n];
            for (int k = 0; k < K; k++) {
                want_x[r * K + k] += (double) dy[r * N + n] * w[n * K + k];
                want_w[n * K + k] += (double) dy[r * N + n] * x[r * K + k];
            }
        }
    run_op(dgrad, (void *[]){dy, w, dx}, 0);
    run_op(wgrad, (void *[]){x, dy, dw, db}, 0);
    assert_true(worst_error(dx, want_x, ROWS * K) < BOUND);
    assert_true(worst_error(dw, want_w, N * K) < BOUND);
    assert_true(worst_error(db, want_b, N) < BOUND);
    free(x), free(w), free(dy), free(dx), free(dw), free(db);
}

static double gelu(double v, bool exact)
{
    return exact
               ? v / 2 * erfc(-v / sqrt(2))
               : v / 2
                     * (1 + tanh(sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
}

/* From -12 to 12: both tails. */
static void check_gelu(bool exact)
{
    const struct mtlm_call fwd = {
        .kind = MTLM_OP_BIAS_GELU_FWD,
        .attr.gelu.exact = exact,
        .shape = {MTLM_SHAPE(S, B, K), MTLM_SHAPE(K)}};
    const struct mtlm_call bwd = {.kind = MTLM_OP_BIAS_GELU_BWD,
                                  .attr.gelu.exact = exact,
                                  .shape = {MTLM_SHAPE(S, B, K),
                                            MTLM_SHAPE(K),
                                            MTLM_SHAPE(S, B, K),
                                            {0},
                                            MTLM_SHAPE(K)}};
    mtlm_real *x = new_normal(ROWS * K, 1), *bias = new_normal(K, 2);
    mtlm_real *y = new_undefined(ROWS * K), *dx = new_undefined(ROWS * K);
    mtlm_real *dy = new_normal(ROWS * K, 3), *dbias = new_normal(K, 4);
    double want[ROWS * K], want_dx[ROWS * K], want_dbias[K];

    for (int i = 0; i < K; i++)
        want_dbias[i] = dbias[i];
    for (int i = 0; i < ROWS * K; i++) {
        double v;

        x[i] *= 3;
        v = (double) x[i] + bias[i % K];
        want[i] = gelu(v, exact);
        want_dx[i] =
            dy[i] * (gelu(v + 1e-5, exact) - gelu(v - 1e-5, exact)) / 2e-5;
        want_dbias[i % K] += want_dx[i];
    }
    run_op(fwd, (void *[]){x, bias, y}, 0);
    run_op(bwd, (void *[]){x, bias, dy, dx, dbias}, 0);
    assert_true(worst_error(y, want, ROWS * K) < BOUND);
    assert_true(worst_error(dx, want_dx, ROWS * K) < BOUND);
    assert_true(worst_error(dbias, want_dbias, K) < BOUND);
    free(x), free(bias), free(y), free(dx), free(dy), free(dbias);
}

static void test_gelu_forward_and_backward(void **state)
{
    (void) state;
    check_gelu(false);
    check_gelu(true);
}

/* x [rows, k] times the transpose of w [n, k], which is given with a distance
 * of across between rows and of along between columns. */
static void product(const mtlm_real *x, const mtlm_real *w, int n, int k,
                    int across, int along, double *y)
{
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < n; i++) {
            y[r * n + i] = 0;
            for (int j = 0; j < k; j++)
                y[r * n + i] +=
                    (double) x[r * k + j] * w[i * across + j * along];
        }
}

static void check_products_with_gelu(bool exact)
{
    const union mtlm_attr attr = {.gelu.exact = exact};
    const struct mtlm_call fwd = {
        .kind = MTLM_OP_LINEAR_GELU_FWD,
        .attr = attr,
        .shape = {MTLM_SHAPE(S, B, K), MTLM_SHAPE(N, K), MTLM_SHAPE(N)}};
    const struct mtlm_call dgrad = {
        .kind = MTLM_OP_GELU_LINEAR_DGRAD,
        .attr = attr,
        .shape = {MTLM_SHAPE(S, B, K), MTLM_SHAPE(K, N), MTLM_SHAPE(S, B, N)}};
    mtlm_real *x = new_normal(ROWS * K, 1), *w = new_normal(N * K, 2);
    mtlm_real *bias = new_normal(N, 3), *pre = new_undefined(ROWS * N);
    mtlm_real *y = new_undefined(ROWS * N), *dpre = new_undefined(ROWS * N);
    double want_pre[ROWS * N], want_y[ROWS * N], want_dpre[ROWS * N];

    product(x, w, N, K, K, 1, want_pre);
    for (int i = 0; i < ROWS * N; i++) {
        want_pre[i] += bias[i % N];
        want_y[i] = gelu(want_pre[i], exact);
    }
    run_op(fwd, (void *[]){x, w, bias, pre, y}, 0);
    assert_true(worst_error(pre, want_pre, ROWS * N) < BOUND);
    assert_true(worst_error(y, want_y, ROWS * N) < BOUND);
    /* x as the gradient of a product with the same weight, as [K, N]. */
    product(x, w, N, K, 1, N, want_dpre);
    for (int i = 0; i < ROWS * N; i++)
        want_dpre[i] *=
            (gelu(pre[i] + 1e-5, exact) - gelu(pre[i] - 1e-5, exact)) / 2e-5;
    run_op(dgrad, (void *[]){x, w, pre, dpre}, 0);
    assert_true(worst_error(dpre, want_dpre, ROWS * N) < BOUND);
    free(x), free(w), free(bias), free(pre), free(y), free(dpre);
}

static void test_products_with_gelu(void **state)
{
    (void) state;
    check_products_with_gelu(false);
    check_products_with_gelu(true);
}

/* In 16 bits only what a kernel touches is widened. */
static void test_what_is_kept_for_the_gradient_alone_counts_nothing(
    void **state)
{
    struct mtlm_call plain = {
        .kind = MTLM_OP_LINEAR_FWD,
        .value = MTLM_BF16,
        .shape = {MTLM_SHAPE(S, B, K), MTLM_SHAPE(N, K), MTLM_SHAPE(S, B, N)}};
    struct mtlm_call behind = {.kind = MTLM_OP_GELU_LINEAR_FWD,
                               .value = MTLM_BF16,
                               .shape = {plain.shape[0], plain.shape[1],
                                         plain.shape[0], plain.shape[2]}};

    (void) state;
    assert_true(mtlm_call_bytes(&behind) == mtlm_call_bytes(&plain));
    assert_int_equal(mtlm_call_wide_bytes(&behind),
                     mtlm_call_wide_bytes(&plain));
}

static void test_tanh_forward_and_backward(void **state)
{
    const struct mtlm_call fwd = {
        .kind = MTLM_OP_BIAS_TANH_FWD,
        .shape = {MTLM_SHAPE(1, B, K), MTLM_SHAPE(K)}};
    const struct mtlm_call bwd = {
        .kind = MTLM_OP_BIAS_TANH_BWD,
        .shape = {
            MTLM_SHAPE(1, B, K), MTLM_SHAPE(1, B, K), {0}, MTLM_SHAPE(K)}};
    mtlm_real *x = new_normal(B * K, 1), *bias = new_normal(K, 2);
    mtlm_real *y = new_undefined(B * K), *dx = new_undefined(B * K);
    mtlm_real *dy = new_normal(B * K, 3), *dbias = new_normal(K, 4);
    double want[B * K], want_dx[B * K], want_dbias[K];

    (void) state;
    for (int i = 0; i < K; i++)
        want_dbias[i] = dbias[i];
    for (int i = 0; i < B * K; i++) {
        want[i] = tanh((double) x[i] + bias[i % K]);
        want_dx[i] = dy[i] * (1 - want[i] * want[i]);
        want_dbias[i % K] += want_dx[i];
    }
    run_op(fwd, (void *[]){x, bias, y}, 0);
    run_op(bwd, (void *[]){y, dy, dx, dbias}, 0);
    assert_true(worst_error(y, want, B * K) < BOUND);
    assert_true(worst_error(dx, want_dx, B * K) < BOUND);
    assert_true(worst_error(dbias, want_dbias, K) < BOUND);
    free(x), free(bias), free(y), free(dx), free(dy), free(dbias);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_of_two_is_within_a_unit_in_the_last_place),
        cmocka_unit_test(test_normal_distribution_is_within_two_units_of_one),
        cmocka_unit_test(test_layernorm_forward),
        cmocka_unit_test(test_layernorm_backward),
        cmocka_unit_test(test_linear_forward),
        cmocka_unit_test(test_linear_gradients),
        cmocka_unit_test(test_gelu_forward_and_backward),
        cmocka_unit_test(test_products_with_gelu),
        cmocka_unit_test(
            test_what_is_kept_for_the_gradient_alone_counts_nothing),
        cmocka_unit_test(test_tanh_forward_and_backward),
        cmocka_unit_test(test_pooling_takes_the_first_row),
        cmocka_unit_test(test_token_types_are_added),
        cmocka_unit_test(test_without_dropout_the_sum_is_plain),
        cmocka_unit_test(test_add_adds),
        cmocka_unit_test(test_shapes_that_do_not_fit_are_refused_with_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
