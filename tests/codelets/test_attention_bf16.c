/* Attention on bf16 values against the formula in double on the same values:
 * whole and in parts, over lengths that no block divides. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/value16.h"
#include "tests/codelets/attention_parts.h"
#include "tests/codelets/attention_reference.h"
#include "tests/codelets/bf16_values.h"
#include "tests/codelets/support.h"

/* Of the greatest value; bf16 rounds by 2^-9 of a value. */
#define BOUND 0.01

/* The same problem in bf16 and in double. */
struct problem {
    struct attention_problem of;
    int64_t n, rows; /* elements of y and of lse */
    struct mtlm_call call;
    int32_t *lengths;
    mtlm_real *qkv, *dy, *lse;
    uint16_t *qkv16, *dy16, *y16, *dqkv16;
    double *y, *want_lse, *dqkv;
};

static struct problem new_problem(const struct attention_problem *of)
{
    struct problem p = {.of = *of,
                        .n = attention_elems(of),
                        .rows = of->b * of->heads * of->s,
                        .call = attention_call(of),
                        .lengths = attention_lengths(of)};

    p.call.value = MTLM_BF16;
    p.lse = new_undefined(p.rows);
    p.qkv16 = new_bf16(3 * p.n, of->s, &p.qkv);
    p.dy16 = new_bf16(p.n, of->s + 1, &p.dy);
    p.y16 = mtlm_calloc(p.n, sizeof(*p.y16));
    p.dqkv16 = mtlm_calloc(3 * p.n, sizeof(*p.dqkv16));
    p.y = mtlm_calloc(p.n, sizeof(*p.y));
    p.want_lse = mtlm_calloc(p.rows, sizeof(*p.want_lse));
    p.dqkv = mtlm_calloc(3 * p.n, sizeof(*p.dqkv));
    attention_reference(of, p.qkv, p.y, p.want_lse);
    attention_reference_backward(of, p.qkv, p.dy, p.dqkv);
    return p;
}

static void free_problem(struct problem *p)
{
    free(p->lengths), free(p->qkv), free(p->dy), free(p->lse);
    free(p->qkv16), free(p->dy16), free(p->y16), free(p->dqkv16);
    free(p->y), free(p->want_lse), free(p->dqkv);
}

/* Not a number: in results, which the kernels must overwrite, and in the
 * inputs' padding, which they must not read. */
static void undefine(struct problem *p)
{
    const int64_t width = p->of.heads * p->of.d;

    memset(p->y16, 0xff, p->n * sizeof(*p->y16));
    memset(p->dqkv16, 0xff, 3 * p->n * sizeof(*p->dqkv16));
    for (int64_t i = 0; i < p->of.s; i++)
        for (int64_t j = 0; j < p->of.b; j++)
            if (i >= p->lengths[j]) {
                const int64_t row = i * p->of.b + j;

                memset(p->qkv16 + row * 3 * width, 0xff,
                       3 * width * sizeof(*p->qkv16));
                memset(p->dy16 + row * width, 0xff, width * sizeof(*p->dy16));
            }
}

static void check_values(const uint16_t *got, const double *want, int64_t n)
{
    mtlm_real *wide = new_undefined(n);

    mtlm_value16_widen(MTLM_BF16, got, n, wide);
    assert_true(worst_error(wide, want, n) < BOUND);
    free(wide);
}

static void check_whole(struct problem *p)
{
    struct mtlm_call call =
        run_op(p->call, (void *[]){p->qkv16, p->lengths, p->y16, p->lse},
               ATTENTION_SAMPLE);

    call.kind = MTLM_OP_ATTENTION_BWD;
    call.shape[4] = call.shape[2];
    run_op(call,
           (void *[]){p->qkv16, p->lengths, p->y16, p->lse, p->dy16, p->dqkv16},
           ATTENTION_SAMPLE);
    check_values(p->y16, p->y, p->n);
    check_values(p->dqkv16, p->dqkv, 3 * p->n);
    for (int64_t i = 0; i < p->rows; i++)
        assert_true(fabs(p->lse[i] - p->want_lse[i])
                    <= 1e-5 * (1 + fabs(p->want_lse[i])));
}

/* In n parts, whose results add up. */
static void check_parts(struct problem *p, const int64_t *cut, int n)
{
    undefine(p);
    run_attention_parts(&p->call, cut, n, p->qkv16, p->lengths, p->dy16, p->y16,
                        p->dqkv16, ATTENTION_SAMPLE);
    check_values(p->y16, p->y, p->n);
    check_values(p->dqkv16, p->dqkv, 3 * p->n);
}

/* Whole, and in two and three parts of unequal size. */
static void check(struct attention_problem of)
{
    struct problem p = new_problem(&of);

    undefine(&p);
    check_whole(&p);
    if (of.s >= 6) {
        check_parts(&p, (int64_t[]){0, of.s / 3, of.s}, 2);
        check_parts(&p, (int64_t[]){0, of.s / 2, of.s - of.s / 6, of.s}, 3);
    }
    free_problem(&p);
}

static void test_causal(void **state)
{
    (void) state;
    check((struct attention_problem){.s = 1, .b = 2, .heads = 3, .d = 8});
    check((struct attention_problem){.s = 33, .b = 3, .heads = 2, .d = 7});
    check((struct attention_problem){.s = 37, .b = 1, .heads = 1, .d = 1});
    check((struct attention_problem){.s = 293, .b = 2, .heads = 2, .d = 9});
    check((struct attention_problem){.s = 601, .b = 1, .heads = 1, .d = 64});
}

static void test_all_keys_and_padding(void **state)
{
    (void) state;
    check((struct attention_problem){
        .s = 293, .b = 2, .heads = 2, .d = 9, .full = true});
    check((struct attention_problem){.s = 400,
                                     .b = 3,
                                     .heads = 1,
                                     .d = 8,
                                     .full = true,
                                     .p = 0.1,
                                     .padding = {1, 130, 399}});
}

static void test_dropout_alibi_and_coefficient(void **state)
{
    (void) state;
    check((struct attention_problem){
        .s = 301, .b = 2, .heads = 2, .d = 5, .first_head = 6, .p = 0.2});
    check((struct attention_problem){
        .s = 401, .b = 2, .heads = 2, .d = 5, .first_head = 6, .p = 0.2});
    check((struct attention_problem){.s = 389,
                                     .b = 2,
                                     .heads = 2,
                                     .d = 16,
                                     .first_head = 4,
                                     .p = 0.2,
                                     .padding = {0, 31},
                                     .coefficient = 5,
                                     .alibi_heads = 6});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_causal),
        cmocka_unit_test(test_all_keys_and_padding),
        cmocka_unit_test(test_dropout_alibi_and_coefficient),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
