/* Products of weights that oneDNN packed: those of the formula, and the bits of
 * products of plain weights. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/bf16_blocks.h"
#include "codelets/pack.h"
#include "tests/bf16_skip.h"
#include "tests/codelets/bf16_values.h"
#include "tests/codelets/product_reference.h"
#include "tests/codelets/support.h"

enum { PACK_N = 192, PACK_K = 128, PACK_ROWS = 70 };

/* Runs call on ptr with the plain and with the packed weight.  Returns the
 * result, operand `to` with n elements that were `before`, which both runs must
 * share bit for bit; the caller frees the result. */
static uint16_t *run_both(struct mtlm_call call, void **ptr, int to, int64_t n,
                          const uint16_t *before)
{
    union mtlm_attr attr = {.pack = {.rows = PACK_ROWS}};
    uint16_t *weight = ptr[PACK_READER_WEIGHT];
    uint16_t *packed = mtlm_calloc(PACK_N * PACK_K, sizeof(*packed));
    uint16_t *plain = mtlm_calloc(n, sizeof(*plain));

    attr.pack.gradient = mtlm_pack_reads(call.kind) == MTLM_PACK_GRADIENT;
    call.value = MTLM_BF16;
    assert_true(mtlm_pack_fits(&call, &attr));
    run_op((struct mtlm_call){.kind = MTLM_OP_PACK,
                              .value = MTLM_BF16,
                              .attr = attr,
                              .shape = {call.shape[PACK_READER_WEIGHT]}},
           (void *[]){weight, packed}, 0);
    assert_memory_not_equal(packed, weight, PACK_N * PACK_K * sizeof(*packed));
    memcpy(ptr[to], before, n * sizeof(*plain));
    run_op(call, ptr, 0);
    memcpy(plain, ptr[to], n * sizeof(*plain));
    memcpy(ptr[to], before, n * sizeof(*plain));
    ptr[PACK_READER_WEIGHT] = packed;
    call.packed = true;
    run_op(call, ptr, 0);
    assert_memory_equal(plain, ptr[to], n * sizeof(*plain));
    ptr[PACK_READER_WEIGHT] = weight;
    free(packed);
    return plain;
}

static void check_packed_forward(int64_t rows)
{
    const struct mtlm_shape x_shape = MTLM_SHAPE(rows, 1, PACK_K);
    const struct mtlm_shape weight_shape = MTLM_SHAPE(PACK_N, PACK_K);
    const int64_t n = rows * PACK_N;
    mtlm_real *x, *weight, *bias;
    uint16_t *x16 = new_bf16(rows * PACK_K, 1, &x);
    uint16_t *weight16 = new_bf16(PACK_N * PACK_K, 2, &weight);
    uint16_t *bias16 = new_bf16(PACK_N, 3, &bias), *got;
    uint16_t *y = mtlm_calloc(n, sizeof(*y)), *none = mtlm_calloc(n, 2);
    uint16_t *pre = mtlm_calloc(n, sizeof(*pre));
    const struct matrix a = {x, PACK_K, 1}, b = {weight, 1, PACK_K};

    got = run_both((struct mtlm_call){.kind = MTLM_OP_LINEAR_FWD,
                                      .shape = {x_shape, weight_shape}},
                   (void *[]){x16, weight16, y}, 2, n, none);
    check_product(a, b, rows, PACK_N, PACK_K, NULL, NULL, got, true);
    free(got);
    got = run_both((struct mtlm_call){.kind = MTLM_OP_LINEAR_BIAS_FWD,
                                      .shape = {x_shape, weight_shape,
                                                MTLM_SHAPE(PACK_N)}},
                   (void *[]){x16, weight16, bias16, y}, 3, n, none);
    check_product(a, b, rows, PACK_N, PACK_K, bias, NULL, got, true);
    free(got);
    got = run_both((struct mtlm_call){.kind = MTLM_OP_LINEAR_GELU_FWD,
                                      .shape = {x_shape, weight_shape,
                                                MTLM_SHAPE(PACK_N)}},
                   (void *[]){x16, weight16, bias16, pre, y}, 3, n, none);
    check_product(a, b, rows, PACK_N, PACK_K, bias, NULL, got, true);
    free(got), free(x), free(weight), free(bias), free(pre);
    free(x16), free(weight16), free(bias16), free(y), free(none);
}

static void check_packed_gradient(int64_t rows)
{
    struct mtlm_call call = {.kind = MTLM_OP_LINEAR_DGRAD,
                             .shape = {MTLM_SHAPE(rows, 1, PACK_N),
                                       MTLM_SHAPE(PACK_N, PACK_K),
                                       MTLM_SHAPE(rows, 1, PACK_K)}};
    const int64_t n = rows * PACK_K;
    mtlm_real *dy, *weight, *before, *wide_pre;
    uint16_t *dy16 = new_bf16(rows * PACK_N, 1, &dy);
    uint16_t *weight16 = new_bf16(PACK_N * PACK_K, 2, &weight);
    uint16_t *before16 = new_bf16(n, 3, &before), *got;
    uint16_t *pre = new_bf16(n, 4, &wide_pre);
    uint16_t *dx = mtlm_calloc(n, sizeof(*dx));
    const struct matrix a = {dy, PACK_N, 1}, b = {weight, PACK_K, 1};

    got = run_both(call, (void *[]){dy16, weight16, dx}, 2, n, before16);
    check_product(a, b, rows, PACK_K, PACK_N, NULL, NULL, got, true);
    free(got);
    call.kind = MTLM_OP_LINEAR_DGRAD_ADD;
    got = run_both(call, (void *[]){dy16, weight16, dx}, 2, n, before16);
    check_product(a, b, rows, PACK_K, PACK_N, NULL, before, got, true);
    free(got);
    call.kind = MTLM_OP_GELU_LINEAR_DGRAD; /* its product: tested above */
    free(run_both(call, (void *[]){dy16, weight16, pre, dx}, 3, n, before16));
    free(dy), free(weight), free(before), free(wide_pre);
    free(dy16), free(weight16), free(before16), free(pre), free(dx);
}

/* Products of packed weights are those of the formula, and have the bits of
 * products of plain weights. */
static void test_packed_weights(void **state)
{
    (void) state;
    need_bf16_instructions();
    check_packed_forward(PACK_ROWS);
    check_packed_forward(3);
    check_packed_gradient(PACK_ROWS);
    check_packed_gradient(3);
}

/* A packed weight with padding would be larger. */
static void test_odd_weights_stay_plain(void **state)
{
    const union mtlm_attr attr = {.pack = {.rows = 4}};
    const struct mtlm_call call = {
        .kind = MTLM_OP_LINEAR_FWD,
        .value = MTLM_BF16,
        .shape = {MTLM_SHAPE(4, 1, 51), MTLM_SHAPE(33, 51)}};

    (void) state;
    need_bf16_instructions();
    assert_false(mtlm_pack_fits(&call, &attr));
}

/* Every number of a matrix [k, n] is where the header says. */
static void check_blocks(bool trans, int64_t k, int64_t n)
{
    uint16_t *b = mtlm_calloc(k * n, sizeof(*b));
    uint16_t *packed = mtlm_calloc(k * n, sizeof(*packed)), *at = packed;

    assert_true(mtlm_bf16_blocks_fit(k, n));
    for (int64_t i = 0; i < k * n; i++)
        b[i] = (uint16_t) (i * 7919);
    mtlm_bf16_blocks_pack(trans, k, n, b, packed);
    for (int64_t c = 0; c < n / 64; c++)
        for (int64_t r = 0; r < k / 32; r++)
            for (int i = 0; i < 16; i++)
                for (int j = 0; j < 64; j++)
                    for (int p = 0; p < 2; p++, at++) {
                        const int64_t row = 32 * r + 2 * i + p;
                        const int64_t col = 64 * c + j;

                        assert_int_equal(
                            *at, b[trans ? col * k + row : row * n + col]);
                    }
    free(b), free(packed);
}

static void test_blocks(void **state)
{
    (void) state;
    need_bf16_instructions();
    check_blocks(false, 96, 128);
    check_blocks(true, 96, 128);
    assert_false(mtlm_bf16_blocks_fit(48, 64));
    assert_false(mtlm_bf16_blocks_fit(32, 96));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_packed_weights),
        cmocka_unit_test(test_odd_weights_stay_plain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
