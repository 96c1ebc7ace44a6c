/* Adam's steps, against the formulas in double. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/adam.h"
#include "tests/codelets/support.h"

enum { N = 1037 };

static struct mtlm_call adam_call(bool decay)
{
    return (struct mtlm_call){
        .kind = MTLM_OP_ADAM,
        .attr.adam = {0.9, 0.95, 1e-8, decay},
        .shape = {MTLM_SHAPE(N), MTLM_SHAPE(MTLM_CONTROL_COUNT), MTLM_SHAPE(N),
                  MTLM_SHAPE(N), MTLM_SHAPE(N)}};
}

/* Step t of an element by the formulas. */
static void step_in_double(int t, double lr, double decay, double grad,
                           double *w, double *m, double *v)
{
    *m = 0.9 * *m + 0.1 * grad;
    *v = 0.95 * *v + 0.05 * grad * grad;
    *w -= lr
          * (decay * *w
             + *m / (1 - pow(0.9, t)) / (sqrt(*v / (1 - pow(0.95, t))) + 1e-8));
}

/* Five steps with and without decay against the formulas in double. */
static void check_adam(bool decay)
{
    double control[MTLM_CONTROL_COUNT] = {[MTLM_CONTROL_LR] = 1e-2,
                                          [MTLM_CONTROL_WEIGHT_DECAY] = 0.1,
                                          [MTLM_CONTROL_CLIP] = 0.5,
                                          [MTLM_CONTROL_APPLY] = 1};
    mtlm_real *w = new_normal(N, 1), *m = new_zeros(N), *v = new_zeros(N);
    double want_w[N], want_m[N] = {0}, want_v[N] = {0};

    for (int i = 0; i < N; i++)
        want_w[i] = w[i];
    for (int t = 1; t <= 5; t++) {
        mtlm_real *g = new_normal(N, 10 + t);

        control[MTLM_CONTROL_STEP] = t;
        for (int i = 0; i < N; i++)
            step_in_double(t, 1e-2, decay ? 0.1 : 0, 0.5 * g[i], &want_w[i],
                           &want_m[i], &want_v[i]);
        run_op(adam_call(decay), (void *[]){g, control, w, m, v}, 0);
        for (int i = 0; i < N; i++)
            assert_true(g[i] == 0);
        free(g);
    }
    assert_true(worst_error(w, want_w, N) < 1e-6);
    assert_true(worst_error(m, want_m, N) < 1e-6);
    assert_true(worst_error(v, want_v, N) < 1e-6);
    free(w), free(m), free(v);
}

static void test_adam_steps(void **state)
{
    (void) state;
    check_adam(false);
    check_adam(true);
}

/* Returns how far the weights' mean shrinkage is from that in double, as a
 * share of it, after steps with random gradients. */
static double error_of_decay(double lr, double weight_decay)
{
    enum { FEW = 64, STEPS = 2000 };
    const double begin = 0.023; /* as large as weights of a model */
    double control[MTLM_CONTROL_COUNT] = {[MTLM_CONTROL_LR] = lr,
                                          [MTLM_CONTROL_WEIGHT_DECAY] =
                                              weight_decay,
                                          [MTLM_CONTROL_CLIP] = 1,
                                          [MTLM_CONTROL_APPLY] = 1};
    mtlm_real *w = new_zeros(FEW), *m = new_zeros(FEW), *v = new_zeros(FEW);
    double want_w[FEW], want_m[FEW] = {0}, want_v[FEW] = {0}, error = 0;
    struct mtlm_call call = adam_call(true);

    call.shape[ADAM_G] = call.shape[ADAM_WEIGHT] = MTLM_SHAPE(FEW);
    call.shape[ADAM_M] = call.shape[ADAM_V] = MTLM_SHAPE(FEW);
    for (int i = 0; i < FEW; i++)
        want_w[i] = w[i] = (mtlm_real) begin;
    for (int t = 1; t <= STEPS; t++) {
        mtlm_real *g = new_normal(FEW, t);

        control[MTLM_CONTROL_STEP] = t;
        for (int i = 0; i < FEW; i++)
            step_in_double(t, lr, weight_decay, g[i], &want_w[i], &want_m[i],
                           &want_v[i]);
        run_op(call, (void *[]){g, control, w, m, v}, 0);
        free(g);
    }
    for (int i = 0; i < FEW; i++)
        error += (w[i] - want_w[i]) / FEW;
    free(w), free(m), free(v);
    return error / (STEPS * lr * weight_decay * begin);
}

/* Learning rate times weight decay may be as small as what fp32 numbers below 1
 * are apart, 6e-8: 1e-7 in a fine-tuning, less in a warm-up. */
static void test_small_decays_are_not_rounded(void **state)
{
    (void) state;
    assert_true(fabs(error_of_decay(1e-5, 1e-2)) < 0.05);
    assert_true(fabs(error_of_decay(1e-5, 1e-3)) < 0.05);
}

/* A gradient that the next iteration sets stays, also where nothing steps. */
static void test_adam_keeps_gradients(void **state)
{
    double control[MTLM_CONTROL_COUNT] = {[MTLM_CONTROL_STEP] = 2,
                                          [MTLM_CONTROL_LR] = 0.1,
                                          [MTLM_CONTROL_CLIP] = 0.5};
    mtlm_real *g = new_normal(N, 1), *w = new_normal(N, 2);
    mtlm_real *m = new_zeros(N), *v = new_zeros(N);
    mtlm_real *kept = new_normal(N, 1), *cleared = new_normal(N, 1);
    mtlm_real *same = new_normal(N, 2), *m2 = new_zeros(N), *v2 = new_zeros(N);
    struct mtlm_call call = adam_call(true);

    (void) state;
    call.attr.adam.keeps_g = true;
    for (int apply = 0; apply < 2; apply++) {
        control[MTLM_CONTROL_APPLY] = apply;
        run_op(call, (void *[]){g, control, w, m, v}, 0);
        assert_memory_equal(g, kept, N * sizeof(*g));
    }
    run_op(adam_call(true), (void *[]){cleared, control, same, m2, v2}, 0);
    assert_memory_equal(w, same, N * sizeof(*w));
    assert_memory_equal(m, m2, N * sizeof(*m));
    assert_memory_equal(v, v2, N * sizeof(*v));
    free(g), free(w), free(m), free(v), free(kept), free(cleared);
    free(same), free(m2), free(v2);
}

/* Stepped piece by piece, a weight is what it is when stepped at once. */
static void test_adam_steps_pieces(void **state)
{
    const double control[MTLM_CONTROL_COUNT] = {[MTLM_CONTROL_STEP] = 2,
                                                [MTLM_CONTROL_LR] = 0.1,
                                                [MTLM_CONTROL_CLIP] = 0.5,
                                                [MTLM_CONTROL_APPLY] = 1};
    mtlm_real *g = new_normal(N, 1), *w = new_normal(N, 2);
    mtlm_real *m = new_normal(N, 3), *v = new_normal(N, 4);
    mtlm_real *part[] = {new_normal(N, 1), new_normal(N, 2), new_normal(N, 3),
                         new_normal(N, 4)};
    struct mtlm_call call = adam_call(true);
    struct mtlm_error err;

    (void) state;
    for (int i = 0; i < N; i++)
        v[i] = part[3][i] = v[i] * v[i];
    run_op(call, (void *[]){g, (void *) control, w, m, v}, 0);
    for (int first = 0, n; first < N; first += n) {
        n = N - first < 7 ? N - first : 7;
        call = adam_call(true);
        call.attr.adam.first = first;
        call.shape[0] = call.shape[3] = call.shape[4] = MTLM_SHAPE(n);
        run_op(call,
               (void *[]){part[0] + first, (void *) control, part[1],
                          part[2] + first, part[3] + first},
               0);
    }
    for (int i = 0; i < N; i++) {
        assert_true(fabs(part[1][i] - w[i]) < 1e-6);
        assert_true(fabs(part[2][i] - m[i]) < 1e-6);
        assert_true(fabs(part[3][i] - v[i]) < 1e-6);
    }
    call.attr.adam.first = N;
    assert_int_equal(mtlm_call_infer(&call, &err), -1);
    assert_non_null(strstr(err.text, "adam: weight is"));
    free(g), free(w), free(m), free(v);
    for (int i = 0; i < 4; i++)
        free(part[i]);
}

static void test_adam_writes_only_zeros_when_it_must_not_step(void **state)
{
    const double control[MTLM_CONTROL_COUNT] = {
        [MTLM_CONTROL_STEP] = 4, [MTLM_CONTROL_LR] = 1};
    mtlm_real *g = new_normal(N, 1), *w = new_normal(N, 2);
    mtlm_real *m = new_normal(N, 3), *v = new_normal(N, 4);
    mtlm_real *want[] = {new_normal(N, 2), new_normal(N, 3), new_normal(N, 4)};

    (void) state;
    g[5] = NAN;
    run_op(adam_call(true), (void *[]){g, (void *) control, w, m, v}, 0);
    for (int i = 0; i < N; i++)
        assert_true(g[i] == 0);
    assert_memory_equal(w, want[0], N * sizeof(*w));
    assert_memory_equal(m, want[1], N * sizeof(*w));
    assert_memory_equal(v, want[2], N * sizeof(*w));
    free(g), free(w), free(m), free(v);
    for (int i = 0; i < 3; i++)
        free(want[i]);
}

/* adam_version: the next version is what adam makes of the newest one, which
 * stays; where control says not to apply, the next version is a copy. */
static void check_version(double apply)
{
    const double control[MTLM_CONTROL_COUNT] = {
        [MTLM_CONTROL_STEP] = 2,           [MTLM_CONTROL_LR] = 0.1,
        [MTLM_CONTROL_WEIGHT_DECAY] = 0.5, [MTLM_CONTROL_CLIP] = 0.5,
        [MTLM_CONTROL_APPLY] = apply,
    };
    mtlm_real *g[] = {new_normal(N, 1), new_normal(N, 1)};
    mtlm_real *w = new_normal(N, 2), *newest = new_normal(N, 2);
    mtlm_real *m[] = {new_zeros(N), new_zeros(N)};
    mtlm_real *v[] = {new_zeros(N), new_zeros(N)};
    mtlm_real *next = new_normal(N, 3), *want = new_normal(N, 2);
    struct mtlm_call call = adam_call(true);

    run_op(call, (void *[]){g[0], (void *) control, w, m[0], v[0]}, 0);
    call.kind = MTLM_OP_ADAM_VERSION;
    call.shape[ADAMM_WEIGHT] = MTLM_SHAPE(N);
    run_op(call, (void *[]){g[1], (void *) control, newest, m[1], v[1], next},
           0);
    assert_memory_equal(newest, want, N * sizeof(*w));
    assert_memory_equal(next, w, N * sizeof(*w));
    assert_memory_equal(m[0], m[1], N * sizeof(*w));
    assert_memory_equal(v[0], v[1], N * sizeof(*w));
    assert_memory_equal(g[0], g[1], N * sizeof(*w));
    assert_int_equal(memcmp(next, want, N * sizeof(*w)) == 0, apply == 0);
    for (int i = 0; i < 2; i++)
        free(g[i]), free(m[i]), free(v[i]);
    free(w), free(newest), free(next), free(want);
}

static void test_adam_writes_the_next_version(void **state)
{
    (void) state;
    check_version(1);
    check_version(0);
}

/* A shard of a version: the elements around stay. */
static void test_adam_writes_a_piece_of_the_next_version(void **state)
{
    enum { FIRST = 3, PIECE = N - 5 };
    const double control[MTLM_CONTROL_COUNT] = {[MTLM_CONTROL_STEP] = 1,
                                                [MTLM_CONTROL_LR] = 0.1,
                                                [MTLM_CONTROL_CLIP] = 1,
                                                [MTLM_CONTROL_APPLY] = 1};
    mtlm_real *g[] = {new_normal(N, 1), new_normal(N, 1)};
    mtlm_real *w = new_normal(N, 2), *newest = new_normal(N, 2);
    mtlm_real *next = new_normal(N, 3), *old = new_normal(N, 3);
    mtlm_real *m[] = {new_zeros(N), new_zeros(N)};
    mtlm_real *v[] = {new_zeros(N), new_zeros(N)};
    struct mtlm_call call = adam_call(true);

    (void) state;
    run_op(call, (void *[]){g[0], (void *) control, w, m[0], v[0]}, 0);
    call.kind = MTLM_OP_ADAM_VERSION;
    call.shape[ADAMM_G] = call.shape[ADAMM_M] = call.shape[ADAMM_V] =
        MTLM_SHAPE(PIECE);
    call.shape[ADAMM_MASTER] = call.shape[ADAMM_WEIGHT] = MTLM_SHAPE(N);
    call.attr.adam.first = FIRST;
    run_op(call,
           (void *[]){g[1] + FIRST, (void *) control, newest, m[1] + FIRST,
                      v[1] + FIRST, next},
           0);
    assert_memory_equal(next + FIRST, w + FIRST, PIECE * sizeof(*w));
    assert_memory_equal(next, old, FIRST * sizeof(*w));
    assert_memory_equal(next + FIRST + PIECE, old + FIRST + PIECE,
                        (N - FIRST - PIECE) * sizeof(*w));
    for (int i = 0; i < 2; i++)
        free(g[i]), free(m[i]), free(v[i]);
    free(w), free(newest), free(next), free(old);
}

/* A master whose step is left out is still the weight's value: the weight may
 * hold the version before. */
static void test_a_weight_takes_its_master_without_a_step(void **state)
{
    const double control[MTLM_CONTROL_COUNT] = {0};
    mtlm_real *g = new_normal(N, 1), *master = new_normal(N, 2);
    mtlm_real *m = new_zeros(N), *v = new_zeros(N), *weight = new_normal(N, 3);
    struct mtlm_call call = adam_call(true);

    (void) state;
    call.kind = MTLM_OP_ADAM_MASTER;
    call.shape[ADAMM_WEIGHT] = MTLM_SHAPE(N);
    run_op(call, (void *[]){g, (void *) control, master, m, v, weight}, 0);
    assert_memory_equal(weight, master, N * sizeof(*weight));
    free(g), free(master), free(m), free(v), free(weight);
}

/* As one call after the other would; the control is given once. */
static void test_a_task_makes_all_its_calls(void **state)
{
    double control[MTLM_CONTROL_COUNT] = {[MTLM_CONTROL_STEP] = 2,
                                          [MTLM_CONTROL_LR] = 0.1,
                                          [MTLM_CONTROL_WEIGHT_DECAY] = 0.5,
                                          [MTLM_CONTROL_CLIP] = 0.5,
                                          [MTLM_CONTROL_APPLY] = 1};
    struct mtlm_call call[] = {adam_call(true), adam_call(false),
                               adam_call(true)};
    void *operand[] = {new_normal(N, 1), control,          new_normal(N, 2),
                       new_zeros(N),     new_zeros(N),     new_normal(N, 3),
                       new_normal(N, 4), new_zeros(N),     new_zeros(N),
                       new_normal(N, 5), new_normal(N, 6), new_zeros(N),
                       new_zeros(N)};
    void *ptr[15];

    (void) state;
    call[0].next = &call[1];
    call[1].next = &call[2];
    assert_int_equal(mtlm_call_n_operands(call), 13);
    mtlm_call_spread(call, operand, ptr);
    run_op(call[0], ptr, 0);
    call[0].next = call[1].next = NULL;
    for (int k = 0; k < 3; k++) {
        mtlm_real *g = new_normal(N, 1 + 2 * k), *w = new_normal(N, 2 + 2 * k);
        mtlm_real *m = new_zeros(N), *v = new_zeros(N);

        run_op(call[k], (void *[]){g, control, w, m, v}, 0);
        assert_memory_equal(operand[4 * k + 2], w, N * sizeof(*w));
        assert_memory_equal(operand[4 * k + 3], m, N * sizeof(*w));
        assert_memory_equal(operand[4 * k + 4], v, N * sizeof(*w));
        free(g), free(w), free(m), free(v);
    }
    for (int i = 0; i < 13; i++)
        if (i != ADAM_CONTROL)
            free(operand[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adam_steps),
        cmocka_unit_test(test_small_decays_are_not_rounded),
        cmocka_unit_test(test_adam_keeps_gradients),
        cmocka_unit_test(test_adam_steps_pieces),
        cmocka_unit_test(test_a_task_makes_all_its_calls),
        cmocka_unit_test(test_adam_writes_only_zeros_when_it_must_not_step),
        cmocka_unit_test(test_adam_writes_the_next_version),
        cmocka_unit_test(test_adam_writes_a_piece_of_the_next_version),
        cmocka_unit_test(test_a_weight_takes_its_master_without_a_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
