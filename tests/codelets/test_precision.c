/* Mixed precision: kernels on 16-bit operands, fp32 masters, the loss scale. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/control_slots.h"
#include "codelets/value.h"
#include "runtime/base/value16.h"
#include "tests/codelets/support.h"

static uint16_t *narrow(enum mtlm_dtype type, const mtlm_real *x, int64_t n)
{
    uint16_t *y = mtlm_calloc(n, sizeof(*y));

    mtlm_value16_round(type, x, n, y);
    return y;
}

/* layernorm_bwd_add: x, gamma, dy and dx are values, the rest is not.  Its
 * results are those on the same numbers in fp32, where values rounded. */
static void check_wrapped(enum mtlm_dtype type)
{
    enum { ROWS = 70, H = 19, OPERANDS = 8, DX = 5 };
    const bool value[OPERANDS] = {true, true, false, false, true, true};
    const struct mtlm_shape x = MTLM_SHAPE(ROWS, H), h = MTLM_SHAPE(H);
    const struct mtlm_shape rows = MTLM_SHAPE(ROWS);
    struct mtlm_call call = {.kind = MTLM_OP_LAYERNORM_BWD_ADD,
                             .shape = {x, h, rows, rows, x, x, h, h}};
    void *wide[OPERANDS], *mixed[OPERANDS];
    uint16_t *given[OPERANDS] = {0};

    for (int i = 0; i < OPERANDS; i++) {
        const int64_t n = mtlm_shape_elems(&call.shape[i]);

        wide[i] = new_normal(n, 7 + i);
        mixed[i] = new_normal(n, 7 + i);
        if (!value[i])
            continue;
        free(mixed[i]);
        mixed[i] = narrow(type, wide[i], n);
        given[i] = narrow(type, wide[i], n);
        mtlm_value16_widen(type, mixed[i], n, wide[i]);
    }
    run_op(call, wide, 0);
    call.value = type;
    run_op(call, mixed, 0);
    for (int i = 0; i < OPERANDS; i++) {
        const int64_t n = mtlm_shape_elems(&call.shape[i]);

        if (i == DX) {
            free(given[i]);
            given[i] = narrow(type, wide[i], n);
        }
        if (value[i])
            assert_memory_equal(mixed[i], given[i], n * sizeof(uint16_t));
        else
            assert_memory_equal(mixed[i], wide[i], n * sizeof(mtlm_real));
        free(wide[i]), free(mixed[i]), free(given[i]);
    }
}

static void test_kernels_take_16_bit_operands(void **state)
{
    (void) state;
    check_wrapped(MTLM_BF16);
    check_wrapped(MTLM_F16);
}

/* Many elements: more than a kernel converts at a time. */
enum { MANY = 2500 };

/* fill and adam_master: values are those in fp32, rounded. */
static void check_blocks(enum mtlm_dtype type)
{
    const struct mtlm_shape many = MTLM_SHAPE(MANY);
    struct mtlm_call fill = {
        .kind = MTLM_OP_FILL,
        .attr.fill = {.seed = 3, .std = 1, .full_cols = MANY, .first = 3},
        .shape = {MTLM_SHAPE(MANY)}};
    struct mtlm_call adam = {
        .kind = MTLM_OP_ADAM_MASTER,
        .attr.adam = {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8},
        .shape = {many, MTLM_SHAPE(MTLM_CONTROL_COUNT), many, many, many,
                  many}};
    double control[MTLM_CONTROL_COUNT] = {[MTLM_CONTROL_STEP] = 1,
                                          [MTLM_CONTROL_LR] = 1e-2,
                                          [MTLM_CONTROL_CLIP] = 1,
                                          [MTLM_CONTROL_APPLY] = 1};
    mtlm_real *g = new_normal(MANY, 1), *g_too = new_normal(MANY, 1);
    mtlm_real *master = new_undefined(MANY), *master_too = new_undefined(MANY);
    mtlm_real *m = new_zeros(MANY), *v = new_zeros(MANY);
    mtlm_real *m_too = new_zeros(MANY), *v_too = new_zeros(MANY);
    mtlm_real *want = new_undefined(MANY);
    uint16_t *got = mtlm_calloc(MANY, sizeof(*got)), *rounded;

    run_op(fill, (void *[]){master}, 0);
    memcpy(master_too, master, MANY * sizeof(*master));
    rounded = narrow(type, master, MANY);
    fill.value = type;
    run_op(fill, (void *[]){got}, 0);
    assert_memory_equal(got, rounded, MANY * sizeof(*got));
    free(rounded);

    run_op(adam, (void *[]){g, control, master, m, v, want}, 0);
    rounded = narrow(type, want, MANY);
    adam.value = type;
    run_op(adam, (void *[]){g_too, control, master_too, m_too, v_too, got}, 0);
    assert_memory_equal(got, rounded, MANY * sizeof(*got));
    assert_memory_equal(master_too, want, MANY * sizeof(*want));
    assert_memory_equal(v_too, v, MANY * sizeof(*v));
    free(g), free(g_too), free(master), free(master_too), free(want);
    free(m), free(v), free(m_too), free(v_too), free(got), free(rounded);
}

static void test_blocks_of_values_are_rounded(void **state)
{
    (void) state;
    check_blocks(MTLM_BF16);
    check_blocks(MTLM_F16);
}

/* What is as long as the vocabulary is never widened as a whole. */
static void test_logits_and_tables_are_not_widened(void **state)
{
    const struct mtlm_shape rows = MTLM_SHAPE(8, 2);
    const struct mtlm_shape logits = MTLM_SHAPE(8, 2, 5000);
    const struct mtlm_call calls[] = {
        {.kind = MTLM_OP_EMBEDDING_FWD,
         .shape = {rows, MTLM_SHAPE(5000, 4), MTLM_SHAPE(8, 2, 4)}},
        {.kind = MTLM_OP_XENT_STATS,
         .shape = {logits, rows, rows, rows, MTLM_SHAPE(2, 8, 2)}},
        {.kind = MTLM_OP_XENT_LOSS, .shape = {logits}},
        {.kind = MTLM_OP_XENT_BWD,
         .shape = {rows, rows, MTLM_SHAPE(2, 8, 2), rows,
                   MTLM_SHAPE(MTLM_CONTROL_COUNT), logits}},
        {.kind = MTLM_OP_FILL, .shape = {MTLM_SHAPE(5000, 4)}},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct mtlm_call call = calls[i];

        call.value = MTLM_BF16;
        assert_int_equal(mtlm_value_wide_bytes(&call), 0);
    }
}

/* 300 steps of 1e-5 (within 2e-3) from 1: no single one changes a weight of 16
 * bit, whose neighbours are 2^-8 and 2^-11 away.  The piece is elements 3 .. 7
 * of 10. */
static void check_master(enum mtlm_dtype type)
{
    enum { N = 5, WHOLE = 10, FIRST = 3, STEPS = 300 };
    const struct mtlm_shape piece = MTLM_SHAPE(N);
    const struct mtlm_call call = {
        .kind = MTLM_OP_ADAM_MASTER,
        .value = type,
        .attr.adam = {.beta1 = 0.9,
                      .beta2 = 0.95,
                      .epsilon = 1e-8,
                      .first = FIRST},
        .shape = {piece, MTLM_SHAPE(MTLM_CONTROL_COUNT), piece, piece, piece,
                  MTLM_SHAPE(WHOLE)}};
    double control[MTLM_CONTROL_COUNT] = {[MTLM_CONTROL_LR] = 1e-5,
                                          [MTLM_CONTROL_CLIP] = 1,
                                          [MTLM_CONTROL_APPLY] = 1};
    mtlm_real g[N], master[N], m[N] = {0}, v[N] = {0}, one = 1;
    uint16_t weight[WHOLE], start, want_weight;

    mtlm_value16_round(type, &one, 1, &start);
    for (int i = 0; i < WHOLE; i++)
        weight[i] = start;
    for (int i = 0; i < N; i++)
        master[i] = 1;
    for (int t = 1; t <= STEPS; t++) {
        control[MTLM_CONTROL_STEP] = t;
        for (int i = 0; i < N; i++)
            g[i] = 2; /* the same each time: every step is 1e-5 */
        run_op(call, (void *[]){g, control, master, m, v, weight}, 0);
        if (t == 1)
            assert_int_equal(weight[FIRST], start);
    }
    for (int i = 0; i < WHOLE; i++) {
        const bool stepped = i >= FIRST && i < FIRST + N;
        const float want = stepped ? 1 - STEPS * 1e-5f : 1;
        uint16_t to;

        mtlm_value16_round(type, &want, 1, &to);
        assert_int_equal(weight[i], to);
        assert_true((weight[i] != start) == stepped);
        if (stepped) {
            assert_true(fabs(master[i - FIRST] - want) < 2e-3 * STEPS * 1e-5);
            assert_true(g[i - FIRST] == 0);
        }
    }
    control[MTLM_CONTROL_APPLY] = 0;
    g[0] = INFINITY;
    weight[0] = weight[FIRST] = 0x1234;
    run_op(call, (void *[]){g, control, master, m, v, weight}, 0);
    assert_true(g[0] == 0 && isfinite(master[0]) && isfinite(m[0]));
    assert_int_equal(weight[0], 0x1234);
    mtlm_value16_round(type, master, 1, &want_weight);
    assert_int_equal(weight[FIRST], want_weight);
}

static void test_masters_add_up_steps_that_weights_do_not_show(void **state)
{
    (void) state;
    check_master(MTLM_BF16);
    check_master(MTLM_F16);
}

/* ---- loss scale ---- */

enum { SUMS = 1 };

struct scaler {
    struct mtlm_call call;
    double control[MTLM_CONTROL_COUNT];
};

static struct scaler scaler(struct mtlm_loss_scale scale, bool nan_is_final)
{
    struct scaler s = {
        .call = {.kind = MTLM_OP_CONTROL,
                 .attr.control = {.lr_schedule = {.style = MTLM_LR_LINEAR,
                                                  .lr = 1,
                                                  .warmup_samples = 1600,
                                                  .decay_samples = 3200},
                                  .clip = 1,
                                  .n_sums = SUMS,
                                  .nan_is_final = nan_is_final,
                                  .scale = scale},
                 .shape = {MTLM_SHAPE(SUMS + MTLM_STATUS_EXTRA),
                           MTLM_SHAPE(MTLM_CONTROL_COUNT)}}};
    struct mtlm_call init = {.kind = MTLM_OP_CONTROL_INIT,
                             .attr = s.call.attr,
                             .shape = {MTLM_SHAPE(MTLM_CONTROL_COUNT)}};

    run_op(init, (void *[]){s.control}, 0);
    return s;
}

/* An iteration whose scaled gradients have that norm. */
static void iterate(struct scaler *s, double norm, double loss)
{
    const double status[SUMS + MTLM_STATUS_EXTRA] = {
        norm * norm, [SUMS + MTLM_STATUS_LOSS] = loss};
    double report[MTLM_CONTROL_COUNT];

    run_op(s->call, (void *[]){(void *) status, s->control, report}, 0);
}

static double scale_of(const struct scaler *s)
{
    return s->control[MTLM_CONTROL_LOSS_SCALE];
}

/* Hysteresis 2: one overflow is forgiven, then each one halves; the window of
 * 3 doubles and forgives again. */
static void test_the_scale_follows_overflows(void **state)
{
    struct scaler s = scaler(
        (struct mtlm_loss_scale){1024, 128, 3, 2, .dynamic = true}, true);
    static const struct {
        bool overflow;
        double scale;
    } course[] = {{false, 1024}, {true, 1024}, {true, 512},  {false, 512},
                  {true, 256},   {false, 256}, {false, 256}, {false, 512},
                  {true, 512},   {false, 512}, {true, 256},  {true, 128}};
    const int n = sizeof(course) / sizeof(*course);
    int overflows = 0;

    (void) state;
    for (int i = 0; i < n; i++) {
        const double before = s.control[MTLM_CONTROL_CLOCK];

        iterate(&s, course[i].overflow ? INFINITY : 1, 2);
        overflows += course[i].overflow;
        if (scale_of(&s) != course[i].scale)
            fail_msg("iteration %d: scale %g", i, scale_of(&s));
        assert_true(s.control[MTLM_CONTROL_APPLY] == !course[i].overflow);
        assert_true(s.control[MTLM_CONTROL_CLOCK] - before
                    == (course[i].overflow ? 0 : RUN_BATCH));
        assert_true(s.control[MTLM_CONTROL_SKIPPED] == overflows);
        assert_true(s.control[MTLM_CONTROL_STEP] == i + 1 - overflows);
        assert_true(s.control[MTLM_CONTROL_NAN] == 0);
    }
    assert_true(s.control[MTLM_CONTROL_ITERATION] == n);
    assert_true(s.control[MTLM_CONTROL_LR] == s.control[MTLM_CONTROL_NEXT_LR]);
    /* At the smallest scale that is no overflow any more. */
    iterate(&s, NAN, 2);
    assert_true(scale_of(&s) == 128 && s.control[MTLM_CONTROL_NAN] == 1);
    iterate(&s, 1, 2);
    assert_true(s.control[MTLM_CONTROL_APPLY] == 0);
}

static void test_norm_and_clipping_are_of_unscaled_gradients(void **state)
{
    struct scaler s = scaler((struct mtlm_loss_scale){.initial = 1024}, true);

    (void) state;
    iterate(&s, 4 * 1024, 2);
    assert_true(s.control[MTLM_CONTROL_NORM] == 4);
    assert_true(s.control[MTLM_CONTROL_CLIP] == 1 / (4 + 1e-6) / 1024);
    iterate(&s, 0.5 * 1024, 2);
    assert_true(s.control[MTLM_CONTROL_CLIP] == 1. / 1024);
    /* A constant scale skips, and stays. */
    iterate(&s, INFINITY, 2);
    assert_true(s.control[MTLM_CONTROL_APPLY] == 0 && scale_of(&s) == 1024);
    assert_true(s.control[MTLM_CONTROL_NAN] == 0);
    iterate(&s, 1, 2);
    assert_true(s.control[MTLM_CONTROL_APPLY] == 1);
}

/* Activations of fp16 overflow, too: Megatron-LM switches the check for NaN off
 * (core's arguments.py).  Here the smallest scale ends the patience. */
static void test_a_loss_that_is_not_finite_is_an_overflow(void **state)
{
    struct scaler s = scaler(
        (struct mtlm_loss_scale){1024, 256, 3, 1, .dynamic = true}, true);

    (void) state;
    for (int halved = 512; halved >= 256; halved /= 2) {
        iterate(&s, NAN, NAN);
        assert_true(s.control[MTLM_CONTROL_NAN] == 0);
        assert_true(s.control[MTLM_CONTROL_APPLY] == 0);
        assert_true(scale_of(&s) == halved);
    }
    iterate(&s, NAN, NAN);
    assert_true(s.control[MTLM_CONTROL_NAN] == 1);
    s = scaler((struct mtlm_loss_scale){.initial = 1024}, true);
    iterate(&s, NAN, NAN);
    assert_true(s.control[MTLM_CONTROL_NAN] == 1 && scale_of(&s) == 1024);
}

/* A job that goes on with a shorter window has had its share already. */
static void test_a_shorter_window_lets_the_scale_grow(void **state)
{
    struct scaler s =
        scaler((struct mtlm_loss_scale){1024, 1, 3, 1, .dynamic = true}, true);

    (void) state;
    s.control[MTLM_CONTROL_GROWTH] = 7;
    iterate(&s, 1, 2);
    assert_true(scale_of(&s) == 2048 && s.control[MTLM_CONTROL_GROWTH] == 0);
}

static void test_without_a_scale_all_is_multiplied_with_1(void **state)
{
    struct scaler s = scaler((struct mtlm_loss_scale){0}, true);

    (void) state;
    iterate(&s, 0.5, 2);
    assert_true(scale_of(&s) == 1 && s.control[MTLM_CONTROL_CLIP] == 1);
    iterate(&s, INFINITY, 2);
    assert_true(scale_of(&s) == 1 && s.control[MTLM_CONTROL_NAN] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_take_16_bit_operands),
        cmocka_unit_test(test_blocks_of_values_are_rounded),
        cmocka_unit_test(test_logits_and_tables_are_not_widened),
        cmocka_unit_test(test_masters_add_up_steps_that_weights_do_not_show),
        cmocka_unit_test(test_the_scale_follows_overflows),
        cmocka_unit_test(test_norm_and_clipping_are_of_unscaled_gradients),
        cmocka_unit_test(test_a_loss_that_is_not_finite_is_an_overflow),
        cmocka_unit_test(test_a_shorter_window_lets_the_scale_grow),
        cmocka_unit_test(test_without_a_scale_all_is_multiplied_with_1),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
