/* The scheduling policy of a plan with times, where STARPU_SCHED names none. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <starpu.h>

#include "runtime/base/memory.h"
#include "runtime/machine/plugin.h"
#include "tests/launch/parse.h"
#include "tests/launch/times_file.h"

#define FOUR                                                                   \
    "--model gpt-tiny --num-layers 8 --workers 1 --micro-batch-size 1 "        \
    "--global-batch-size 8 --pipeline-model-parallel-size 4 --dry-run "

/* Equal stages, whose messages take a thousandth of F. */
#define HOP                                                                    \
    "[stage 0-3]\nforward_ms = 1000\nbackward_ms = 1000\nweight_ms = 1000\n"   \
    "[hop]\nlatency_us = 1000\n"

/* With --enable-blocking-drivers, StarPU's workers sleep and never wait. */
#ifdef STARPU_NON_BLOCKING_DRIVERS
static const bool polls = true;
#else
static const bool polls = false;
#endif

static char *plan_with(const char *source, const char *times, const char *more)
{
    char *line = mtlm_sprintf(FOUR "--%s %s %s", source, times_file, more);
    char *text;

    times_file_write(times);
    text = plan_of(line);
    free(line);
    return text;
}

/* By the fixed order, 27 s and 12 messages. */
static void test_waits_that_gain_make_the_policy(void **state)
{
    static const struct {
        const char *source, *times;
    } cases[] = {{"stage-times", HOP},
                 {"synthetic", "[stage]\nforward_ms = 1000\n"
                               "backward_ms = 1000\nweight_ms = 1000\n"
                               "[host]\nlatency_us = 1000\n"}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text =
            plan_with(cases[i].source, cases[i].times, "--schedule zb-h1");

        assert_int_equal(strstr(text, "policy mtlm: workers wait for messages")
                             != NULL,
                         polls);
        if (polls)
            assert_float_equal(number_after(text, "\nschedule         zb-h1: "),
                               27.012, 1e-6);
        assert_null(strstr(text, "STARPU_SCHED=mtlm"));
        free(text);
    }
}

/* The search under both policies: 27.85 and 27.65 s in the memory of four
 * microbatches. */
static void test_auto_chooses_the_policy(void **state)
{
    char *text = plan_with("synthetic",
                           "[stage]\nforward_ms = 1000\nbackward_ms = 1300\n"
                           "weight_ms = 800\n[host]\nlatency_us = 100000\n",
                           "--hidden-size 128 --seq-length 64 --schedule auto");

    (void) state;
    assert_int_equal(strstr(text, "policy mtlm: ") != NULL, polls);
    if (polls)
        assert_true(number_after(text, "\nschedule         auto: ") < 27.7);
    free(text);
}

static void keeps_prio(const char *source, const char *times, const char *more)
{
    char *text = plan_with(source, times, more);

    assert_null(strstr(text, "policy mtlm"));
    free(text);
}

static void test_otherwise_the_policy_is_prio(void **state)
{
    (void) state;
    /* No piece of W is in the way. */
    keeps_prio("stage-times", HOP, "--schedule 1f1b");
    /* A chain decides. */
    keeps_prio("stage-times", HOP, "--schedule zb-h1 --schedule-mode strict");
    /* Workers of a real machine share cores with all-reduces. */
    keeps_prio("stage-times", HOP,
               "--schedule zb-h1 --tensor-model-parallel-size 2");
    /* Without times. */
    keeps_prio("svg", "", "--schedule zb-h1");
}

/* Others are refused before a policy reads them (tests/hostile.tsv). */
static void test_the_share_of_waits_is_a_number_to_ten(void **state)
{
    static const char *const refused[] = {"", " ", "-1", "11", "nan", "1x"};
    double share = 7;

    (void) state;
    assert_false(mtlm_plugin_hold_share(&share));
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        setenv("MTLM_HOLD", refused[i], 1);
        assert_false(mtlm_plugin_hold_share(&share));
    }
    assert_float_equal(share, 7, 0);
    setenv("MTLM_HOLD", "0.125", 1);
    assert_true(mtlm_plugin_hold_share(&share));
    assert_float_equal(share, .125, 0);
    unsetenv("MTLM_HOLD");
}

/* MTLM_HOLD=0 turns the waits off: plans count none, and advise none. */
static void test_waits_may_be_turned_off(void **state)
{
    char *text;

    (void) state;
    mtlm_plugin_prefer("mtlm");
    assert_int_equal(mtlm_plugin_holds(), polls);
    setenv("MTLM_HOLD", "0", 1);
    assert_false(mtlm_plugin_holds());
    assert_false(mtlm_plugin_may_hold());
    text = plan_with("stage-times", HOP, "--schedule zb-h1");
    assert_null(strstr(text, "policy mtlm"));
    assert_null(strstr(text, "STARPU_SCHED=mtlm"));
    free(text);
    setenv("MTLM_HOLD", "0.5", 1);
    mtlm_plugin_prefer("mtlm");
    assert_int_equal(mtlm_plugin_holds(), polls);
    unsetenv("MTLM_HOLD");
    mtlm_plugin_prefer("prio");
    assert_false(mtlm_plugin_holds());
    assert_int_equal(mtlm_plugin_may_hold(), polls);
}

/* The last tests: the name stays for the process. */
static void test_a_named_policy_stays(void **state)
{
    char *text;

    (void) state;
    setenv("STARPU_SCHED", "prio", 1);
    keeps_prio("stage-times", HOP, "--schedule zb-h1");
    text = plan_with("stage-times", HOP, "--schedule zb-h1");
    assert_true(number_after(text, "\nschedule         zb-h1: ") > 27.1);
    assert_int_equal(
        strstr(text, "wait for messages: STARPU_SCHED=mtlm") != NULL, polls);
    if (polls)
        assert_float_equal(number_after(text, " above\n"), 27.012, 1e-6);
    free(text);
}

/* A policy of a user's library, say. */
static void test_a_name_is_whole_however_long(void **state)
{
    char name[301];

    (void) state;
    memset(name, 'p', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    setenv("STARPU_SCHED", name, 1);
    assert_string_equal(mtlm_plugin_wanted(), name);
    unsetenv("STARPU_SCHED");
    assert_string_equal(mtlm_plugin_wanted(), name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_that_gain_make_the_policy),
        cmocka_unit_test(test_auto_chooses_the_policy),
        cmocka_unit_test(test_otherwise_the_policy_is_prio),
        cmocka_unit_test(test_the_share_of_waits_is_a_number_to_ten),
        cmocka_unit_test(test_waits_may_be_turned_off),
        cmocka_unit_test(test_a_named_policy_stays),
        cmocka_unit_test(test_a_name_is_whole_however_long)};

    return cmocka_run_group_tests(tests, times_file_setup, times_file_teardown);
}
