/* Products of fp32 matrices by AMX: errors below a bound, and like those of the
 * default BLAS where many terms are added; at the ends of memory that cannot be
 * touched; the same bits of an element in a product of any size. */

#include "config.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/amx/amx_fp32.h"
#include "runtime/amx/amx_kernel.h"
#include "runtime/base/memory.h"
#include "runtime/base/philox.h"
#include "runtime/machine/blas.h"
#include "tests/emulator/guarded.h"

/* Elements between the rows of a matrix beyond its columns. */
enum { GAP = 3 };

struct product {
    bool trans_a, trans_b, add;
    int64_t m, n, k;
};

static void need_amx(void)
{
    if (mtlm_amx_allowed())
        return;
    print_message("# the processor has no AMX, or may not use it\n");
    skip();
}

static int64_t lda(const struct product *p)
{
    return (p->trans_a ? p->m : p->k) + GAP;
}

static int64_t ldb(const struct product *p)
{
    return (p->trans_b ? p->k : p->n) + GAP;
}

static int64_t elems_a(const struct product *p)
{
    return (p->trans_a ? p->k : p->m) * lda(p) - GAP;
}

static int64_t elems_b(const struct product *p)
{
    return (p->trans_b ? p->n : p->k) * ldb(p) - GAP;
}

static int64_t elems_c(const struct product *p)
{
    return p->m * (p->n + GAP) - GAP;
}

/* Returns n numbers of both signs, of sizes 2^-spread to 2^spread, in memory
 * that nothing follows. */
static struct guarded new_numbers(int64_t n, uint64_t seed, int spread)
{
    struct guarded new = guarded_new(n * sizeof(float), sizeof(float), false);
    float *x = new.data;

    for (int64_t i = 0; i < n; i += 4) {
        uint32_t bits[4];

        mtlm_philox(seed, 0, i, bits);
        for (int j = 0; j < 4 && i + j < n; j++)
            x[i + j] = (float) ldexp(
                bits[j] / 0x1p31 - 1,
                (int) (bits[(j + 1) % 4] % (2 * spread + 1)) - spread);
    }
    return new;
}

/* An element of a product, in double: its sum and the sum of sizes. */
struct exact {
    double sum, size;
};

static struct exact exact_element(const struct product *p, const float *a,
                                  const float *b, int64_t i, int64_t j,
                                  double before)
{
    struct exact e = {before, fabs(before)};

    for (int64_t t = 0; t < p->k; t++) {
        const double x = p->trans_a ? a[t * lda(p) + i] : a[i * lda(p) + t];
        const double y = p->trans_b ? b[j * ldb(p) + t] : b[t * ldb(p) + j];

        e.sum += x * y;
        e.size += fabs(x * y);
    }
    return e;
}

/* The matrices of a product. */
struct matrices {
    struct guarded a, b, c, plain;
    float *before;
};

static struct matrices new_matrices(const struct product *p, int spread)
{
    struct matrices m = {.a = new_numbers(elems_a(p), 1, spread),
                         .b = new_numbers(elems_b(p), 2, spread),
                         .c = new_numbers(elems_c(p), 3, 0),
                         .plain = new_numbers(elems_c(p), 3, 0),
                         .before = mtlm_calloc(elems_c(p), sizeof(*m.before))};

    memcpy(m.before, m.c.data, elems_c(p) * sizeof(float));
    return m;
}

static void free_matrices(struct matrices *m)
{
    assert_true(guarded_free(&m->a) && guarded_free(&m->b));
    assert_true(guarded_free(&m->c) && guarded_free(&m->plain));
    free(m->before);
}

/* Computes the product by AMX and by the default BLAS. */
static void compute(const struct product *p, struct matrices *m)
{
    mtlm_amx_fp32(p->trans_a, p->trans_b, p->m, p->n, p->k, m->a.data, lda(p),
                  m->b.data, ldb(p), p->add, m->c.data, p->n + GAP);
    mtlm_blas_sgemm(p->trans_a, p->trans_b, p->m, p->n, p->k, m->a.data, lda(p),
                    m->b.data, ldb(p), p->add, m->plain.data, p->n + GAP);
}

/* Checks each element and each gap.  Returns the mean square of the errors in
 * units of fp32's rounding of the sum of sizes; *plain: of the default BLAS. */
static double check(const struct product *p, const struct matrices *m,
                    double *plain)
{
    double ours = 0, theirs = 0;

    for (int64_t i = 0; i < elems_c(p); i++) {
        const int64_t row = i / (p->n + GAP), col = i % (p->n + GAP);
        const float got = ((float *) m->c.data)[i];
        struct exact e;
        double unit;

        if (col >= p->n) {
            assert_memory_equal(&got, &m->before[i], sizeof(got));
            continue;
        }
        e = exact_element(p, m->a.data, m->b.data, row, col,
                          p->add ? m->before[i] : 0);
        unit = e.size * FLT_EPSILON / 2;
        assert_true(fabs(got - e.sum) <= unit * (2 + sqrt(p->k)));
        ours += pow((got - e.sum) / unit, 2);
        theirs += pow((((float *) m->plain.data)[i] - e.sum) / unit, 2);
    }
    *plain = theirs / (p->m * p->n);
    return ours / (p->m * p->n);
}

static const int64_t sizes[][3] = {
    {1, 1, 1},      {5, 33, 70},   {37, 29, 41},   {32, 64, 96},
    {300, 47, 769}, {31, 620, 33}, {70, 90, 1600}, {3, 400, 2000}};
enum { SIZES = sizeof(sizes) / sizeof(*sizes), FORMS = 8 };

static struct product product_of(int form, const int64_t size[3])
{
    return (struct product){form & 1, form & 2, form & 4,
                            size[0],  size[1],  size[2]};
}

static void test_errors(void **state)
{
    (void) state;
    need_amx();
    for (int i = 0; i < SIZES * FORMS * 2; i++) {
        const struct product p = product_of(i % FORMS, sizes[i / FORMS / 2]);
        struct matrices m = new_matrices(&p, i / FORMS % 2 ? 12 : 0);
        double plain, ours;

        compute(&p, &m);
        ours = check(&p, &m, &plain);
        assert_true(ours <= 2);
        if (p.k >= 64 && p.m * p.n >= 1000) /* few errors compare badly */
            assert_true(ours <= 2 * plain);
        free_matrices(&m);
    }
}

/* A part of C, from some row and column on, has the bits of the whole. */
static void check_part(const struct product *p, struct matrices *m, int64_t row,
                       int64_t col)
{
    const int64_t rows = p->m - row, cols = p->n - col;
    const float *a = (float *) m->a.data + (p->trans_a ? row : row * lda(p));
    const float *b = (float *) m->b.data + (p->trans_b ? col * ldb(p) : col);
    float *part = mtlm_calloc(rows * cols, sizeof(*part));

    for (int64_t i = 0; i < rows; i++)
        memcpy(part + i * cols, m->before + (row + i) * (p->n + GAP) + col,
               cols * sizeof(*part));
    mtlm_amx_fp32(p->trans_a, p->trans_b, rows, cols, p->k, a, lda(p), b,
                  ldb(p), p->add, part, cols);
    for (int64_t i = 0; i < rows; i++)
        assert_memory_equal(part + i * cols,
                            (float *) m->c.data + (row + i) * (p->n + GAP)
                                + col,
                            cols * sizeof(*part));
    free(part);
}

/* Of the second size each factor has several parts that stay. */
static void test_parts_have_the_same_bits(void **state)
{
    static const int64_t of[][3] = {{300, 400, 900}, {601, 700, 768}};

    (void) state;
    need_amx();
    for (int i = 0; i < 2 * FORMS; i++) {
        const struct product p = product_of(i / 2, of[i % 2]);
        struct matrices m = new_matrices(&p, 4);

        compute(&p, &m);
        check_part(&p, &m, p.m - 1, 0);
        check_part(&p, &m, 0, p.n - 10);
        check_part(&p, &m, 3, 150);
        free_matrices(&m);
    }
}

/* C is so large that it passes the caches. */
static void test_large(void **state)
{
    enum { M = 2077, N = 1024, K = 40 };

    (void) state;
    need_amx();
    for (int form = 0; form < 4; form++) {
        const struct product p = {form & 1, form & 2, false, M, N, K};
        struct matrices m = new_matrices(&p, 2);
        struct mtlm_scratch scratch = {0};
        float *c = mtlm_scratch_get(&scratch, sizeof(*c) * M * N);

        mtlm_amx_fp32(p.trans_a, p.trans_b, M, N, K, m.a.data, lda(&p),
                      m.b.data, ldb(&p), false, c, N);
        for (int64_t i = 0; i < M * N; i += 13) {
            const struct exact e =
                exact_element(&p, m.a.data, m.b.data, i / N, i % N, 0);

            assert_true(fabs(c[i] - e.sum) <= 8 * e.size * FLT_EPSILON);
        }
        mtlm_scratch_free(&scratch);
        free_matrices(&m);
    }
}

/* Small numbers lose bits, as the header says, and no more. */
static void test_small(void **state)
{
    float a = ldexpf(1 + ldexpf(1, -12), -50), b = ldexpf(1, -50), c;

    (void) state;
    need_amx();
    mtlm_amx_fp32(false, false, 1, 1, 1, &a, 1, &b, 1, false, &c, 1);
    assert_true(c == a * b);
    a = ldexpf(a, -30);
    mtlm_amx_fp32(false, false, 1, 1, 1, &a, 1, &b, 1, false, &c, 1);
    assert_true(c == 0 || (c > 0 && c <= 2 * FLT_MIN));
}

/* A number that is not finite must not get lost: it ends the job. */
static void test_not_finite(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY, FLT_MAX};
    enum { N = 40 };
    float a[N * N], b[N * N], c[N * N];

    (void) state;
    need_amx();
    for (int i = 0; i < 8; i++) {
        uint32_t bits = 0x7fffffff | (uint32_t) (i & 1) << 31;

        for (int j = 0; j < N * N; j++)
            a[j] = b[j] = 1;
        a[5 * N + 7] = bad[i % 4];
        if (i >= 4)
            memcpy(&a[5 * N + 7], &bits, sizeof(bits));
        b[7 * N + 3] = 2;
        mtlm_amx_fp32(false, i & 2, N, N, N, a, N, b, N, false, c, N);
        assert_false(isfinite(c[5 * N + 3]));
        assert_true(isfinite(c[6 * N + 3]));
    }
}

static void *multiply(void *product)
{
    const float x[4] = {1, 2, 3, 4};

    mtlm_amx_fp32(false, false, 2, 2, 2, x, 2, x, 2, false, product, 2);
    return NULL;
}

/* A sanitizer finds memory that an ended thread leaves. */
static void test_thread(void **state)
{
    static const float expected[] = {7, 10, 15, 22};
    float product[4];
    pthread_t thread;

    (void) state;
    need_amx();
    assert_int_equal(pthread_create(&thread, NULL, multiply, product), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_memory_equal(product, expected, sizeof(product));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_parts_have_the_same_bits),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_thread),
    };

    return cmocka_run_group_tests_name("amx_fp32", tests, NULL, NULL);
}
