/* --simulate: iterations against closed forms and against the plan, numbers
 * against formulas worked out here, and refused options. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "launch/simulate/simulate.h"
#include "tests/launch/parse.h"
#include "tests/launch/simulated.h"

static char metrics[] = "/tmp/mtlm-simulate.XXXXXX";

/* Returns the path of a cluster file of the tree. */
static const char *cluster(const char *name)
{
    static char path[512];
    const char *srcdir = getenv("srcdir");

    snprintf(path, sizeof(path), "%s/launch/clusters/%s.ini",
             srcdir ? srcdir : ".", name);
    return path;
}

/* Returns what the command prints; the caller frees the text. */
static char *text_of(const char *name, const char *line)
{
    char *all = mtlm_sprintf("--simulate %s %s", cluster(name), line);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(parse(all), MTLM_REQUEST_SIMULATE);
    if (mtlm_simulate(&options, out, &error) < 0)
        fail_msg("%s: %s", all, error.text);
    fclose(out);
    free(all);
    return text;
}

/* Returns the object "simulation" of --metrics; the caller frees it. */
static json_t *numbers_of(const char *name, const char *line)
{
    char *more = mtlm_sprintf("%s --metrics %s", line, metrics);
    json_error_t why;
    json_t *all, *numbers;

    unlink(metrics);
    free(text_of(name, more));
    all = json_load_file(metrics, JSON_REJECT_DUPLICATES, &why);
    if (!all)
        fail_msg("%s: %s", line, why.text);
    numbers = json_incref(json_object_get(all, "simulation"));
    assert_non_null(numbers);
    json_decref(all);
    free(more);
    return numbers;
}

static double number(const json_t *numbers, const char *name)
{
    const json_t *value = json_object_get(numbers, name);

    if (!json_is_number(value))
        fail_msg("%s is no number", name);
    return json_number_value(value);
}

static double seconds_of(const char *name, const char *line)
{
    json_t *numbers = numbers_of(name, line);
    const double seconds = number(numbers, "iteration_s");

    json_decref(numbers);
    return seconds;
}

/* Four equal stages, free messages; F, B and W of a microbatch on a rank take
 * 50 ms each. */
#define FOUR                                                                   \
    "--model gpt-tiny --num-layers 8 --seq-length 32 --micro-batch-size 1 "    \
    "--tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 "

static void test_schedules_take_what_their_formulas_say(void **state)
{
    (void) state;
    /* (m + p - 1) (F + B + W) */
    near(seconds_of("uniform", FOUR "--global-batch-size 8 --schedule 1f1b"),
         (8 + 3) * 0.15, 1e-6);
    near(seconds_of("uniform", FOUR "--global-batch-size 5 --schedule 1f1b"),
         (5 + 3) * 0.15, 1e-6);
    /* (m + (p - 1) / v) (F + B + W) */
    near(seconds_of("uniform", FOUR "--global-batch-size 8 "
                                    "--schedule interleaved"),
         (8 + 3 / 2.0) * 0.15, 1e-6);
    /* m (F + B + W) + (p - 1) (F + B - W): arXiv 2401.10241, table 2. */
    near(seconds_of("uniform", FOUR "--global-batch-size 8 --schedule zb-h1 "
                                    "--schedule-mode strict"),
         8 * 0.15 + 3 * 0.05, 1e-6);
    /* Replicas share the microbatches. */
    near(seconds_of("uniform", FOUR "--global-batch-size 16 --schedule 1f1b "
                                    "--world-size 8"),
         (8 + 3) * 0.15, 1e-6);
}

#define PUBLISHED                                                              \
    "--lr 1e-4 --train-iters 1 --fp16 --seq-length 1024 --vocab-size 50257 "   \
    "--micro-batch-size 8 --global-batch-size 8 --ignore-memory "              \
    "--pipeline-model-parallel-size 1 --recompute-granularity full "           \
    "--recompute-method uniform --recompute-num-layers 1 "

/* Megatron-LM v1.0 on a DGX-2H: 1288 ms, the fitted row, and 1508 ms. */
static void test_published_code_takes_the_published_time(void **state)
{
    (void) state;
    near(seconds_of("dgx-2h",
                    PUBLISHED "--as v1.0 --num-layers 24 --hidden-size 1920 "
                              "--num-attention-heads 15 "
                              "--tensor-model-parallel-size 1"),
         1.288, 0.01);
    near(seconds_of("dgx-2h",
                    PUBLISHED "--as megatron-v1.0 --num-layers 42 "
                              "--hidden-size 4096 --num-attention-heads 32 "
                              "--tensor-model-parallel-size 8"),
         1.508, 0.03);
}

/* Published code follows the order of 1f1b or interleaved strictly. */
static void test_published_code_has_the_features_of_its_year(void **state)
{
    static const struct {
        const char *line, *error;
    } cases[] = {
        {"--as 2021 --schedule zb-v", "--as 2021: Megatron-LM v2.5 (arXiv "
                                      "2104.04473) never had a schedule but "
                                      "1f1b and interleaved"},
        {"--as megatron-2019",
         "--as megatron-2019: Megatron-LM of 2019 (arXiv 1909.08053) never had "
         "a pipeline"},
        {"--as 2020-09 --schedule interleaved",
         "--as 2020-09: Megatron-LM before interleaving (figures of 2021-01) "
         "never had virtual stages"}};

    (void) state;
    near(seconds_of("uniform", FOUR "--global-batch-size 8 --as 2021"),
         (8 + 3) * 0.15, 1e-6);
    near(seconds_of("uniform", FOUR "--global-batch-size 8 --as 2021 "
                                    "--num-virtual-stages-per-pipeline-rank 2"),
         (8 + 3 / 2.0) * 0.15, 1e-6);
    /* Layers of stages make no virtual stages. */
    near(seconds_of("uniform", FOUR "--global-batch-size 8 --as 2021 "
                                    "--stage-layers 2,3,2,1"),
         seconds_of("uniform", FOUR "--global-batch-size 8 --as 2021 "
                                    "--schedule 1f1b --stage-layers 2,3,2,1"),
         1e-12);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *line =
            mtlm_sprintf(FOUR "--global-batch-size 8 %s", cases[i].line);

        assert_null(simulated(cluster("uniform"), line));
        assert_int_equal(error.code, MTLM_EXIT_USAGE);
        assert_string_equal(error.text, cases[i].error);
        free(line);
    }
    refuses("--model gpt-tiny --as 2021", "--as is for --simulate CLUSTER.ini");
    refuses("--model gpt-tiny --simulate x.ini --as 2018",
            "--as is '2018', it must be megatron-2019, v1.0, 2020-09, 2021, "
            "2022 or deepspeed");
    refuses("--model gpt-tiny --simulate x.ini --as 2021 --schedule-mode hint",
            "--as follows the order of its schedule; leave out "
            "--schedule-mode");
}

#define EIGHT_GPUS                                                             \
    "--num-layers 42 --hidden-size 4096 --num-attention-heads 32 "             \
    "--tensor-model-parallel-size 8 "

/* The parts that --ours replaces: with the published kernels, our order has the
 * closed forms of our schedules, and pruned layers recompute less. */
static void test_our_parts_replace_those_of_published_code(void **state)
{
    const double whole = seconds_of("dgx-2h", PUBLISHED EIGHT_GPUS "--as v1.0");
    const double pruned =
        seconds_of("dgx-2h", PUBLISHED EIGHT_GPUS "--as v1.0 --ours recompute");

    (void) state;
    assert_true(pruned < 0.97 * whole);
    near(seconds_of("uniform", FOUR "--global-batch-size 8 --as 2021 "
                                    "--ours overlap --schedule zb-h1 "
                                    "--schedule-mode strict"),
         8 * 0.15 + 3 * 0.05, 1e-6);
    /* The default schedule is the published one. */
    near(seconds_of("uniform", FOUR "--global-batch-size 5 --as 2020-09 "
                                    "--ours all"),
         (5 + 3) * 0.15, 1e-6);
    refuses("--model gpt-tiny --simulate x.ini --ours all",
            "--ours replaces parts of published code and is for --as");
    refuses("--model gpt-tiny --simulate x.ini --as 2021 --ours recompute "
            "--schedule-mode hint",
            "--as follows the order of its schedule; leave out "
            "--schedule-mode");
}

/* The plan evaluates passes of stages, the simulation all nodes. */
static void test_the_plan_counts_the_same_seconds(void **state)
{
    static const char *const schedules[] = {"gpipe",
                                            "1f1b",
                                            "interleaved",
                                            "zb-h1 --schedule-mode strict",
                                            "zb-h2 --schedule-mode strict",
                                            "zb-v --schedule-mode strict"};

    (void) state;
    for (size_t i = 0; i < sizeof(schedules) / sizeof(schedules[0]); i++) {
        char *line = mtlm_sprintf(FOUR "--global-batch-size 8 --schedule %s "
                                       "--workers 1",
                                  schedules[i]);
        char *all = mtlm_sprintf("%s --dry-run --synthetic %s", line,
                                 cluster("uniform"));
        char *plan = plan_of(all);
        char *begin = mtlm_sprintf(
            "\nschedule         %.*s: ", (int) strcspn(schedules[i], " "),
            schedules[i]);
        const char *at = strstr(plan, begin);

        if (!at)
            fail_msg("no \"%s\" in\n%s", begin, plan);
        near(seconds_of("uniform", line), atof(at + strlen(begin)), 2e-6);
        free(begin);
        free(plan);
        free(all);
        free(line);
    }
}

#define A100                                                                   \
    "--model gpt2-345m --fp16 --num-layers 8 --world-size 16 "                 \
    "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 "         \
    "--micro-batch-size 1 --global-batch-size 16 "

static void test_two_simulations_are_equal_to_the_last_digit(void **state)
{
    json_t *one = numbers_of("dgx-a100", A100);
    json_t *two = numbers_of("dgx-a100", A100);
    char *first = text_of("dgx-a100", A100),
         *second = text_of("dgx-a100", A100);

    (void) state;
    assert_true(json_equal(one, two));
    assert_string_equal(first, second);
    json_decref(one);
    json_decref(two);
    free(first);
    free(second);
}

/* 72 B s l h^2 (1 + s / 6h + V / 12lh), arXiv 2205.05198, equation 7, with
 * V = 50257 padded to 50304 = 393 x 128; the peak is 312 TFLOP/s. */
static void test_rates_follow_from_the_time(void **state)
{
    const double h = 1024, s = 1024, l = 8, v = 50304, b = 16;
    const double flops =
        72 * b * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
    json_t *n = numbers_of("dgx-a100", A100);
    const double seconds = number(n, "iteration_s");

    (void) state;
    near(number(n, "model_flops"), flops, 1e-11);
    near(number(n, "samples_per_s"), b / seconds, 1e-11);
    near(number(n, "tokens_per_s"), b * s / seconds, 1e-11);
    near(number(n, "tflop_per_s_per_gpu"), 1e-12 * flops / (16 * seconds),
         1e-11);
    near(number(n, "pflop_per_s"), 1e-15 * flops / seconds, 1e-11);
    near(number(n, "mfu"), flops / (16 * seconds * 312e12), 1e-11);
    near(number(n, "hfu"), number(n, "mfu"), 1e-11);
    json_decref(n);
    /* Layers have 1 + s / 6h of 1 + s / 6h + V / 12lh = 1.678; F of the layers
     * once more adds at most a third of their FLOPs. */
    n = numbers_of("dgx-a100", A100 "--recompute-granularity full");
    assert_true(number(n, "hfu") > 1.1 * number(n, "mfu"));
    assert_true(number(n, "hfu") < 1.232 * number(n, "mfu"));
    json_decref(n);
}

/* Idle time of the busiest rank: during messages, or without. */
static void test_idle_time_is_shared_out_whole(void **state)
{
    static const char *const kinds[] = {"tensor_parallel", "pipeline",
                                        "data_parallel", "embedding", "other"};
    json_t *n = numbers_of("dgx-a100", A100);
    const json_t *exposed = json_object_get(n, "exposed_s");
    double idle = number(n, "waiting_s");

    (void) state;
    assert_int_equal(json_object_size(exposed), 5);
    for (int i = 0; i < 5; i++)
        idle += number(exposed, kinds[i]);
    near(idle, number(n, "busiest_bubble") * number(n, "iteration_s"), 1e-9);
    assert_true(number(exposed, "tensor_parallel") > 0);
    assert_true(number(exposed, "data_parallel") > 0);
    assert_true(number(n, "bubble") >= number(n, "busiest_bubble"));
    json_decref(n);
    /* Without messages a rank waits for computation only. */
    n = numbers_of("uniform", FOUR "--global-batch-size 8 --schedule 1f1b");
    near(number(n, "waiting_s"), 3 * 0.15, 1e-6);
    near(number(n, "bubble"), 3 / 11.0, 1e-6);
    assert_true(json_is_null(json_object_get(n, "mfu")));
    json_decref(n);
}

static void test_the_table_says_all(void **state)
{
    char *text = text_of("dgx-a100", A100);

    (void) state;
    assert_says(text, "a simulation, nothing runs\n");
    assert_says(text, "tensor 2 x pipeline 4 x data 2 = 16 ranks, 1 worker "
                      "each\n");
    assert_says(text, "16 samples = 2 x 8 microbatches of 1 x 1024 tokens\n");
    assert_says(text, " s an iteration: ");
    assert_says(text, "% of 312 TFLOP/s\n");
    assert_says(text, "folding        4 of 16 ranks are evaluated");
    assert_says(text, "the ready node of highest priority starts\n");
    assert_says(text, "memory_efficiency");
    free(text);
    text = text_of("uniform", FOUR);
    assert_says(text, "utilisation      unknown: ");
    assert_says(text, "; the cluster file gives no memory_gb\n");
    assert_says(text, "assumed        in ");
    assert_says(text, "uniform.ini: no number\n");
    free(text);
}

static void test_what_contradicts_is_refused(void **state)
{
    static const char *const others[] = {"--dry-run", "--synthetic x.ini",
                                         "--generate x", "--eval-only"};
    static const char *const times[] = {"--jitter 0.1", "--slow-rank 0:0.5",
                                        "--stretch 2"};

    (void) state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        char *line =
            mtlm_sprintf("--model gpt-tiny --simulate x.ini %s", others[i]);
        char *why = mtlm_sprintf("--simulate predicts a training and "
                                 "contradicts %.*s; give one of them",
                                 (int) strcspn(others[i], " "), others[i]);

        refuses(line, why);
        free(why);
        free(line);
    }
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        char *line =
            mtlm_sprintf("--model gpt-tiny --simulate x.ini %s", times[i]);

        assert_int_equal(parse(line), -1);
        assert_int_equal(error.code, MTLM_EXIT_USAGE);
        assert_says(error.text, "is for --synthetic");
        free(line);
    }
    refuses("--model gpt-tiny --ignore-memory",
            "--ignore-memory is for --simulate CLUSTER.ini");
    refuses("--model gpt-tiny --trace x --trace-microbatches 1:2",
            "--trace-microbatches is for --simulate CLUSTER.ini");
    refuses("--model gpt-tiny --simulate x.ini --trace-microbatches 1:2",
            "--trace-microbatches is for --trace DIR");
    refuses("--model gpt-tiny --simulate x.ini --trace x --trace-iterations "
            "1:2",
            "--simulate has one iteration; --trace-microbatches chooses a "
            "part for --trace DIR");
    refuses("--model gpt-tiny --simulate x.ini --save x",
            "--save needs computed values, and --simulate computes none");
    refuses("--model gpt-tiny --simulate x.ini --replan-after 2",
            "--replan-after measures iterations, and --simulate runs none");
    refuses("--model gpt-tiny --simulate x.ini --tensorboard-dir x",
            "--tensorboard-dir needs a run, and --simulate runs nothing");
}

/* No assertion, no infinite rate: the clock counts 1 ns to 10^7 s. */
static void test_times_beyond_the_clock_are_refused(void **state)
{
    static const struct {
        const char *device, *why;
    } rows[] = {
        {"1e-6\nefficiency = 1e-6\nmemory_gb_per_s = 1e-3",
         "an iteration takes more than 10^7 s at the rates of "},
        {"1e9\nefficiency = 1\nmemory_gb_per_s = 1e9",
         "no task of an iteration takes a nanosecond at the rates of "},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *line = mtlm_sprintf("--model gpt-tiny --simulate %s", metrics);
        FILE *file = fopen(metrics, "w");

        assert_non_null(file);
        fprintf(file, "[device]\npeak_tflop_per_s = %s\n", rows[i].device);
        fclose(file);
        assert_int_equal(parse(line), MTLM_REQUEST_SIMULATE);
        assert_int_equal(mtlm_simulate(&options, stdout, &error), -1);
        assert_int_equal(error.code, MTLM_EXIT_USAGE);
        assert_says(error.text, rows[i].why);
        assert_says(error.text, metrics);
        free(line);
    }
}

static int remove_metrics(void **state)
{
    unlink(metrics);
    return parse_teardown(state);
}

static int make_metrics(void **state)
{
    const int fd = mkstemp(metrics);

    if (fd < 0)
        return -1;
    close(fd);
    return parse_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules_take_what_their_formulas_say),
        cmocka_unit_test(test_published_code_takes_the_published_time),
        cmocka_unit_test(test_published_code_has_the_features_of_its_year),
        cmocka_unit_test(test_our_parts_replace_those_of_published_code),
        cmocka_unit_test(test_the_plan_counts_the_same_seconds),
        cmocka_unit_test(test_two_simulations_are_equal_to_the_last_digit),
        cmocka_unit_test(test_rates_follow_from_the_time),
        cmocka_unit_test(test_idle_time_is_shared_out_whole),
        cmocka_unit_test(test_the_table_says_all),
        cmocka_unit_test(test_what_contradicts_is_refused),
        cmocka_unit_test(test_times_beyond_the_clock_are_refused),
    };

    return cmocka_run_group_tests(tests, make_metrics, remove_metrics);
}
