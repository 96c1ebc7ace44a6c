/* GELU, alone and as a part of a product: the single-precision kernels against
 * the formulas in double. */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codelets/value.h"
#include "tests/codelets/support.h"

#define BOUND 1e-5

/* Odd on purpose: no multiple of any vector or block. */
enum { S = 35, B = 3, ROWS = S * B, K = 67, N = 45 };

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

/* Returns the derivative of the tanh form by its formula, without the
 * difference of huge numbers. */
static double tanh_slope(double v)
{
    const double scale = 2 * sqrt(2 / M_PI);
    const double g = 1 / (1 + exp(-scale * (v + 0.044715 * v * v * v)));

    return g + v * g * (1 - g) * scale * (1 + 3 * 0.044715 * v * v);
}

/* Far out the derivatives are 1 and 0, however large the cubic is. */
static void test_slopes_of_huge_numbers(void **state)
{
    static const float far[] = {20, 63, 65, 1e4, 1e6, 1e12, 1e13, 1e15, 1e18};
    enum { FAR = 2 * sizeof(far) / sizeof(far[0]) };

    (void) state;
    for (int exact = 0; exact < 2; exact++) {
        const struct mtlm_call bwd = {.kind = MTLM_OP_BIAS_GELU_BWD,
                                      .attr.gelu.exact = exact,
                                      .shape = {MTLM_SHAPE(1, 1, FAR),
                                                MTLM_SHAPE(FAR),
                                                MTLM_SHAPE(1, 1, FAR),
                                                {0},
                                                MTLM_SHAPE(FAR)}};
        mtlm_real *x = new_zeros(FAR), *bias = new_zeros(FAR);
        mtlm_real *dy = new_zeros(FAR), *dx = new_undefined(FAR);
        mtlm_real *dbias = new_zeros(FAR);
        double want[FAR];

        for (int i = 0; i < FAR; i++) {
            x[i] = i % 2 ? -far[i / 2] : far[i / 2];
            dy[i] = 1;
            want[i] = exact ? x[i] > 0 : tanh_slope(x[i]);
        }
        run_op(bwd, (void *[]){x, bias, dy, dx, dbias}, 0);
        assert_true(worst_error(dx, want, FAR) < BOUND);
        assert_true(worst_error(dbias, want, FAR) < BOUND);
        free(x), free(bias), free(dy), free(dx), free(dbias);
    }
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
        .value = MTLM_F16,
        .shape = {MTLM_SHAPE(S, B, K), MTLM_SHAPE(N, K), MTLM_SHAPE(S, B, N)}};
    struct mtlm_call behind = {.kind = MTLM_OP_GELU_LINEAR_FWD,
                               .value = MTLM_F16,
                               .shape = {plain.shape[0], plain.shape[1],
                                         plain.shape[0], plain.shape[2]}};

    (void) state;
    assert_true(mtlm_call_bytes(&behind) == mtlm_call_bytes(&plain));
    assert_int_equal(mtlm_value_kernel_bytes(&behind),
                     mtlm_value_kernel_bytes(&plain));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gelu_forward_and_backward),
        cmocka_unit_test(test_slopes_of_huge_numbers),
        cmocka_unit_test(test_products_with_gelu),
        cmocka_unit_test(
            test_what_is_kept_for_the_gradient_alone_counts_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
