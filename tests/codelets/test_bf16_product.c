/* Linear layers in bf16 against sums in double precision of the same bf16
 * numbers; and that rows of products do not depend on anything else. */

#include "config.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/bf16_product.h"
#include "codelets/speed.h"
#include "runtime/base/value16.h"
#include "tests/bf16_skip.h"
#include "tests/codelets/bf16_values.h"
#include "tests/codelets/product_reference.h"
#include "tests/codelets/support.h"

/* Sizes of products: with and without whole blocks, with gradients of several
 * blocks, and with several parts of rows, columns and terms. */
struct sizes {
    int64_t s, b, n, k;
};
static const struct sizes sizes[] = {{1, 1, 1, 1},
                                     {5, 7, 33, 51},
                                     {16, 4, 96, 704},
                                     {25, 28, 260, 1030},
                                     {3, 11, 1100, 2100}};

static void check_forward(struct sizes z)
{
    const int64_t m = z.s * z.b;
    const struct mtlm_shape x_shape = MTLM_SHAPE(z.s, z.b, z.k);
    const struct mtlm_shape weight_shape = MTLM_SHAPE(z.n, z.k);
    mtlm_real *x, *weight, *bias;
    uint16_t *x16 = new_bf16(m * z.k, 1, &x);
    uint16_t *weight16 = new_bf16(z.n * z.k, 2, &weight);
    uint16_t *bias16 = new_bf16(z.n, 3, &bias);
    uint16_t *y = mtlm_calloc(m * z.n, sizeof(*y));
    const struct matrix a = {x, z.k, 1}, b = {weight, 1, z.k};

    run_op((struct mtlm_call){.kind = MTLM_OP_LINEAR_FWD,
                              .value = MTLM_BF16,
                              .shape = {x_shape, weight_shape}},
           (void *[]){x16, weight16, y}, 0);
    check_product(a, b, m, z.n, z.k, NULL, NULL, y, true);
    run_op(
        (struct mtlm_call){.kind = MTLM_OP_LINEAR_BIAS_FWD,
                           .value = MTLM_BF16,
                           .shape = {x_shape, weight_shape, MTLM_SHAPE(z.n)}},
        (void *[]){x16, weight16, bias16, y}, 0);
    check_product(a, b, m, z.n, z.k, bias, NULL, y, true);
    free(x), free(weight), free(bias);
    free(x16), free(weight16), free(bias16), free(y);
}

static void test_forward(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        check_forward(sizes[i]);
}

static void check_dgrad(struct sizes z)
{
    const int64_t m = z.s * z.b;
    struct mtlm_call call = {.kind = MTLM_OP_LINEAR_DGRAD,
                             .value = MTLM_BF16,
                             .shape = {MTLM_SHAPE(z.s, z.b, z.n),
                                       MTLM_SHAPE(z.n, z.k),
                                       MTLM_SHAPE(z.s, z.b, z.k)}};
    mtlm_real *dy, *weight, *before;
    uint16_t *dy16 = new_bf16(m * z.n, 1, &dy);
    uint16_t *weight16 = new_bf16(z.n * z.k, 2, &weight);
    uint16_t *dx = new_bf16(m * z.k, 3, &before);
    const struct matrix a = {dy, z.n, 1}, b = {weight, z.k, 1};

    call.kind = MTLM_OP_LINEAR_DGRAD_ADD;
    run_op(call, (void *[]){dy16, weight16, dx}, 0);
    check_product(a, b, m, z.k, z.n, NULL, before, dx, true);
    call.kind = MTLM_OP_LINEAR_DGRAD;
    run_op(call, (void *[]){dy16, weight16, dx}, 0);
    check_product(a, b, m, z.k, z.n, NULL, NULL, dx, true);
    free(dy), free(weight), free(before);
    free(dy16), free(weight16), free(dx);
}

static void check_wgrad(struct sizes z)
{
    const int64_t m = z.s * z.b;
    struct mtlm_call call = {.kind = MTLM_OP_LINEAR_BIAS_WGRAD,
                             .value = MTLM_BF16,
                             .shape = {MTLM_SHAPE(z.s, z.b, z.k),
                                       MTLM_SHAPE(z.s, z.b, z.n),
                                       MTLM_SHAPE(z.n, z.k), MTLM_SHAPE(z.n)}};
    mtlm_real *x, *dy;
    uint16_t *x16 = new_bf16(m * z.k, 1, &x);
    uint16_t *dy16 = new_bf16(m * z.n, 2, &dy);
    mtlm_real *before = new_normal(z.n * z.k, 3), *bias = new_normal(z.n, 4);
    mtlm_real *dweight = new_normal(z.n * z.k, 3), *dbias = new_normal(z.n, 4);
    mtlm_real *ones = new_zeros(m);
    const struct matrix a = {dy, 1, z.n}, b = {x, z.k, 1};

    run_op(call, (void *[]){x16, dy16, dweight, dbias}, 0);
    check_product(a, b, z.n, z.k, m, NULL, before, dweight, false);
    for (int64_t i = 0; i < m; i++)
        ones[i] = 1;
    check_product((struct matrix){ones, m, 1}, (struct matrix){dy, z.n, 1}, 1,
                  z.n, m, bias, NULL, dbias, false);
    call.sets = true;
    memset(dweight, 0xff, z.n * z.k * sizeof(*dweight)); /* NaN */
    run_op(call, (void *[]){x16, dy16, dweight, dbias}, 0);
    check_product(a, b, z.n, z.k, m, NULL, NULL, dweight, false);
    free(x), free(dy), free(before), free(bias), free(ones);
    free(x16), free(dy16), free(dweight), free(dbias);
}

static void test_gradients(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_dgrad(sizes[i]);
        check_wgrad(sizes[i]);
    }
}

/* Tanh form, and its slope. */
static double gelu(double v)
{
    return v / 2
           * (1 + tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v)));
}

static double slope(double v)
{
    return (gelu(v + 1e-5) - gelu(v - 1e-5)) / 2e-5;
}

static void check_bf16(uint16_t got, double want, double size)
{
    float x;

    mtlm_value16_widen(MTLM_BF16, &got, 1, &x);
    assert_true(fabs(x - want) <= size / 64);
}

/* The products are those of the tests above; here y and dpre follow from pre
 * and from the plain gradient. */
static void test_gelu_between_products(void **state)
{
    enum { ROWS = 35, N = 67, K = 51 };
    const struct mtlm_shape x = MTLM_SHAPE(5, 7, K), y = MTLM_SHAPE(5, 7, N);
    const struct mtlm_shape weight = MTLM_SHAPE(N, K);
    mtlm_real *unused[4], v, d;
    uint16_t *x16 = new_bf16(ROWS * K, 1, &unused[0]);
    uint16_t *weight16 = new_bf16(N * K, 2, &unused[1]);
    uint16_t *bias16 = new_bf16(N, 3, &unused[2]);
    uint16_t *dy16 = new_bf16(ROWS * N, 4, &unused[3]);
    uint16_t pre[ROWS * N], y16[ROWS * N], plain[ROWS * K], dpre[ROWS * K];

    (void) state;
    for (int i = 0; i < N * K; i++) /* sums of size 1 */
        unused[1][i] /= 8;
    mtlm_value16_round(MTLM_BF16, unused[1], N * K, weight16);
    run_op((struct mtlm_call){.kind = MTLM_OP_LINEAR_GELU_FWD,
                              .value = MTLM_BF16,
                              .shape = {x, weight, MTLM_SHAPE(N)}},
           (void *[]){x16, weight16, bias16, pre, y16}, 0);
    for (int i = 0; i < ROWS * N; i++) {
        mtlm_value16_widen(MTLM_BF16, &pre[i], 1, &v);
        check_bf16(y16[i], gelu(v), fabs(v) + 1e-3);
    }
    /* pre [.., K] of a second layer: x. */
    run_op((struct mtlm_call){.kind = MTLM_OP_LINEAR_DGRAD,
                              .value = MTLM_BF16,
                              .shape = {y, weight}},
           (void *[]){dy16, weight16, plain}, 0);
    run_op((struct mtlm_call){.kind = MTLM_OP_GELU_LINEAR_DGRAD,
                              .value = MTLM_BF16,
                              .shape = {y, weight, x}},
           (void *[]){dy16, weight16, x16, dpre}, 0);
    for (int i = 0; i < ROWS * K; i++) {
        mtlm_value16_widen(MTLM_BF16, &x16[i], 1, &v);
        mtlm_value16_widen(MTLM_BF16, &plain[i], 1, &d);
        check_bf16(dpre[i], d * slope(v), fabs(d) + 1e-3);
    }
    for (int i = 0; i < 4; i++)
        free(unused[i]);
    free(x16), free(weight16), free(bias16), free(dy16);
}

/* Ranks that multiply in fp32 are alike, whatever their processors. */
static void test_fp32_is_one_way(void **state)
{
    (void) state;
    assert_int_equal(mtlm_bf16_product_way() != 0, mtlm_bf16_product_here());
}

#if HAVE_ONEDNN

enum { M = 150, N = 100, K = 700 };

struct work {
    struct mtlm_bf16_product product;
    const uint16_t *a, *b;
    float *c;
    int64_t ld; /* of parts of matrices, for all three; 0: whole ones */
};

static void *run(void *arg)
{
    const struct work *work = arg;
    struct mtlm_scratch scratch = {0};

    if (work->ld)
        mtlm_bf16_product_of_parts(&work->product, work->a, work->ld, work->b,
                                   work->ld, work->c, work->ld);
    else
        mtlm_bf16_product(&work->product, work->a, work->b, NULL, work->c,
                          &scratch);
    mtlm_scratch_free(&scratch);
    return NULL;
}

static void run_in_a_thread(struct work *work)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run, work), 0);
    pthread_join(thread, NULL);
}

/* Rows on their own, in another thread, at odd addresses: the same bits. */
static void test_rows_keep_their_bits(void **state)
{
    mtlm_real *unused[2];
    uint16_t *a = new_bf16(M * K + 1, 1, &unused[0]);
    uint16_t *b = new_bf16(N * K + 1, 2, &unused[1]);
    float *all = new_undefined(M * N), *part = new_undefined(M * N);

    (void) state;
    need_bf16_instructions();
    for (int trans = 0; trans < 2; trans++) {
        struct work work = {
            {.trans_b = trans, .single = true, .m = M, .n = N, .k = K},
            a + 1,
            b + 1,
            all,
            0};

        run(&work);
        memmove(a, a + 1, M * K * sizeof(*a));
        memmove(b, b + 1, N * K * sizeof(*b));
        work.a = a, work.b = b, work.c = part;
        for (int m = 1; m <= M; m = m < 20 ? m + 1 : m + 65) {
            work.product.m = m;
            run_in_a_thread(&work);
            assert_memory_equal(all, part, m * N * sizeof(*all));
        }
        memmove(a + 1, a, M * K * sizeof(*a));
        memmove(b + 1, b, N * K * sizeof(*b));
    }
    free(a), free(b), free(all), free(part), free(unused[0]), free(unused[1]);
}

/* Products of parts [m, k] and [k, n] of matrices with rows of PART_LD, in two
 * threads at different addresses: the sums, the same bits, and nothing else
 * of C is written. */
enum { PART_M = 37, PART_N = 29, PART_K = 53, PART_LD = 60 };

static void check_part(bool trans_a, bool trans_b, bool add)
{
    enum { ALL = PART_LD * PART_LD };
    mtlm_real *a, *b, *before = new_normal(ALL, 3), *sums = new_normal(ALL, 3);
    uint16_t *a16 = new_bf16(ALL, 1, &a), *b16 = new_bf16(ALL, 2, &b);
    float *c = new_normal(ALL, 3), *again = new_normal(ALL + 1, 3);
    struct work work = {{.trans_a = trans_a,
                         .trans_b = trans_b,
                         .single = true,
                         .add = add,
                         .m = PART_M,
                         .n = PART_N,
                         .k = PART_K},
                        a16,
                        b16,
                        c,
                        PART_LD};

    run(&work);
    memmove(again + 1, before, ALL * sizeof(*again));
    work.c = again + 1;
    run_in_a_thread(&work);
    assert_memory_equal(again + 1, c, ALL * sizeof(*c));
    for (int64_t i = 0; i < ALL; i++)
        if (i / PART_LD >= PART_M || i % PART_LD >= PART_N)
            assert_true(c[i] == before[i]);
    for (int64_t i = 0; i < PART_M; i++)
        for (int64_t j = 0; j < PART_N; j++) {
            sums[i * PART_N + j] = c[i * PART_LD + j];
            before[i * PART_N + j] = before[i * PART_LD + j];
        }
    check_product(
        (struct matrix){a, trans_a ? 1 : PART_LD, trans_a ? PART_LD : 1},
        (struct matrix){b, trans_b ? 1 : PART_LD, trans_b ? PART_LD : 1},
        PART_M, PART_N, PART_K, NULL, add ? before : NULL, sums, false);
    free(a), free(b), free(before), free(sums), free(a16), free(b16);
    free(c), free(again);
}

static void test_parts_of_matrices(void **state)
{
    (void) state;
    need_bf16_instructions();
    for (int i = 0; i < 8; i++)
        check_part(i & 1, i & 2, i & 4);
}

/* What is added by blocks to an fp32 C has the bits of the whole product, as
 * long as oneDNN does not cut the terms. */
static void test_blocks_keep_their_bits(void **state)
{
    enum { ROWS = 300, COLS = 1100, TERMS = 70 };
    mtlm_real *unused[2];
    uint16_t *a = new_bf16(ROWS * TERMS, 1, &unused[0]);
    uint16_t *b = new_bf16(TERMS * COLS, 2, &unused[1]);
    float *whole = new_undefined(ROWS * COLS);

    (void) state;
    need_bf16_instructions();
    for (int i = 0; i < 4; i++) {
        struct work work = {{.trans_a = i & 1,
                             .trans_b = i & 2,
                             .single = true,
                             .m = ROWS,
                             .n = COLS,
                             .k = TERMS},
                            a,
                            b,
                            whole,
                            0};

        run(&work);
        work.product.add = true;
        work.c = new_zeros(ROWS * COLS);
        run(&work);
        assert_memory_equal(work.c, whole, ROWS * COLS * sizeof(*whole));
        free(work.c);
    }
    free(a), free(b), free(whole), free(unused[0]), free(unused[1]);
}

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = -2; /* . and .. */

    assert_non_null(tasks);
    while (readdir(tasks))
        n++;
    closedir(tasks);
    return n;
}

static void test_a_product_starts_no_thread(void **state)
{
    mtlm_real *unused[2];
    uint16_t *a = new_bf16(512 * K, 1, &unused[0]);
    uint16_t *b = new_bf16(K * K, 2, &unused[1]);
    struct work work = {{.single = true, .m = 512, .n = 512, .k = K},
                        a,
                        b,
                        new_undefined(512 * K),
                        0};
    const int before = count_threads();

    (void) state;
    need_bf16_instructions();
    for (int parts = 0; parts < 2; parts++) {
        work.ld = parts * K;
        run_in_a_thread(&work); /* OpenMP gives a new thread all cores */
        run(&work);
        assert_int_equal(count_threads(), before);
    }
    free(a), free(b), free(work.c), free(unused[0]), free(unused[1]);
}

/* How the two compare depends on the machine. */
static void test_speeds_are_measured(void **state)
{
    double bf16, single;

    (void) state;
    need_bf16_instructions();
    bf16 = mtlm_speed_flops(true, 256, 512);
    single = mtlm_speed_flops(false, 256, 512);
    print_message("# bf16 is %.2f times as fast as fp32\n", bf16 / single);
    assert_true(bf16 > 0);
    assert_true(single > 0);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#if HAVE_ONEDNN
        /* First: OpenMP keeps threads. */
        cmocka_unit_test(test_parts_of_matrices),
        cmocka_unit_test(test_a_product_starts_no_thread),
#endif
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_gelu_between_products),
        cmocka_unit_test(test_fp32_is_one_way),
#if HAVE_ONEDNN
        cmocka_unit_test(test_rows_keep_their_bits),
        cmocka_unit_test(test_blocks_keep_their_bits),
        cmocka_unit_test(test_speeds_are_measured),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
