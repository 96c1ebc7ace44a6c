/* The line "node by node" of a plan. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/base/memory.h"
#include "tests/launch/parse.h"
#include "tests/launch/times_file.h"

#define FOUR                                                                   \
    "--model gpt-tiny --num-layers 8 --workers 1 --micro-batch-size 1 "        \
    "--global-batch-size 16 --pipeline-model-parallel-size 4 --dry-run "

/* 1F1B of equal stages: (m + p - 1) (F + B + W).  Behind the passes, the norm
 * takes p - 1 messages, and its sum as many back. */
static void test_a_plan_counts_nodes(void **state)
{
    static const int hop_us[] = {0, 1000};

    (void) state;
    for (int i = 0; i < 2; i++) {
        char *line =
            mtlm_sprintf(FOUR "--schedule 1f1b --synthetic %s", times_file);
        char *times = mtlm_sprintf("[stage]\nforward_ms = 10\n"
                                   "backward_ms = 12\nweight_ms = 8\n"
                                   "[host]\nlatency_us = %d\n",
                                   hop_us[i]);
        char *text;
        double plan;

        times_file_write(times);
        text = plan_of(line);
        plan = number_after(text, "\nschedule         1f1b: ");
        assert_true(plan >= .57 - 1e-9);
        assert_float_equal(number_after(text, "\nnode by node     "),
                           plan + 6e-6 * hop_us[i], 1e-6);
        free(text);
        free(times);
        free(line);
    }
}

/* Only windows decide: a run under prio took 0.519 s, the schedule says
 * 0.478 s. */
static void test_windows_alone_take_longer_than_their_plan(void **state)
{
    char *line = mtlm_sprintf(
        "--model gpt-tiny --num-layers 8 --workers 1 --micro-batch-size 1 "
        "--global-batch-size 8 --pipeline-model-parallel-size 4 --dry-run "
        "--num-virtual-stages-per-pipeline-rank 2 --schedule v-min "
        "--schedule-mode windows --synthetic %s",
        times_file);
    char *text;

    (void) state;
    times_file_write("[stage]\nforward_ms = 16\nbackward_ms = 16\n"
                     "weight_ms = 16\n[host]\nlatency_us = 90\n");
    text = plan_of(line);
    assert_float_equal(number_after(text, "\nschedule         v-min: "), .478,
                       .002);
    assert_float_equal(number_after(text, "\nnode by node     "), .519, .012);
    free(text);
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plan_counts_nodes),
        cmocka_unit_test(test_windows_alone_take_longer_than_their_plan)};

    setenv("STARPU_SCHED", "prio", 1);
    return cmocka_run_group_tests(tests, times_file_setup, times_file_teardown);
}
