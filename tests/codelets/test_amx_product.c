/* Products by AMX: within fp32's rounding of sums in double, at the ends of
 * memory that cannot be touched, and rows have the same bits. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/amx/amx_product.h"
#include "codelets/bf16_product.h"
#include "runtime/base/memory.h"
#include "tests/codelets/bf16_values.h"
#include "tests/codelets/product_reference.h"
#include "tests/emulator/guarded.h"

/* Elements between the rows of a matrix beyond its columns. */
enum { GAP = 3 };

static void need_amx(void)
{
    if (mtlm_bf16_product_by_amx())
        return;
    print_message("# the processor has no AMX, or may not use it\n");
    skip();
}

/* A matrix [rows, cols] of bf16 numbers whose last one is the last of its
 * memory, and the same numbers as floats. */
struct matrix16 {
    struct guarded memory;
    mtlm_real *wide;
    int64_t ld;
};

static struct matrix16 matrix_new(int64_t rows, int64_t cols, uint64_t seed)
{
    const int64_t ld = cols + GAP, n = rows * ld - GAP;
    struct matrix16 new = {.ld = ld};
    uint16_t *values = new_bf16(n, seed, &new.wide);

    new.memory = guarded_new(n * sizeof(*values), sizeof(*values), false);
    memcpy(new.memory.data, values, n * sizeof(*values));
    free(values);
    return new;
}

static void matrix_free(struct matrix16 *matrix)
{
    assert_true(guarded_free(&matrix->memory));
    free(matrix->wide);
}

/* Returns C's rows without gaps, as they are stored.  Checks that the gaps have
 * what `before` has there. */
static void *without_gaps(const char *c, const char *before, int64_t m,
                          int64_t n, size_t size)
{
    char *rows = mtlm_calloc(m * n, size);

    for (int64_t i = 0; i < m; i++) {
        const size_t at = i * (n + GAP) * size;

        memcpy(rows + i * n * size, c + at, n * size);
        if (i < m - 1)
            assert_memory_equal(c + at + n * size, before + at + n * size,
                                GAP * size);
    }
    return rows;
}

/* The flags of struct mtlm_amx_product, and whether parts are on the stack. */
struct form {
    bool trans_a, trans_b, packed, single, add, stack;
};

/* Packs B, which has gaps. */
static void pack(const struct matrix16 *b, bool trans, int64_t k, int64_t n,
                 uint16_t *packed)
{
    const int64_t rows = trans ? n : k, cols = trans ? k : n;
    uint16_t *plain = mtlm_calloc(k * n, sizeof(*plain));

    for (int64_t i = 0; i < rows; i++)
        memcpy(plain + i * cols, (uint16_t *) b->memory.data + i * b->ld,
               cols * sizeof(*plain));
    assert_true(mtlm_amx_product_packs(k, n));
    mtlm_amx_product_pack(trans, k, n, plain, packed);
    free(plain);
}

/* Returns the rows of the matrix as floats, without gaps. */
static mtlm_real *wide_rows(const struct matrix16 *c, int64_t m, int64_t n)
{
    mtlm_real *rows = mtlm_calloc(m * n, sizeof(*rows));

    for (int64_t i = 0; i < m; i++)
        memcpy(rows + i * n, c->wide + i * c->ld, n * sizeof(*rows));
    return rows;
}

/* Computes the product in memory that nothing follows.  Returns C. */
static void *compute(struct mtlm_amx_product product, struct form form,
                     const void *before)
{
    const size_t size = form.single ? 4 : 2;
    const size_t bytes = (product.m * product.ldc - GAP) * size;
    struct guarded out = guarded_new(bytes, size, false);
    struct mtlm_scratch scratch = {0};
    char *was = mtlm_calloc(bytes, 1);
    void *got;

    if (form.add)
        memcpy(out.data, before, bytes);
    memcpy(was, out.data, bytes);
    product.c = out.data;
    mtlm_amx_product(&product, form.stack ? NULL : &scratch);
    got = without_gaps(out.data, was, product.m, product.n, size);
    mtlm_scratch_free(&scratch);
    assert_true(guarded_free(&out));
    free(was);
    return got;
}

static struct matrix reference_of(const struct matrix16 *matrix, bool trans)
{
    return (struct matrix){matrix->wide, trans ? 1 : matrix->ld,
                           trans ? matrix->ld : 1};
}

static void check(int64_t m, int64_t n, int64_t k, struct form form)
{
    const bool ta = form.trans_a, tb = form.trans_b;
    struct matrix16 a = ta ? matrix_new(k, m, 1) : matrix_new(m, k, 1);
    struct matrix16 b = tb ? matrix_new(n, k, 2) : matrix_new(k, n, 2);
    struct matrix16 bias = matrix_new(1, n, 3), c = matrix_new(m, n, 4);
    struct guarded packed = guarded_new(k * n * 2, 2, false);
    mtlm_real *before = wide_rows(&c, m, n);
    const struct mtlm_amx_product product = {
        .trans_a = ta,
        .trans_b = tb,
        .packed = form.packed,
        .single = form.single,
        .add = form.add,
        .m = m,
        .n = n,
        .k = k,
        .a = a.memory.data,
        .b = form.packed ? packed.data : b.memory.data,
        .bias = form.single ? NULL : bias.memory.data,
        .lda = a.ld,
        .ldb = b.ld,
        .ldc = c.ld};
    void *got;

    if (form.packed)
        pack(&b, tb, k, n, packed.data);
    got = compute(product, form, form.single ? (void *) c.wide : c.memory.data);
    check_product(reference_of(&a, ta), reference_of(&b, tb), m, n, k,
                  form.single ? NULL : bias.wide, form.add ? before : NULL, got,
                  !form.single);
    assert_true(guarded_free(&packed));
    matrix_free(&a), matrix_free(&b), matrix_free(&bias), matrix_free(&c);
    free(before), free(got);
}

/* Edges of tiles, and several parts of rows, columns and terms. */
static const struct sizes {
    int64_t m, n, k;
} sizes[] = {{1, 1, 1},      {17, 33, 31},    {32, 64, 96},
             {35, 65, 1030}, {513, 33, 70},   {513, 31, 1056},
             {3, 1088, 64},  {2, 1088, 2080}, {70, 300, 1030}};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void test_rounded(void **state)
{
    (void) state;
    need_amx();
    for (int i = 0; i < SIZES; i++)
        for (int form = 0; form < 8; form++)
            check(sizes[i].m, sizes[i].n, sizes[i].k,
                  (struct form){.trans_a = form & 1,
                                .trans_b = form & 2,
                                .add = form & 4});
}

static void test_packed(void **state)
{
    (void) state;
    need_amx();
    assert_false(mtlm_amx_product_packs(48, 64));
    assert_false(mtlm_amx_product_packs(64, 48));
    for (int form = 0; form < 4; form++) {
        const struct form packed = {
            .trans_b = form & 1, .add = form & 2, .packed = true};

        check(35, 64, 96, packed);
        check(514, 32, 2080, packed);
        check(3, 1088, 2080, packed);
    }
}

static void test_single(void **state)
{
    (void) state;
    need_amx();
    for (int i = 0; i < SIZES; i++)
        for (int form = 0; form < 16; form++)
            check(sizes[i].m, sizes[i].n, sizes[i].k,
                  (struct form){.single = true,
                                .trans_a = form & 1,
                                .trans_b = form & 2,
                                .add = form & 4,
                                .stack = form & 8});
}

/* Rows on their own, at odd addresses, with plain and packed B: the same
 * bits. */
static void check_bits(bool single, bool packed)
{
    enum { M = 530, N = 1056, K = 1120 };
    const size_t row = N * (single ? 4 : 2);
    mtlm_real *unused[3];
    uint16_t *a = new_bf16(M * K + 1, 1, &unused[0]);
    uint16_t *b = new_bf16(N * K, 2, &unused[1]);
    uint16_t *bias = new_bf16(N, 3, &unused[2]);
    uint16_t *other = mtlm_calloc(N * K, sizeof(*other));
    char *all = mtlm_calloc(M, row), *part = mtlm_calloc(M, row);
    struct mtlm_scratch scratch = {0};
    struct mtlm_amx_product product = {.single = single,
                                       .m = M,
                                       .n = N,
                                       .k = K,
                                       .a = a,
                                       .b = b,
                                       .bias = single ? NULL : bias,
                                       .c = all,
                                       .lda = K,
                                       .ldb = N,
                                       .ldc = N};

    mtlm_amx_product(&product, &scratch);
    memmove(a + 1, a, M * K * sizeof(*a));
    mtlm_amx_product_pack(false, K, N, b, other);
    product.a = a + 1;
    product.b = packed ? other : b;
    product.packed = packed;
    product.c = part;
    for (int64_t m = 1; m <= M; m = m < 34 ? m + 1 : m + 124) {
        product.m = m;
        mtlm_amx_product(&product, &scratch);
        assert_memory_equal(all, part, m * row);
    }
    mtlm_scratch_free(&scratch);
    free(a), free(b), free(bias), free(other), free(all), free(part);
    for (int i = 0; i < 3; i++)
        free(unused[i]);
}

static void test_rows_keep_their_bits(void **state)
{
    (void) state;
    need_amx();
    check_bits(true, false);
    check_bits(false, false);
    check_bits(false, true);
}

enum { SUM_M = 70, SUM_N = 96, MOST = 10 };

/* Sums of products: of each k [count] one.  `apart` floats between a cache line
 * and C.  Computes them at once, and one after the other. */
static void check_sum(const int64_t k[], int count, bool add, int apart)
{
    const size_t bytes = SUM_M * SUM_N * sizeof(float);
    struct mtlm_amx_product product[MOST];
    mtlm_real *unused[2 * MOST];
    struct mtlm_scratch scratch = {0};
    char *memory[2] = {aligned_alloc(64, bytes + 64),
                       aligned_alloc(64, bytes + 64)};
    float *c[2] = {(float *) memory[0] + apart, (float *) memory[1] + 1};

    for (int i = 0; i < count; i++)
        product[i] = (struct mtlm_amx_product){
            .trans_a = true,
            .single = true,
            .add = add,
            .m = SUM_M,
            .n = SUM_N,
            .k = k[i],
            .a = new_bf16(k[i] * SUM_M, 2 * i, &unused[2 * i]),
            .b = new_bf16(k[i] * SUM_N, 2 * i + 1, &unused[2 * i + 1]),
            .lda = SUM_M,
            .ldb = SUM_N,
            .ldc = SUM_N};
    for (int i = 0; i < SUM_M * SUM_N; i++)
        c[0][i] = c[1][i] = add ? 0.25f + i : NAN;
    for (int i = 0; i < count; i++) {
        product[i].c = c[1];
        product[i].add = add || i > 0;
        mtlm_amx_product(&product[i], &scratch);
    }
    for (int i = 0; i + 1 < count; i++)
        product[i].next = &product[i + 1];
    product[0].c = c[0];
    mtlm_amx_product(product, &scratch);
    assert_memory_equal(c[0], c[1], bytes);
    for (int i = 0; i < count; i++) {
        free((void *) product[i].a), free((void *) product[i].b);
        free(unused[2 * i]), free(unused[2 * i + 1]);
    }
    mtlm_scratch_free(&scratch);
    free(memory[0]), free(memory[1]);
}

/* However C lies, a sum has the bits of one product after the other. */
static void test_sums_keep_their_bits(void **state)
{
    static const int64_t one[] = {33}, two[] = {128, 128},
                         long_ones[] = {512, 512, 40, 1030, 7, 2100},
                         many[MOST] = {33, 1, 64, 31, 32, 5, 7, 96, 33, 34};

    (void) state;
    need_amx();
    for (int form = 0; form < 4; form++) {
        const bool add = form & 1;
        const int apart = form & 2 ? 3 : 0;

        check_sum(one, 1, add, apart);
        check_sum(two, 2, add, apart);
        check_sum(long_ones, 6, add, apart);
        check_sum(many, MOST, add, apart);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounded),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_rows_keep_their_bits),
        cmocka_unit_test(test_sums_keep_their_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
