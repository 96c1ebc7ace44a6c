/* Linear layers whose 16-bit operands are longer than a panel (linear_walk.h):
 * the products against sums in double, and all operations against the kernels
 * of mtlm_real on the same numbers. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codelets/bf16_product.h"
#include "codelets/value.h"
#include "tests/codelets/narrow_operand.h"
#include "tests/codelets/support.h"

/* x [M, k], y [M, n], weight [n, k]: one of n and k is LONG, longer than any
 * panel and no multiple of one. */
enum { M = 3, SHORT = 5, LONG = 3500 };

static const struct size {
    int64_t n, k;
} sizes[] = {{LONG, SHORT}, {SHORT, LONG}};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static const struct type {
    enum mtlm_dtype type;
    double precision; /* of rounding, relative */
} types[] = {{MTLM_BF16, 0x1p-8}, {MTLM_F16, 0x1p-11}};

enum { TYPES = sizeof(types) / sizeof(types[0]) };

/* Fails unless got is near want: rounded, where it is a value. */
static void check_near(const struct narrow_operand *o, const mtlm_real *got,
                       double want, int64_t i, double precision)
{
    const double bound = (o->is_value ? precision : 1e-5) * fabs(want);

    assert_true(fabs(got[i] - want) <= bound + 5e-4);
}

/* Whether the kernel rounds sums to bf16, takes GELU of them or multiplies them
 * by its slope, and rounds again. */
static bool rounds_twice(const struct mtlm_call *call)
{
    return call->value == MTLM_BF16 && mtlm_bf16_product_here()
           && (call->kind == MTLM_OP_LINEAR_GELU_FWD
               || call->kind == MTLM_OP_GELU_LINEAR_DGRAD);
}

/* Runs the call as the first one of its worker: its scratch is as large as it
 * says.  rows: of generated text, or 0. */
static void run_in_own_scratch(const struct mtlm_call *call, void *const ptr[],
                               int64_t rows)
{
    struct mtlm_scratch scratch = {0}, wide = {0};
    const struct mtlm_context context = {
        .first = true, .rows = rows, .scratch = &scratch, .wide = &wide};
    const size_t bytes = mtlm_value_kernel_bytes(call);

    mtlm_value_run_cpu(ptr, call, &context);
    assert_int_equal(mtlm_value_wide_bytes(call), 0);
    /* Kernels on bf16 widen nothing, but may pack. */
    assert_true(bytes == 0
                || (scratch.bytes >= bytes && scratch.bytes < bytes + 4096));
    assert_int_equal(wide.bytes, 0);
    mtlm_scratch_free(&scratch);
}

static void check_op(struct mtlm_call call, int64_t rows, double precision)
{
    const int operands = mtlm_ops[call.kind]->n_operands;
    struct narrow_operand o[MTLM_MAX_OPERANDS];
    void *wide[MTLM_MAX_OPERANDS], *given[MTLM_MAX_OPERANDS];
    struct mtlm_call real;
    struct mtlm_error err;

    assert_int_equal(mtlm_call_infer(&call, &err), 0);
    precision *= rounds_twice(&call) ? 2 : 1;
    real = call;
    real.value = MTLM_REAL;
    for (int i = 0; i < operands; i++) {
        o[i] = narrow_operand_new(&call, i);
        wide[i] = o[i].wide;
        given[i] = o[i].given;
    }
    run_op_at(real, wide, 0, 0, rows);
    run_in_own_scratch(&call, given, rows);
    for (int i = 0; i < operands; i++) {
        mtlm_real *got = narrow_operand_result(&o[i]);

        for (int64_t e = 0; e < o[i].n; e++)
            check_near(&o[i], got, o[i].wide[e], e, precision);
        free(got);
        narrow_operand_free(o[i]);
    }
}

/* Checks all operations with m rows; generated: of generated text. */
static void check_all(struct type type, struct size size, int64_t m,
                      bool generated)
{
    const struct mtlm_shape x = MTLM_SHAPE(m, size.k);
    const struct mtlm_shape y = MTLM_SHAPE(m, size.n);
    const struct mtlm_shape w = MTLM_SHAPE(size.n, size.k);
    const struct mtlm_shape n = MTLM_SHAPE(size.n);
    const union mtlm_attr exact = {.gelu.exact = true};
    const struct mtlm_call calls[] = {
        {.kind = MTLM_OP_LINEAR_FWD, .shape = {x, w}},
        {.kind = MTLM_OP_LINEAR_BIAS_FWD, .shape = {x, w, n}},
        {.kind = MTLM_OP_LINEAR_GELU_FWD, .shape = {x, w, n}},
        {.kind = MTLM_OP_LINEAR_GELU_FWD, .shape = {x, w, n}, .attr = exact},
        {.kind = MTLM_OP_GELU_LINEAR_FWD, .shape = {x, w, x}},
        {.kind = MTLM_OP_LINEAR_DGRAD, .shape = {y, w}},
        {.kind = MTLM_OP_LINEAR_DGRAD_ADD, .shape = {y, w, x}},
        {.kind = MTLM_OP_LINEAR_WGRAD, .shape = {x, y, w}},
        {.kind = MTLM_OP_LINEAR_WGRAD, .shape = {x, y, w}, .sets = true},
        {.kind = MTLM_OP_LINEAR_BIAS_WGRAD, .shape = {x, y, w, n}},
        {.kind = MTLM_OP_GELU_LINEAR_DGRAD, .shape = {y, w, x}},
        {.kind = MTLM_OP_GELU_LINEAR_DGRAD, .shape = {y, w, x}, .attr = exact},
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct mtlm_call call = calls[i];

        call.value = type.type;
        check_op(call, generated ? m : 0, type.precision);
    }
}

static void test_all_operations_like_those_of_real_numbers(void **state)
{
    /* A result of more columns than GELU takes at a time. */
    const struct size long_and_wide = {1100, LONG};

    (void) state;
    for (int t = 0; t < TYPES; t++) {
        for (int s = 0; s < SIZES; s++) {
            check_all(types[t], sizes[s], M, false);
            check_all(types[t], sizes[s], 1, false);
            check_all(types[t], sizes[s], 1, true);
        }
        check_all(types[t], long_and_wide, M, false);
    }
}

/* Steps: from one element to the next. */
static double sum_products(const mtlm_real *a, int64_t a_step,
                           const mtlm_real *b, int64_t b_step, int64_t inner)
{
    double sum = 0;

    for (int64_t i = 0; i < inner; i++)
        sum += (double) a[i * a_step] * b[i * b_step];
    return sum;
}

/* Checks the products against sums in double, independent of any BLAS. */
static void check_formulas(struct type type, struct size size)
{
    const int64_t n = size.n, k = size.k;
    const struct mtlm_shape w = MTLM_SHAPE(n, k);
    struct mtlm_call fwd = {.kind = MTLM_OP_LINEAR_FWD,
                            .value = type.type,
                            .shape = {MTLM_SHAPE(M, k), w, MTLM_SHAPE(M, n)}};
    struct mtlm_call dgrad = {.kind = MTLM_OP_LINEAR_DGRAD,
                              .value = type.type,
                              .shape = {MTLM_SHAPE(M, n), w, MTLM_SHAPE(M, k)}};
    struct narrow_operand x = narrow_operand_new(&fwd, 0),
                          weight = narrow_operand_new(&fwd, 1);
    struct narrow_operand y = narrow_operand_new(&fwd, 2),
                          dx = narrow_operand_new(&fwd, 0);
    mtlm_real *got;

    run_op(fwd, (void *[]){x.given, weight.given, y.given}, 0);
    got = narrow_operand_result(&y);
    for (int64_t i = 0; i < M * n; i++)
        check_near(
            &y, got,
            sum_products(x.wide + i / n * k, 1, weight.wide + i % n * k, 1, k),
            i, type.precision);
    run_op(dgrad, (void *[]){y.given, weight.given, dx.given}, 0);
    free(y.wide);
    y.wide = got;
    got = narrow_operand_result(&dx);
    for (int64_t i = 0; i < M * k; i++)
        check_near(
            &dx, got,
            sum_products(y.wide + i / k * n, 1, weight.wide + i % k, k, n), i,
            type.precision);
    free(got);
    narrow_operand_free(x), narrow_operand_free(weight), narrow_operand_free(y),
        narrow_operand_free(dx);
}

static void test_products_like_sums_in_double(void **state)
{
    (void) state;
    for (int t = 0; t < TYPES; t++)
        for (int s = 0; s < SIZES; s++)
            check_formulas(types[t], sizes[s]);
}

/* A whole weight has LONG x SHORT elements. */
static void test_scratch_holds_a_panel_not_the_weight(void **state)
{
    (void) state;
    for (int s = 0; s < SIZES; s++) {
        const struct mtlm_call call = {
            .kind = MTLM_OP_LINEAR_DGRAD,
            .value = MTLM_F16,
            .shape = {MTLM_SHAPE(M, sizes[s].n),
                      MTLM_SHAPE(sizes[s].n, sizes[s].k),
                      MTLM_SHAPE(M, sizes[s].k)}};

        assert_true(mtlm_value_kernel_bytes(&call)
                    < LONG * SHORT * sizeof(mtlm_real) / 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_operations_like_those_of_real_numbers),
        cmocka_unit_test(test_products_like_sums_in_double),
        cmocka_unit_test(test_scratch_holds_a_panel_not_the_weight),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
