/* Schedules on the command line: what they make of layout and windows, and
 * what a plan says of them. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/build/ring.h"
#include "graph/order/order_write.h"
#include "graph/predict/activation_memory.h"
#include "launch/plan/dry_run.h"
#include "launch/plan/layout_choice.h"
#include "runtime/base/memory.h"
#include "tests/launch/parse.h"

#define EIGHT                                                                  \
    "--model gpt-tiny --num-layers 8 --workers 1 --micro-batch-size 1 "        \
    "--global-batch-size 16 --pipeline-model-parallel-size 4 "

/* The configuration that a line leads to; -1 with the reason in error. */
static int settle(const char *line, struct mtlm_program_config *config)
{
    const struct mtlm_hosts hosts = {
        .ranks = 4, .per_host = 4, .available = 1e12};
    struct mtlm_wish wish;
    struct mtlm_choice choice;

    accepts(line);
    wish = mtlm_layout_choice_wish(&options, 1);
    assert_int_equal(
        mtlm_layout_choice_make(&options, &wish, &hosts, &choice, NULL, &error),
        0);
    if (mtlm_layout_choice_take(&options, &wish, &choice, &error) < 0)
        return -1;
    *config = mtlm_choice_config(&wish, &choice);
    return 0;
}

static struct mtlm_window *windows_of(struct mtlm_program_config *config)
{
    struct mtlm_window *window;

    mtlm_activation_memory_measure(config);
    window = mtlm_ring_windows(config);
    mtlm_activation_memory_free(&config->activation);
    return window;
}

static void gives(const char *line, const char *schedule, int v,
                  enum mtlm_placement placement, const int *w)
{
    struct mtlm_program_config config;
    struct mtlm_window *window;

    if (settle(line, &config) < 0)
        fail_msg("%s: %s", line, error.text);
    assert_string_equal(config.schedule->name, schedule);
    assert_int_equal(config.layout.virtual_stages, v);
    assert_int_equal(config.layout.placement, placement);
    window = windows_of(&config);
    for (int k = 0; k < 4 * v; k++)
        assert_int_equal(window[k].w, w[k]);
    free(window);
}

static void does_not_settle(const char *line, int exit_code,
                            const char *sentence)
{
    struct mtlm_program_config config;

    assert_int_equal(settle(line, &config), -1);
    assert_string_equal(error.text, sentence);
    assert_int_equal(error.code, exit_code);
}

static void test_schedules_fix_layout_and_windows(void **state)
{
    static const int one[] = {4, 3, 2, 1}, all[] = {16, 16, 16, 16};
    static const int two[] = {7, 5, 3, 1};
    static const int megatron[] = {8, 9, 8, 6, 4, 5, 4, 2};
    static const int v[] = {7, 6, 5, 4, 4, 3, 2, 1};

    (void) state;
    gives(EIGHT, "window", 1, 0, one);
    gives(EIGHT "--schedule gpipe", "gpipe", 1, 0, all);
    gives(EIGHT "--schedule 1f1b", "1f1b", 1, 0, one);
    gives(EIGHT "--schedule zb-h1", "zb-h1", 1, 0, one);
    gives(EIGHT "--schedule zb-h2", "zb-h2", 1, 0, two);
    gives(EIGHT "--schedule interleaved", "interleaved", 2, 0, megatron);
    gives(EIGHT "--schedule zb-v", "zb-v", 2, MTLM_PLACEMENT_V, v);
}

/* No more than there are microbatches. */
static void test_windows_may_be_given_one_by_one(void **state)
{
    static const int w[] = {16, 3, 2, 1}, q[] = {0, 1, 14, 3};
    struct mtlm_program_config config;
    struct mtlm_window *window;

    (void) state;
    assert_int_equal(settle(EIGHT "--stage-windows 99,3+1,2+40,1+3", &config),
                     0);
    window = windows_of(&config);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(window[k].w, w[k]);
        assert_int_equal(window[k].q, q[k]);
        assert_true(window[k].g == (q[k] + 1 > 2 ? q[k] + 1 : 2));
    }
    free(window);
    refuses(EIGHT "--schedule zb-h1 --stage-windows 4,3,2,1",
            "--stage-windows is for --schedule window: the windows of zb-h1 "
            "follow from the stages");
    refuses(
        EIGHT "--window 2 --stage-windows 4,3,2,1",
        "--stage-windows and --window contradict each other; give one of them");
    refuses(EIGHT "--act-mem 1e9 --stage-windows 4,3,2,1",
            "--stage-windows and --act-mem contradict each other; give one of "
            "them");
    refuses(EIGHT "--stage-windows 4,3,2,0",
            "--stage-windows is '4,3,2,0', it must be W or W+Q of each stage, "
            "such as 4,3+1,2+2,1+3");
    refuses(EIGHT "--stage-windows 4,3,2,1,",
            "--stage-windows is '4,3,2,1,', it must be W or W+Q of each stage, "
            "such as 4,3+1,2+2,1+3");
    refuses(EIGHT "--stage-windows 4,3+-1,2,1",
            "--stage-windows is '4,3+-1,2,1', it must be W or W+Q of each "
            "stage, such as 4,3+1,2+2,1+3");
    does_not_settle(EIGHT "--stage-windows 4,3,2 ", MTLM_EXIT_USAGE,
                    "--stage-windows names 3 stages, and there are 4 x 1");
}

static void test_contradictions_are_refused(void **state)
{
    (void) state;
    refuses(EIGHT "--schedule zb-h1 --window 2",
            "--window is for --schedule window: the windows of zb-h1 follow "
            "from the stages");
    refuses(EIGHT "--schedule gpipe --act-mem 1e9",
            "--act-mem is for --schedule window or auto: the windows of gpipe "
            "follow from the stages");
    refuses(EIGHT "--schedule auto --window 2",
            "--window is for --schedule window: the windows of auto come from "
            "a search");
    refuses(EIGHT "--schedule best",
            "--schedule is 'best', it must be one of window/gpipe/1f1b/"
            "interleaved/breadth-first/zb-h1/zb-h2/zb-1p/zb-2p/zb-v/v-half/"
            "v-min/dualpipe-v/auto");
    refuses(EIGHT "--svg-detail op",
            "--svg-detail is for the picture of --trace DIR or of --dry-run "
            "--svg FILE");
    refuses(EIGHT "--svg x.svg",
            "--svg draws the plan of --dry-run; --trace DIR draws what ran");
    does_not_settle(EIGHT "--schedule 1f1b --placement v", MTLM_EXIT_USAGE,
                    "--schedule 1f1b needs 1 virtual stage on each rank; "
                    "here each has 2, placement v");
    does_not_settle(EIGHT "--schedule zb-v --placement loop", MTLM_EXIT_USAGE,
                    "--schedule zb-v needs 2 virtual stages on each rank, "
                    "placement v; here each has 2, placement loop");
    does_not_settle(
        EIGHT "--schedule interleaved --num-virtual-stages-per-pipeline-rank 1",
        MTLM_EXIT_USAGE,
        "--schedule interleaved needs 2 or more virtual stages on each rank, "
        "placement loop; here each has 1, placement loop");
}

/* With placement policy a schedule is its windows on so many workers, here
 * one, and its priorities. */
static void test_schedules_go_without_a_rank_for_each_stage(void **state)
{
    static const struct {
        const char *line;
        int w;
    } cases[] = {{"", 1},
                 {"--schedule 1f1b", 1},
                 {"--schedule zb-h1", 1},
                 {"--schedule gpipe", 4},
                 {"--schedule auto", 1}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mtlm_program_config config;
        struct mtlm_window *window;
        char *line = mtlm_sprintf(EIGHT "--placement policy %s", cases[i].line);

        assert_int_equal(settle(line, &config), 0);
        assert_int_equal(config.layout.placement, MTLM_PLACEMENT_POLICY);
        assert_int_equal(config.layout.pp, 1);
        assert_int_equal(config.layout.dp, 4);
        assert_int_equal(config.layout.virtual_stages, 4);
        window = windows_of(&config);
        for (int k = 0; k < 4; k++)
            assert_int_equal(window[k].w, cases[i].w);
        free(window);
        free(line);
    }
    assert_non_null(strstr(options.notes, "placement policy, --window 1.5000"));
    refuses(EIGHT "--placement policy --schedule zb-v",
            "--schedule zb-v places stages on ranks, and --placement policy "
            "leaves the place to the scheduling policy");
    refuses(EIGHT "--placement policy --schedule interleaved",
            "--schedule interleaved places stages on ranks, and --placement "
            "policy leaves the place to the scheduling policy");
}

/* Bytes of the activations of a microbatch on each stage. */
static double bytes_of_a_microbatch(void)
{
    struct mtlm_program_config config;
    struct mtlm_activation_memory memory;
    double each;

    assert_int_equal(settle(EIGHT, &config), 0);
    memory = mtlm_activation_memory(&config);
    each = memory.stage[0];
    for (int k = 1; k < 4; k++)
        assert_true(memory.stage[k] == each);
    mtlm_activation_memory_free(&memory);
    assert_true(each > 1000);
    return each;
}

/* alpha follows from the memory: the largest windows that fit. */
static void test_memory_decides_on_the_window(void **state)
{
    static const int least[] = {1, 1, 1, 1}, one[] = {4, 3, 2, 1};
    const double each = bytes_of_a_microbatch();
    char line[256];

    (void) state;
    snprintf(line, sizeof(line), EIGHT "--act-mem %.0f", 1.01 * each);
    gives(line, "window", 1, 0, least);
    snprintf(line, sizeof(line), EIGHT "--act-mem %.0f", 4.01 * each);
    gives(line, "window", 1, 0, one);
    snprintf(line, sizeof(line), EIGHT "--act-mem %.0f --window 1.5",
             4.01 * each);
    gives(line, "window", 1, 0, one);
}

static void test_memory_that_does_not_do_is_refused(void **state)
{
    const double each = bytes_of_a_microbatch();
    struct mtlm_program_config config;
    char line[256];

    (void) state;
    snprintf(line, sizeof(line), EIGHT "--act-mem %.0f", 0.99 * each);
    assert_int_equal(settle(line, &config), -1);
    assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
    assert_non_null(strstr(error.text, "--act-mem is "));
    snprintf(line, sizeof(line), EIGHT "--act-mem %.0f --window 1.5",
             3.9 * each);
    assert_int_equal(settle(line, &config), -1);
    assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
    assert_non_null(strstr(error.text, "the windows of --window 1.5 need"));
}

/* The bubble of the busiest rank that a plan says, in percent. */
static double bubble_of(const char *schedule)
{
    char line[512], *text, *at;
    double bubble;

    snprintf(line, sizeof(line), EIGHT "--dry-run --schedule %s", schedule);
    text = plan_of(line);
    at = strstr(text, "\nschedule  ");
    if (!at
        || sscanf(strchr(at, ':'),
                  ": bubble %*f %% of all ranks, %lf %% of the busiest",
                  &bubble)
               != 1)
        fail_msg("no schedule in\n%s", text);
    free(text);
    return bubble;
}

/* The last stage works more than the others (the head), so the figures are not
 * those of equal stages; their order is. */
static void test_a_plan_says_what_a_schedule_costs(void **state)
{
    const double one = bubble_of("1f1b"), gpipe = bubble_of("gpipe");
    const double interleaved = bubble_of("interleaved");
    const double h1 = bubble_of("zb-h1"), h2 = bubble_of("zb-h2");
    const double v = bubble_of("zb-v"), best = bubble_of("auto");

    (void) state;
    assert_float_equal(gpipe, one, 0.01);
    assert_true(one > 10 && one < 100.0 * 3 / 19);
    assert_true(interleaved < one);
    assert_true(h1 < interleaved);
    assert_true(h2 <= h1);
    assert_true(v < h1);
    /* With 1F1B's memory, too. */
    assert_true(best <= v && best <= h1);
}

/* GPT-2's head is so large that windows are as good as any order. */
static void test_auto_says_windows_that_can_be_repeated(void **state)
{
    static const char gpt[] =
        "--model gpt2-124m --workers 1 --micro-batch-size 1 "
        "--global-batch-size 16 --pipeline-model-parallel-size 4";
    struct mtlm_program_config found, again;
    char *settings, line[512];

    (void) state;
    snprintf(line, sizeof(line), "%s --schedule auto", gpt);
    assert_int_equal(settle(line, &found), 0);
    assert_string_equal(found.schedule->name, "auto");
    assert_non_null(options.notes);
    assert_non_null(strstr(options.notes, "schedule auto: "));
    settings = strstr(options.notes, "--window");
    assert_non_null(settings);
    snprintf(line, sizeof(line), "%s --placement %s %.*s %s %d", gpt,
             found.layout.placement == MTLM_PLACEMENT_V ? "v" : "loop",
             (int) strcspn(settings, "\n"), settings,
             "--num-virtual-stages-per-pipeline-rank",
             found.layout.virtual_stages);
    assert_int_equal(settle(line, &again), 0);
    assert_float_equal(again.window, found.window, 1e-9);
    assert_float_equal(again.act_mem, found.act_mem, 1);
    assert_int_equal(again.layout.placement, found.layout.placement);
}

static void test_auto_says_that_no_order_is_searched(void **state)
{
    char *plan = plan_of(
        "--model gpt-tiny --num-layers 32 --workers 1 --micro-batch-size 1 "
        "--global-batch-size 2048 --pipeline-model-parallel-size 32 "
        "--schedule auto --num-virtual-stages-per-pipeline-rank 1 --dry-run");

    (void) state;
    assert_non_null(strstr(plan, "\nschedule auto: windows only, no order is "
                                 "searched: 196608 passes an iteration, and "
                                 "the limit is 100000\n"));
    free(plan);
}

/* The iteration of a plan, in multiples of the busiest rank's work. */
static double multiple_of(const char *plan)
{
    static const char behind[] = " x that rank's work";
    const char *at = strstr(plan, behind);

    if (!at)
        fail_msg("no multiple in\n%s", plan);
    while (at[-1] != ' ')
        at--;
    return atof(at);
}

/* The stages that --schedule auto chose. */
static struct mtlm_layout stages_of(const char *plan)
{
    static const char before[] = "\nschedule auto: ";
    const char *at = strstr(plan, before);

    assert_non_null(at);
    return (struct mtlm_layout){.tp = 1,
                                .pp = 4,
                                .dp = 1,
                                .virtual_stages = atoi(at + strlen(before)),
                                .placement = strstr(at, "placement v,")
                                                 ? MTLM_PLACEMENT_V
                                                 : MTLM_PLACEMENT_LOOP,
                                .workers = 1};
}

/* Asserts that the file has the order that the options follow. */
static void assert_order_is_written(const char *path, const char *plan)
{
    char want_path[] = "/tmp/mtlm-order-XXXXXX", text[2][32 * 1024] = {""};
    const char *paths[] = {path, want_path};
    const int fd = mkstemp(want_path);
    const struct mtlm_layout layout = stages_of(plan);
    const struct mtlm_boxes boxes = {
        .layout = &layout, .microbatches = 16, .pieces = 1};

    assert_true(fd >= 0);
    close(fd);
    assert_non_null(options.order);
    assert_int_equal(options.order->n[0],
                     3 * layout.virtual_stages * boxes.microbatches);
    assert_int_equal(mtlm_order_write(want_path, &boxes, options.order, &error),
                     0);
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(paths[i], "r");

        assert_non_null(file);
        text[i][fread(text[i], 1, sizeof(text[i]) - 1, file)] = '\0';
        fclose(file);
    }
    unlink(want_path);
    assert_string_equal(text[0], text[1]);
}

static void test_auto_says_an_order_that_can_be_repeated(void **state)
{
    char path[] = "/tmp/mtlm-order-XXXXXX", line[512], *plan, *settings;
    const int fd = mkstemp(path);
    double found;

    (void) state;
    assert_true(fd >= 0);
    close(fd);
    snprintf(line, sizeof(line),
             EIGHT "--dry-run --schedule auto --schedule-out %s", path);
    plan = plan_of(line);
    assert_order_is_written(path, plan);
    found = multiple_of(plan);
    assert_non_null(strstr(plan, "the priorities of an order found by search"));
    settings = strstr(plan, "--act-mem");
    assert_non_null(settings);
    snprintf(line, sizeof(line),
             EIGHT "--dry-run --schedule-file %s --schedule-mode hint %.*s",
             path, (int) strcspn(settings, "\n"), settings);
    free(plan);
    plan = plan_of(line);
    assert_float_equal(multiple_of(plan), found, 1e-4);
    free(plan);
    unlink(path);
}

static void test_a_picture_of_the_plan_is_drawn(void **state)
{
    char path[] = "/tmp/mtlm-schedule-XXXXXX", line[512], *plan;
    const int fd = mkstemp(path);
    FILE *f;
    char text[64 * 1024];
    size_t n;

    (void) state;
    assert_true(fd >= 0);
    close(fd);
    snprintf(line, sizeof(line), EIGHT "--dry-run --schedule 1f1b --svg %s",
             path);
    plan = plan_of(line);
    free(plan);
    f = fopen(path, "r");
    assert_non_null(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = 0;
    fclose(f);
    unlink(path);
    assert_non_null(
        strstr(text, "schedule 1f1b, policy none, evaluated (1 ms = F)"));
    assert_non_null(strstr(text, "rank 3, stage 3, W microbatch 15"));
    assert_non_null(strstr(text, "</svg>"));
    snprintf(line, sizeof(line), EIGHT "--dry-run --svg /nowhere/x.svg");
    assert_int_equal(parse(line), MTLM_REQUEST_PLAN);
    f = fopen("/dev/null", "w");
    assert_int_equal(mtlm_dry_run(&options, f, &error), -1);
    fclose(f);
    assert_int_equal(error.code, MTLM_EXIT_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules_fix_layout_and_windows),
        cmocka_unit_test(test_windows_may_be_given_one_by_one),
        cmocka_unit_test(test_contradictions_are_refused),
        cmocka_unit_test(test_schedules_go_without_a_rank_for_each_stage),
        cmocka_unit_test(test_memory_decides_on_the_window),
        cmocka_unit_test(test_memory_that_does_not_do_is_refused),
        cmocka_unit_test(test_a_plan_says_what_a_schedule_costs),
        cmocka_unit_test(test_auto_says_windows_that_can_be_repeated),
        cmocka_unit_test(test_auto_says_that_no_order_is_searched),
        cmocka_unit_test(test_auto_says_an_order_that_can_be_repeated),
        cmocka_unit_test(test_a_picture_of_the_plan_is_drawn),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
