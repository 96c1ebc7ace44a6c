/* --simulate: iterations against closed forms and against the plan, and numbers
 * against formulas worked out here. */

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

#include "launch/trace/read/read_times.h"
#include "runtime/machine/plugin.h"
#include "tests/launch/parse.h"
#include "tests/launch/simulated.h"
#include "tests/launch/trace_dir.h"

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
                                 cluster_path("uniform"));
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

static void test_metrics_have_the_assumptions(void **state)
{
    json_t *n = numbers_of("dgx-a100", A100);
    const json_t *assumptions = json_object_get(n, "assumptions");
    char *text = text_of("dgx-a100", A100);
    const char *name;
    json_t *what;

    (void) state;
    assert_true(json_object_size(assumptions) >= 7);
    assert_non_null(json_object_get(assumptions, "not modelled"));
    assert_non_null(
        strstr(json_string_value(json_object_get(assumptions, "fitted")),
               "efficiency"));
    json_object_foreach((json_t *) assumptions, name, what)
    {
        char *line =
            mtlm_sprintf("\n  %-14s %s\n", name, json_string_value(what));

        assert_says(text, line);
        free(line);
    }
    free(text);
    json_decref(n);
}

/* A rank of one layer: F and B of 16 heads of 1024 x 1024 scores, of 2 bytes,
 * wait for memory at 0.8 x 2039 GB/s: softmax and dropout move 2 + 2 and 3 + 2
 * elements and two masks, in four launches more, the products 2 and 4. */
static void test_attention_costs_what_its_backend_moves(void **state)
{
    static const char line[] =
        "--model gpt2-345m --num-layers 1 --fp16 --micro-batch-size 1 "
        "--global-batch-size 1 --tensor-model-parallel-size 1 "
        "--pipeline-model-parallel-size 1 --attention-backend ";
    const double scores = 16 * 1024. * 1024, rate = 0.8 * 2039e9;
    const double most = scores * (15 * 2 + 2) / rate;
    char *flash = mtlm_sprintf("%s flash", line),
         *fused = mtlm_sprintf("%s fused", line),
         *unfused = mtlm_sprintf("%s unfused", line),
         *local = mtlm_sprintf("%s local", line), *text;
    const double none = seconds_of("dgx-a100", flash);
    const double more = seconds_of("dgx-a100", unfused) - none;

    (void) state;
    near(seconds_of("dgx-a100", fused), none, 1e-12);
    near(seconds_of("dgx-a100", local), none + more, 1e-12);
    /* The products' own bytes hide a part of the computation. */
    assert_true(more < most + 8 * 5e-6);
    assert_true(more > scores * (9 * 2 + 2) / rate + 8 * 5e-6);
    text = text_of("dgx-a100", flash);
    assert_says(text, "\n  attention      kernels that keep no scores;");
    free(text);
    text = text_of("dgx-a100", unfused);
    assert_says(text, "\n  attention      scores are written and read");
    free(text);
    free(flash);
    free(fused);
    free(unfused);
    free(local);
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
    /* The file describes a worker. */
    n = numbers_of("amd-epyc-core", "--model gpt-tiny --workers 2");
    assert_true(number(n, "mfu") < 1);
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
    assert_says(text, "; collectives of a kind take turns, ");
    assert_null(strstr(text, "precision"));
    free(text);
    text = text_of("dgx-a100", A100 "--transport serial");
    assert_says(text, "; collectives of a rank take turns, ");
    free(text);
    text =
        text_of("dgx-a100", "--model gpt2-345m --tensor-model-parallel-size 8");
    assert_says(text, "precision      fp32, but the file counts elements of 2 "
                      "bytes");
    free(text);
    text = text_of("uniform", FOUR);
    assert_says(text, "utilisation      unknown: ");
    assert_says(text, "; the cluster file gives no memory_gb\n");
    assert_says(text, "assumed        in ");
    assert_says(text, "uniform.ini: no number\n");
    free(text);
}

/* Seconds of F, B and W of all microbatches on one stage of a replica, where
 * the slowest of t ranks counts. */
static double noisy_seconds(int t, int replica, int microbatches)
{
    double seconds = 0;

    for (int m = 0; m < microbatches; m++)
        for (int phase = MTLM_PHASE_FORWARD; phase <= MTLM_PHASE_WEIGHT;
             phase++) {
            double most = 0;

            for (int peer = 0; peer < t; peer++) {
                const struct mtlm_noise_pass pass = {.replica = replica,
                                                     .peer = peer,
                                                     .microbatch = m,
                                                     .phase = phase};

                most = fmax(most, mtlm_noise_of_pass(&options.jitter,
                                                     options.seed, &pass)
                                      * (peer + t * replica == 1 ? 1.5 : 1));
            }
            seconds += 0.05 * most;
        }
    return seconds;
}

/* One stage takes the sum of its passes: of the slowest rank in each, and of
 * the slowest replica. */
static void test_noise_is_of_the_slowest(void **state)
{
    static const struct {
        int t, d;
    } jobs[] = {{1, 1}, {2, 1}, {1, 3}, {2, 2}};

    (void) state;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        const int t = jobs[i].t, d = jobs[i].d;
        char *line = mtlm_sprintf(
            "--model gpt-tiny --num-layers 8 --seq-length 32 --seed 7 "
            "--micro-batch-size 1 --global-batch-size %d --world-size %d "
            "--tensor-model-parallel-size %d "
            "--pipeline-model-parallel-size 1 --jitter 0.3%s",
            8 * d, t * d, t, t * d > 1 ? ",rank=1:1.5" : "");
        const double seconds = seconds_of("uniform", line);
        double most = 0;

        for (int r = 0; r < d; r++)
            most = fmax(most, noisy_seconds(t, r, 8));
        near(seconds, most, 1e-6);
        free(line);
    }
}

/* F, B and W take 50 ms each, times 2, 3 and 4. */
static void test_a_file_of_noise_gives_its_iteration_0(void **state)
{
    char factors[] = "/tmp/mtlm-test.XXXXXX";
    FILE *file = fdopen(mkstemp(factors), "w");
    char *line = mtlm_sprintf(
        "--model gpt-tiny --num-layers 8 --seq-length 32 --seed 7 "
        "--micro-batch-size 1 --global-batch-size 1 --world-size 1 "
        "--tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 "
        "--jitter-file %s",
        factors);
    char *both = mtlm_sprintf("%s --jitter 0.1", line);
    char *text = mtlm_sprintf("\n  noise          iteration 0 of %s; a pass "
                              "takes as long ",
                              factors);
    char *drawn = mtlm_sprintf("\n  noise          one draw, by --seed 7, and "
                               "iteration 0 of %s; a pass takes as long ",
                               factors);
    char *said;

    (void) state;
    assert_non_null(file);
    fputs("iteration,replica,stage,microbatch,pass,factor\n"
          "0,0,0,0,F,2\n0,0,0,0,B,3\n0,0,0,0,W,4\n"
          "1,0,0,0,F,1\n1,0,0,0,B,1\n1,0,0,0,W,1\n",
          file);
    fclose(file);
    near(seconds_of("uniform", line), 0.05 * (2 + 3 + 4), 1e-6);
    said = text_of("uniform", line);
    assert_says(said, text);
    free(said);
    said = text_of("uniform", both);
    assert_says(said, drawn);
    free(said);
    unlink(factors);
    free(drawn);
    free(text);
    free(both);
    free(line);
}

/* Returns schedule.csv of those microbatches; the caller frees the text.  The
 * name of the trace is free again. */
static char *schedule_of(const char *microbatches)
{
    char *line = mtlm_sprintf(A100 "--trace %s --trace-microbatches %s",
                              trace_dir, microbatches);
    char *old = mtlm_sprintf("%s/%s", trace_dir_parent, microbatches);
    char *table;

    free(text_of("dgx-a100", line));
    table = trace_dir_read("schedule.csv");
    assert_int_equal(rename(trace_dir, old), 0);
    free(old);
    free(line);
    return table;
}

/* A node of a window waits for nodes before the window: its line is the one of
 * the whole trace. */
static void test_a_window_has_the_times_of_the_whole(void **state)
{
    char *whole = schedule_of("1:8"), *part = schedule_of("5:8");
    char *rest = part, *line;
    const char *at = whole;

    (void) state;
    assert_true(count_words(part, "\n") < count_words(whole, "\n"));
    assert_true(count_words(part, ",SEND,") > 0);
    while ((line = strsep(&rest, "\n")) && *line) {
        at = strstr(at, line);
        if (!at)
            fail_msg("not in the whole trace: %s", line);
    }
    free(whole);
    free(part);
}

/* Where a stage recomputes all its layers, W of the layers runs with B. */
static void test_a_trace_counts_such_W_as_B(void **state)
{
    char *line = mtlm_sprintf(A100 "--schedule zb-h1 --recompute-granularity "
                                   "full --recompute-method block "
                                   "--recompute-num-layers 2 --trace %s",
                              trace_dir);
    struct mtlm_stage_times times;
    struct mtlm_error err;

    (void) state;
    free(text_of("dgx-a100", line));
    free(line);
    assert_int_equal(mtlm_trace_read_times(trace_dir, &times, &err), 0);
    for (int k = 1; k <= 2; k++) {
        assert_true(times.backward[k] > 2 * times.forward[k]);
        assert_float_equal(times.weight[k], 0, 0);
    }
    assert_true(times.weight[3] > 0); /* of the output layer */
    mtlm_stage_times_free(&times);
}

/* All-reduces of large layers take less than a quarter of most W: workers wait
 * for them instead of filling the time with W.  The last test: the name of the
 * policy stays for the process. */
static void test_workers_wait_without_pipeline_ranks(void **state)
{
#define LARGE_LAYERS                                                           \
    "--model gpt-tiny --num-layers 2 --hidden-size 8192 "                      \
    "--num-attention-heads 64 --seq-length 1024 --fp16 --ignore-memory "       \
    "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 "         \
    "--micro-batch-size 1 --global-batch-size 4 --schedule window "
    double waits, same, none;
    char *text;

    (void) state;
    setenv("STARPU_SCHED", "mtlm", 1);
    if (!mtlm_plugin_holds()) /* the workers of this StarPU sleep */
        skip();
    text = text_of("dgx-a100", LARGE_LAYERS);
    assert_says(text, "\n  policy         mtlm: workers wait up to 0.25 of a "
                      "task for one of higher priority\n");
    free(text);
    waits = seconds_of("dgx-a100", LARGE_LAYERS);
    setenv("MTLM_HOLD", "0.25", 1);
    same = seconds_of("dgx-a100", LARGE_LAYERS);
    setenv("MTLM_HOLD", "0", 1);
    none = seconds_of("dgx-a100", LARGE_LAYERS);
    unsetenv("MTLM_HOLD");
    near(same, waits, 1e-12);
    assert_true(fabs(none - waits) > 1e-6 * waits);
#undef LARGE_LAYERS
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules_take_what_their_formulas_say),
        cmocka_unit_test(test_the_plan_counts_the_same_seconds),
        cmocka_unit_test(test_two_simulations_are_equal_to_the_last_digit),
        cmocka_unit_test(test_metrics_have_the_assumptions),
        cmocka_unit_test(test_attention_costs_what_its_backend_moves),
        cmocka_unit_test(test_rates_follow_from_the_time),
        cmocka_unit_test(test_idle_time_is_shared_out_whole),
        cmocka_unit_test(test_noise_is_of_the_slowest),
        cmocka_unit_test(test_a_file_of_noise_gives_its_iteration_0),
        cmocka_unit_test(test_the_table_says_all),
        DIR_TEST(test_a_window_has_the_times_of_the_whole),
        DIR_TEST(test_a_trace_counts_such_W_as_B),
        cmocka_unit_test(test_workers_wait_without_pipeline_ranks),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
