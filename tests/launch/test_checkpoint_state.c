/* What a checkpoint says of the training must be something that a training can
 * come to: a loss scale of 0, say, would make every gradient NaN. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "launch/checkpoint/checkpoint.h"

static int check(const char *text, struct mtlm_error *err)
{
    json_t *state = json_loads(text, 0, NULL);
    int rc;

    assert_non_null(state);
    rc = mtlm_checkpoint_state_check(state, "ck", err);
    json_decref(state);
    return rc;
}

static void test_what_a_training_comes_to_is_taken(void **state)
{
    static const char *const good[] = {
        "{}", "{\"steps\": 4.0, \"clock_samples\": 32, \"skipped\": 0.0}",
        "{\"loss_scale\": 1.2e24, \"loss_scale_hysteresis\": -3.0}",
        "{\"of a later version\": \"text\"}"};

    (void) state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(check(good[i], NULL), 0);
}

static void test_what_cannot_be_is_refused(void **state)
{
    static const char *const bad[] = {
        "steps\": -1",      "steps\": 1e300",      "steps\": \"4\"",
        "skipped\": null",  "clock_samples\": -5", "loss_scale\": 0",
        "loss_scale\": -1", "loss_scale\": 1e39",  "loss_scale_growth\": -1"};

    (void) state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct mtlm_error err;
        char text[64], want[64];

        snprintf(text, sizeof(text), "{\"%s}", bad[i]);
        snprintf(want, sizeof(want), "ck: state \"%.*s\": expected a number",
                 (int) strcspn(bad[i], "\""), bad[i]);
        assert_int_equal(check(text, &err), -1);
        assert_int_equal(err.code, MTLM_EXIT_INPUT);
        assert_non_null(strstr(err.text, want));
    }
}

/* The scale with which a job of that --min-loss-scale goes on from 512. */
static double restored_scale(double min)
{
    static struct mtlm_program program;
    static struct mtlm_job job = {.program = &program};
    double control[MTLM_CONTROL_COUNT] = {[MTLM_CONTROL_LOSS_SCALE] = 65536};
    json_t *state = json_pack("{s:f}", "loss_scale", 512.0);

    program.config.loss_scale =
        (struct mtlm_loss_scale){.dynamic = true, .initial = 65536, .min = min};
    mtlm_checkpoint_restore(&job, state, control);
    json_decref(state);
    return control[MTLM_CONTROL_LOSS_SCALE];
}

static void test_a_loss_scale_rises_to_the_smallest_of_the_job(void **state)
{
    (void) state;
    assert_true(restored_scale(1) == 512);
    assert_true(restored_scale(512) == 512);
    assert_true(restored_scale(1024) == 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_training_comes_to_is_taken),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_a_loss_scale_rises_to_the_smallest_of_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
