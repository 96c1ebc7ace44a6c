/* --simulate names ways that take less time, and their seconds hold. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/memory.h"
#include "runtime/machine/machine.h"
#include "runtime/machine/plugin.h"
#include "tests/launch/parse.h"
#include "tests/launch/simulated.h"

#define JOB                                                                    \
    "--model gpt2-345m --num-layers 8 --fp16 --world-size 8 "                  \
    "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 "         \
    "--micro-batch-size 1 --global-batch-size 8 --schedule zb-h1 "

/* Returns the seconds of the way; 0: the text does not name the way. */
static double seconds_by(const char *text, const char *way)
{
    const char *at = strstr(text, way);

    if (!at)
        return 0;
    while (at > text && at[-1] != '\n')
        at--;
    return strtod(at + strlen("shorter          "), NULL);
}

static void test_the_seconds_of_a_way_are_those_of_its_command(void **state)
{
    char *text = text_of("dgx-a100", JOB);
    const double given = number_after(text, "\ntime             ");
    const double strict = seconds_by(text, ": --schedule-mode strict\n");
    const double wait = seconds_by(text, ": STARPU_SCHED=mtlm\n");

    (void) state;
    assert_true(strict > 0 && strict < given);
    near(strict, seconds_of("dgx-a100", JOB "--schedule-mode strict"), 1e-5);
    if (!mtlm_plugin_is_free()) {
        assert_true(wait == 0);
        free(text);
        return;
    }
    assert_true(wait > 0 && wait < given);
    mtlm_plugin_prefer(MTLM_HOLD_POLICY);
    near(wait, seconds_of("dgx-a100", JOB), 1e-5);
    mtlm_plugin_prefer(MTLM_DEFAULT_POLICY);
    free(text);
}

/* The layout that the search found is that of the other ways: these say the
 * same as with the layout written out. */
static void test_the_layout_is_the_one_that_was_found(void **state)
{
#define FREE                                                                   \
    "--model gpt-18b --fp16 --world-size 32 --micro-batch-size 1 "             \
    "--global-batch-size 32 --recompute-granularity none --schedule 1f1b "
    char *text = text_of("dgx-a100", FREE);
    int t, p, d;
    char *given, *other;

    (void) state;
    assert_int_equal(sscanf(strstr(text, "\nlayout           "),
                            " layout tensor %d x pipeline %d x data %d", &t, &p,
                            &d),
                     3);
    assert_true(p > 1);
    given = mtlm_sprintf(FREE "--tensor-model-parallel-size %d "
                              "--pipeline-model-parallel-size %d",
                         t, p);
    other = text_of("dgx-a100", given);
    assert_true(seconds_by(text, ": --schedule-mode strict\n") > 0);
    near(seconds_by(text, ": --schedule-mode strict\n"),
         seconds_by(other, ": --schedule-mode strict\n"), 1e-5);
    free(text);
    free(given);
    free(other);
}

/* A chain has nothing to choose, and a search has chosen. */
static void test_there_may_be_no_other_way(void **state)
{
    static const char *const lines[] = {
        JOB "--schedule-mode strict", JOB "--schedule auto",
        JOB "--world-size 2 --pipeline-model-parallel-size 1"};

    (void) state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char *text = text_of("dgx-a100", lines[i]);

        assert_null(strstr(text, "\nshorter "));
        free(text);
    }
}

/* The order of zb-2p follows the memory: a way that is named is no longer than
 * said, and no way is missing. */
static void test_a_way_keeps_to_the_memory(void **state)
{
    static const char *const limits[] = {"50e6", "100e6", "150e6", "300e6"};
    int named = 0;

    (void) state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        char *line =
            mtlm_sprintf(JOB "--schedule zb-2p --act-mem %s", limits[i]);
        char *ordered = mtlm_sprintf("%s --schedule-mode strict", line);
        char *text = text_of("dgx-a100", line);
        const double given = number_after(text, "\ntime             ");
        const double strict = seconds_by(text, ": --schedule-mode strict\n");

        if (strict > 0)
            near(strict, seconds_of("dgx-a100", ordered), 1e-5);
        else
            assert_true(seconds_of("dgx-a100", ordered) > .99 * given);
        named += strict > 0;
        free(text);
        free(ordered);
        free(line);
    }
    assert_true(named > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_seconds_of_a_way_are_those_of_its_command),
        cmocka_unit_test(test_the_layout_is_the_one_that_was_found),
        cmocka_unit_test(test_there_may_be_no_other_way),
        cmocka_unit_test(test_a_way_keeps_to_the_memory),
    };

    unsetenv("STARPU_SCHED");
    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
