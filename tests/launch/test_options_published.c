/* --schedule with the name of a published order: the plan of the order by given
 * times, how ranks follow the order, and what is refused. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/schedule/schedule.h"
#include "launch/options/option_table.h"
#include "launch/plan/dry_run.h"
#include "runtime/base/memory.h"
#include "tests/launch/parse.h"

#define FOUR                                                                   \
    "--model gpt-tiny --num-layers 8 --workers 1 --micro-batch-size 1 "        \
    "--global-batch-size 8 --pipeline-model-parallel-size 4 --dry-run "

static char name[] = "/tmp/mtlm-test.XXXXXX";

/* Stages of one second of F, B and W on each rank. */
static void write_times(int latency_us)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    fprintf(file,
            "[stage]\nforward_ms = 1000\nbackward_ms = 1000\n"
            "weight_ms = 1000\n[host]\nlatency_us = %d\n",
            latency_us);
    fclose(file);
}

static char *plan_by_times(const char *schedule, const char *more)
{
    char *line = mtlm_sprintf(FOUR "--synthetic %s --schedule %s %s", name,
                              schedule, more);
    char *text = plan_of(line);

    free(line);
    return text;
}

static double seconds_of(const char *schedule, const char *more)
{
    char *text = plan_by_times(schedule, more);
    char *phrase = mtlm_sprintf("\nschedule         %s: ", schedule);
    const char *at = strstr(text, phrase);
    double seconds;

    if (!at)
        fail_msg("no \"%s\" in\n%s", phrase, text);
    seconds = atof(at + strlen(phrase));
    free(phrase);
    free(text);
    return seconds;
}

/* The formulas of the papers, for 4 ranks and 8 microbatches. */
static void test_each_name_has_its_published_makespan(void **state)
{
    static const struct {
        const char *schedule;
        double seconds;
    } cases[] = {{"gpipe", 33},           {"1f1b", 33},
                 {"interleaved", 28.5},   {"zb-h1", 27},
                 {"breadth-first", 28.5}, {"zb-h2", 27},
                 {"zb-1p", 27},           {"zb-2p", 27},
                 {"zb-v", 25.5},          {"v-half", 26.5},
                 {"v-min", 29.5},         {"dualpipe-v", 25.5}};

    (void) state;
    write_times(0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_float_equal(
            seconds_of(cases[i].schedule, "--schedule-mode strict"),
            cases[i].seconds, 1e-6);
}

/* With messages of 1 ms, the order of ZB-H1 takes 12 ms more.  As priorities,
 * too: workers wait for messages, lest a W starts just before one arrives. */
static void test_an_order_does_not_jump_with_the_latency(void **state)
{
    (void) state;
    write_times(1000);
    assert_float_equal(seconds_of("zb-h1", "--schedule-mode strict"), 27.012,
                       1e-6);
    assert_float_equal(seconds_of("zb-h1", "--schedule-mode hint"), 27.012,
                       1e-6);
}

/* The makespan by unequal times: B is long, messages are slow. */
static double seconds_by_times(const char *order)
{
    char *line = mtlm_sprintf(FOUR "--global-batch-size 16 --stage-times %s %s",
                              name, order);
    char *text = plan_of(line);
    const char *at = strstr(text, " s an iteration without optimizer");
    double seconds;

    assert_non_null(at);
    while (at[-1] != ' ')
        at--;
    seconds = atof(at);
    free(text);
    free(line);
    return seconds;
}

/* The order of ZB-V by the times is shorter than the order by layers. */
static void test_times_build_the_order(void **state)
{
    char csv[] = "/tmp/mtlm-test.XXXXXX";
    const int fd = mkstemp(csv);
    char *by_layers = mtlm_sprintf("--schedule-file %s", csv);
    char *out = mtlm_sprintf(FOUR "--global-batch-size 16 --schedule zb-v "
                                  "--schedule-mode strict --schedule-out %s",
                             csv);
    FILE *file = fopen(name, "w");
    double seconds;

    (void) state;
    assert_true(fd >= 0);
    close(fd);
    fprintf(file, "[stage 0-7]\nforward_ms = 500\nbackward_ms = 775\n"
                  "weight_ms = 500\n[hop]\nlatency_us = 300000\n");
    fclose(file);
    free(plan_of(out));
    seconds = seconds_by_times("--schedule zb-v --schedule-mode strict");
    assert_true(seconds < 0.995 * seconds_by_times(by_layers));
    unlink(csv);
    free(out);
    free(by_layers);
}

static void says(const char *schedule, const char *more, const char *words)
{
    char *text = plan_by_times(schedule, more);

    if (words && !strstr(text, words))
        fail_msg("no \"%s\" in\n%s", words, text);
    if (!words)
        assert_null(strstr(text, ": follows "));
    free(text);
}

/* Names of emergent schedules stay emergent. */
static void test_the_mode_says_how_ranks_follow(void **state)
{
    (void) state;
    write_times(0);
    says("zb-v", "", NULL);
    says("zb-v", "--schedule-mode strict",
         "schedule zb-v: follows the order of arXiv 2405.15362 strictly\n");
    says("v-half", "",
         "schedule v-half: follows the order of arXiv 2405.15362 as "
         "priorities\n");
    says("v-half", "--schedule-mode windows", " by its windows only\n");
    says("v-half", "--workers 2",
         "schedule v-half: its order is for 1 worker on each rank, and here "
         "each has 2\n");
    assert_float_equal(seconds_of("v-half", "--schedule-mode windows"), 27,
                       1e-6);
}

static void refuses_plan(const char *more, const char *sentence)
{
    char *line = mtlm_sprintf(FOUR "%s", more);

    assert_int_equal(parse(line), MTLM_REQUEST_PLAN);
    assert_int_equal(mtlm_dry_run(&options, stdout, &error), -1);
    assert_string_equal(error.text, sentence);
    free(line);
}

static void test_what_an_order_lacks_is_refused(void **state)
{
    (void) state;
    refuses_plan("--schedule interleaved --schedule-mode hint "
                 "--global-batch-size 10",
                 "the order of --schedule interleaved needs a number of "
                 "microbatches that is a multiple of the ranks; here 4 ranks "
                 "have 10 microbatches");
    refuses_plan("--schedule breadth-first --global-batch-size 1",
                 "the order of --schedule breadth-first needs a microbatch for "
                 "each rank; here 4 ranks have 1 microbatch");
    refuses_plan("--schedule dualpipe-v "
                 "--num-virtual-stages-per-pipeline-rank 1",
                 "--schedule dualpipe-v needs 2 virtual stages on each rank, "
                 "placement v; here each has 1, placement v");
    refuses_plan("--schedule gpipe --schedule-mode strict --act-mem 5e7",
                 "--schedule gpipe: rank 0, column 6: with 0F5 the activations "
                 "take 48.0938 MiB, and the rank has 47.6837 MiB for them");
    assert_int_equal(error.code, MTLM_EXIT_USAGE);
}

static void test_a_mode_needs_an_order(void **state)
{
    (void) state;
    refuses(FOUR "--schedule auto --schedule-mode hint",
            "--schedule-mode is for the order of --schedule-file or of a "
            "published --schedule; auto has none");
    refuses(FOUR "--schedule zb-1p --placement policy",
            "--schedule zb-1p places stages on ranks, and --placement policy "
            "leaves the place to the scheduling policy");
    refuses(FOUR "--schedule zb-v --act-mem 1e9",
            "--act-mem is for --schedule window or auto: the windows of zb-v "
            "follow from the stages");
}

static int setup(void **state)
{
    const int file = mkstemp(name);

    close(file);
    return file < 0 ? -1 : parse_setup(state);
}

static int teardown(void **state)
{
    unlink(name);
    return parse_teardown(state);
}

/* --help lists the schedules that are followed without --schedule-mode. */
static void test_help_names_what_is_followed(void **state)
{
    const char *list =
        strstr(mtlm_option_table[MTLM_OPT_SCHEDULE_MODE].help, "; hint for ");

    (void) state;
    assert_non_null(list);
    for (int i = 0; i < MTLM_SCHEDULE_COUNT; i++)
        if (mtlm_schedules[i].followed && !strstr(list, mtlm_schedules[i].name))
            fail_msg("no %s in %s", mtlm_schedules[i].name, list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_name_has_its_published_makespan),
        cmocka_unit_test(test_an_order_does_not_jump_with_the_latency),
        cmocka_unit_test(test_times_build_the_order),
        cmocka_unit_test(test_the_mode_says_how_ranks_follow),
        cmocka_unit_test(test_what_an_order_lacks_is_refused),
        cmocka_unit_test(test_a_mode_needs_an_order),
        cmocka_unit_test(test_help_names_what_is_followed),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
