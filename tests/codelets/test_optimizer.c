/* The end of an iteration: norm, status, control. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/control_slots.h"
#include "tests/codelets/support.h"

enum { N = 1037, SUMS = 3 };

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-14 * fabs(want)))
        fail_msg("%.17g is not %.17g", got, want);
}

static void test_square_sum_goes_to_its_slot_alone(void **state)
{
    const struct mtlm_call call = {.kind = MTLM_OP_SQUARE_SUM,
                                   .attr.status.slot = 1,
                                   .shape = {MTLM_SHAPE(N), MTLM_SHAPE(3)}};
    mtlm_real *g = new_normal(N, 1);
    double status[] = {5, 6, 7}, want = 0;

    (void) state;
    for (int i = 0; i < N; i++)
        want += (double) g[i] * g[i];
    run_op(call, (void *[]){g, status}, 0);
    assert_true(fabs(status[1] / want - 1) < 1e-14);
    assert_true(status[0] == 5 && status[2] == 7);
    free(g);
}

static void test_padding_does_not_count(void **state)
{
    struct mtlm_call call = {.kind = MTLM_OP_SQUARE_SUM,
                             .attr.status = {.slot = 1, .padding = 2},
                             .shape = {MTLM_SHAPE(3, 2), MTLM_SHAPE(3)}};
    mtlm_real g[] = {0, 2, 3, 0, 5, 0};
    double status[] = {5, 6, 7};

    (void) state;
    run_op(call, (void *[]){g, status}, 0);
    assert_true(status[0] == 5 && status[1] == 13 && status[2] == 7);
    call.kind = MTLM_OP_COUNT_ZEROS; /* adds */
    run_op(call, (void *[]){g, status}, 0);
    assert_true(status[0] == 5 && status[1] == 15 && status[2] == 7);
    call.attr.status.padding = 0;
    run_op(call, (void *[]){g, status}, 0);
    assert_true(status[1] == 18);
}

static void test_norm_is_the_root_of_all_sums(void **state)
{
    const struct mtlm_call call = {.kind = MTLM_OP_NORM,
                                   .shape = {MTLM_SHAPE(3)}};
    double sums[] = {4, 5, 16}, norm = 0;

    (void) state;
    run_op(call, (void *[]){sums, &norm}, 0);
    assert_true(norm == 5);
}

static void test_publish_moves_the_losses(void **state)
{
    const struct mtlm_call call = {
        .kind = MTLM_OP_PUBLISH,
        .attr.status = {.slot = 1, .factor = 0.5},
        .shape = {MTLM_SHAPE(MTLM_LOSS_COUNT), MTLM_SHAPE(5)}};
    double loss[MTLM_LOSS_COUNT] = {3, 4, 5}, status[] = {5, 6, 7, 8, 9};

    (void) state;
    run_op(call, (void *[]){loss, status}, 0);
    for (int i = 0; i < MTLM_LOSS_COUNT; i++)
        assert_true(loss[i] == 0 && status[1 + i] == 0.5 * (3 + i));
    assert_true(status[0] == 5 && status[4] == 9);
}

static void test_slots_outside_the_status_are_refused(void **state)
{
    (void) state;
    assert_refused((struct mtlm_call){.kind = MTLM_OP_FLAGS,
                                      .attr.status.slot = 3,
                                      .shape = {MTLM_SHAPE(3)}},
                   "flags: status is [3], needs element 3");
    assert_refused((struct mtlm_call){.kind = MTLM_OP_PUBLISH,
                                      .attr.status.slot = 2,
                                      .shape = {MTLM_SHAPE(MTLM_LOSS_COUNT),
                                                MTLM_SHAPE(4)}},
                   "publish: status is [4], needs element 4");
    assert_refused((struct mtlm_call){.kind = MTLM_OP_PUBLISH,
                                      .shape = {MTLM_SHAPE(1), MTLM_SHAPE(4)}},
                   "publish: loss is [1], needs [3]");
}

static void test_eval_report_takes_and_zeroes(void **state)
{
    const struct mtlm_call call = {.kind = MTLM_OP_EVAL_REPORT,
                                   .shape = {MTLM_SHAPE(MTLM_STATUS_EXTRA)}};
    double status[MTLM_STATUS_EXTRA], report[MTLM_STATUS_EXTRA];

    (void) state;
    for (int i = 0; i < MTLM_STATUS_EXTRA; i++)
        status[i] = 2 + i;
    run_op(call, (void *[]){status, report}, 0);
    for (int i = 0; i < MTLM_STATUS_EXTRA; i++)
        assert_true(report[i] == 2 + i && status[i] == 0);
}

static struct mtlm_call control_call(double clip)
{
    return (struct mtlm_call){
        .kind = MTLM_OP_CONTROL,
        .attr.control = {.lr_schedule = {.style = MTLM_LR_LINEAR,
                                         .lr = 1,
                                         .warmup_samples = 160,
                                         .decay_samples = 320,
                                         .weight_decay_style =
                                             MTLM_WEIGHT_DECAY_LINEAR,
                                         .weight_decay = 0.1,
                                         .end_weight_decay = 0.3,
                                         .weight_decay_samples = 192},
                         .clip = clip,
                         .n_sums = SUMS},
        .shape = {MTLM_SHAPE(SUMS + MTLM_STATUS_EXTRA),
                  MTLM_SHAPE(MTLM_CONTROL_COUNT)}};
}

static void test_control_advances_and_clips(void **state)
{
    const double status[] = {4,
                             5,
                             16,
                             [SUMS + MTLM_STATUS_LOSS] = 2.5,
                             [SUMS + MTLM_STATUS_SOP] = 0.5,
                             [SUMS + MTLM_STATUS_SOP_HITS] = 0.75,
                             [SUMS + MTLM_STATUS_STOP] = 1};
    double control[MTLM_CONTROL_COUNT] = {
        [MTLM_CONTROL_ITERATION] = 7, [MTLM_CONTROL_STEP] = 6,
        [MTLM_CONTROL_SAMPLES] = 112, [MTLM_CONTROL_CLOCK] = 96,
        [MTLM_CONTROL_SKIPPED] = 1,   [MTLM_CONTROL_LOSS_SCALE] = 1};
    double report[MTLM_CONTROL_COUNT];

    (void) state;
    run_op(control_call(2), (void *[]){(void *) status, control, report}, 0);
    assert_memory_equal(control, report, sizeof(control));
    assert_true(control[MTLM_CONTROL_ITERATION] == 8);
    assert_true(control[MTLM_CONTROL_STEP] == 7);
    assert_true(control[MTLM_CONTROL_SAMPLES] == 112 + RUN_BATCH);
    assert_true(control[MTLM_CONTROL_BATCH] == RUN_BATCH);
    assert_true(control[MTLM_CONTROL_CLOCK] == 112);
    assert_near(control[MTLM_CONTROL_LR], 0.6);
    assert_near(control[MTLM_CONTROL_WEIGHT_DECAY], 0.2);
    assert_near(control[MTLM_CONTROL_NEXT_LR], 0.7);
    assert_true(control[MTLM_CONTROL_NORM] == 5);
    assert_true(control[MTLM_CONTROL_CLIP] == 2 / (5 + 1e-6));
    assert_true(control[MTLM_CONTROL_LOSS] == 2.5);
    assert_true(control[MTLM_CONTROL_SOP] == 0.5);
    assert_true(control[MTLM_CONTROL_SOP_HITS] == 0.75);
    assert_true(control[MTLM_CONTROL_STOP] == 1);
    assert_true(control[MTLM_CONTROL_APPLY] == 1);
    assert_true(control[MTLM_CONTROL_SKIPPED] == 1);
    assert_true(control[MTLM_CONTROL_NAN] == 0);
}

static void test_small_norms_are_not_clipped(void **state)
{
    const double status[SUMS + MTLM_STATUS_EXTRA] = {4, 5, 16};
    double control[MTLM_CONTROL_COUNT] = {[MTLM_CONTROL_LOSS_SCALE] = 1};
    double report[MTLM_CONTROL_COUNT];

    (void) state;
    run_op(control_call(5), (void *[]){(void *) status, control, report}, 0);
    assert_true(control[MTLM_CONTROL_CLIP] == 1);
    run_op(control_call(0), (void *[]){(void *) status, control, report}, 0);
    assert_true(control[MTLM_CONTROL_CLIP] == 1);
}

static void check_skipped(double sum, double loss, double sop)
{
    const double status[] = {4,
                             sum,
                             16,
                             [SUMS + MTLM_STATUS_LOSS] = loss,
                             [SUMS + MTLM_STATUS_SOP] = sop,
                             [SUMS + MTLM_STATUS_STOP] = 0};
    double control[MTLM_CONTROL_COUNT] = {[MTLM_CONTROL_STEP] = 6,
                                          [MTLM_CONTROL_CLOCK] = 96,
                                          [MTLM_CONTROL_LOSS_SCALE] = 1};
    double report[MTLM_CONTROL_COUNT];

    run_op(control_call(1), (void *[]){(void *) status, control, report}, 0);
    assert_true(control[MTLM_CONTROL_APPLY] == 0);
    assert_true(control[MTLM_CONTROL_STEP] == 6);
    assert_true(control[MTLM_CONTROL_SKIPPED] == 1);
    assert_true(control[MTLM_CONTROL_NAN] == 1);
    assert_true(control[MTLM_CONTROL_ITERATION] == 1);
    assert_true(control[MTLM_CONTROL_SAMPLES] == 16);
    assert_true(control[MTLM_CONTROL_CLOCK] == 96);
    assert_true(control[MTLM_CONTROL_LR] == control[MTLM_CONTROL_NEXT_LR]);
}

static void test_what_is_not_finite_skips_the_step(void **state)
{
    (void) state;
    check_skipped(NAN, 1, 0);
    check_skipped(INFINITY, 1, 0);
    check_skipped(5, NAN, 0);
    check_skipped(5, -INFINITY, 0);
    check_skipped(5, 1, NAN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_square_sum_goes_to_its_slot_alone),
        cmocka_unit_test(test_padding_does_not_count),
        cmocka_unit_test(test_norm_is_the_root_of_all_sums),
        cmocka_unit_test(test_publish_moves_the_losses),
        cmocka_unit_test(test_slots_outside_the_status_are_refused),
        cmocka_unit_test(test_eval_report_takes_and_zeroes),
        cmocka_unit_test(test_control_advances_and_clips),
        cmocka_unit_test(test_small_norms_are_not_clipped),
        cmocka_unit_test(test_what_is_not_finite_skips_the_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
