/* --simulate on a machine of eight devices: their number and memory are limits,
 * and the fastest layout within them is found. */

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

#include "launch/simulate/simulate.h"
#include "tests/launch/parse.h"
#include "tests/launch/simulated.h"

static char machine[] = "/tmp/mtlm-cluster.XXXXXX";

/* Two hosts of four devices of 1 GB. */
static int write_machine(void **state)
{
    const int fd = mkstemp(machine);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

    if (!file)
        return -1;
    fputs("[device]\npeak_tflop_per_s = 100\nefficiency = 0.5\n"
          "memory_gb = 1 ; assumed\nmemory_gb_per_s = 1000 ; assumed\n"
          "[host]\nlatency_us = 1\n# a guess\n# Assumed, too:\n"
          "gb_per_s = 100\n[network]\nlatency_us = 5 ; ASSUMED\n"
          "devices = 4\nhosts = 2\n",
          file);
    return fclose(file) ? -1 : parse_setup(state);
}

static int remove_machine(void **state)
{
    unlink(machine);
    return parse_teardown(state);
}

static void test_one_rank_is_said(void **state)
{
    char *text = simulated(machine, "--model gpt-tiny --fp16");

    (void) state;
    assert_says(text, "\none rank: the options give neither --world-size nor a "
                      "layout\n");
    free(text);
    text = simulated(machine, "--model gpt-tiny --fp16 --world-size 1");
    assert_null(strstr(text, "one rank: "));
    free(text);
    text = plan_of("--model gpt-tiny --dry-run");
    assert_says(text, "\none rank: the options give neither --world-size nor a "
                      "layout\n");
    free(text);
}

/* The hosts that the file does not name are an assumption. */
static void test_hosts_are_said_or_assumed(void **state)
{
    static const char job[] =
        "--model gpt-tiny --fp16 --world-size 16 "
        "--tensor-model-parallel-size 2 --global-batch-size 16";
    char *text = text_of("dgx-h100", job);

    (void) state;
    assert_says(text, "\n  hosts          2, which the ranks fill: the file "
                      "does not say how many there are\n");
    free(text);
    text = text_of("dgx-a100", job);
    assert_null(strstr(text, "\n  hosts "));
    free(text);
    text = text_of("uniform", FOUR);
    assert_says(text, "\n  hosts          one: the file has no section "
                      "[network]\n");
    free(text);
}

static void test_the_size_of_the_machine_is_a_limit(void **state)
{
    static const char large[] =
        "--model gpt2-345m --tensor-model-parallel-size 2 "
        "--pipeline-model-parallel-size 2 --micro-batch-size 1 "
        "--global-batch-size 2 ";
    char *text, *more, *why;

    (void) state;
    why = mtlm_sprintf("16 ranks are more than the 8 devices of %s: hosts = "
                       "2, devices = 4",
                       machine);
    assert_null(simulated(machine,
                          "--model gpt-tiny --world-size 16 "
                          "--tensor-model-parallel-size 1 "
                          "--global-batch-size 16 --micro-batch-size 1"));
    assert_string_equal(error.text, why);
    assert_int_equal(error.code, MTLM_EXIT_USAGE);
    free(why);
    assert_null(simulated(machine, large));
    assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
    assert_says(error.text, "gpt2-345m (tensor 2 x pipeline 2 x data 1, micro "
                            "batch 1) needs ");
    assert_says(error.text, " gives a device 0.93 GiB; --ignore-memory "
                            "simulates the job all the same");
    more = mtlm_sprintf("%s --ignore-memory", large);
    text = simulated(machine, more);
    assert_non_null(text);
    assert_says(text, ", which has 0.93 GiB: the job does not fit\n");
    assert_says(text, ": memory_gb of [device], memory_gb_per_s, gb_per_s of "
                      "[host], latency_us of [network]\n");
    free(text);
    free(more);
}

/* Four ranks of the small machine. */
#define SEARCH                                                                 \
    "--model gpt-tiny --num-layers 8 --fp16 --world-size 4 "                   \
    "--global-batch-size 8 --schedule 1f1b "

static double seconds_in(const char *text)
{
    const char *at = text ? strstr(text, " s an iteration: ") : NULL;

    assert_non_null(at);
    while (at[-1] != ' ')
        at--;
    return atof(at);
}

/* Returns the text behind phrase, up to the end of its line. */
static char *rest_of_line(const char *text, const char *phrase)
{
    const char *at = text ? strstr(text, phrase) : NULL;

    if (!at)
        fail_msg("no \"%s\" in\n%s", phrase, text ? text : error.text);
    at += strlen(phrase);
    return mtlm_sprintf("%.*s", (int) strcspn(at, "\n"), at);
}

/* Of six layouts of four ranks, none is faster than the one that is found. */
static void test_the_fastest_layout_is_found(void **state)
{
    static const char given[] =
        SEARCH "--micro-batch-size 1 --recompute-granularity none "
               "--num-virtual-stages-per-pipeline-rank 1 ";
    char *text, *line;
    double found, least = INFINITY;

    (void) state;
    text = simulated(machine, given);
    found = seconds_in(text);
    assert_says(text, "\nFastest layouts, of 6 weighed and 6 simulated;");
    free(text);
    for (int t = 1; t <= 4; t *= 2)
        for (int p = 1; t * p <= 4; p *= 2) {
            line = mtlm_sprintf("%s --tensor-model-parallel-size %d "
                                "--pipeline-model-parallel-size %d",
                                given, t, p);
            text = simulated(machine, line);
            least = fmin(least, seconds_in(text));
            assert_null(strstr(text, "Fastest layouts"));
            free(text);
            free(line);
        }
    near(found, least, 1e-9);
}

/* Asserts that layouts that the job finds take the same time and memory when
 * they are given. */
static void give_found(const char *job)
{
    char *text = simulated(machine, job), *line, *given, *memory;
    int t, p, d, rows = 0;
    double seconds, gib;

    assert_non_null(text);
    for (const char *at = strstr(text, "\nFastest layouts, of "); at;
         at = strchr(at + 1, '\n')) {
        if (sscanf(at, "%d %d %d %*d %*d none %lf %*f %lf", &t, &p, &d,
                   &seconds, &gib)
            < 5)
            continue;
        line = mtlm_sprintf("%s --tensor-model-parallel-size %d "
                            "--pipeline-model-parallel-size %d",
                            job, t, p);
        given = simulated(machine, line);
        near(seconds_in(given), seconds, 1e-9);
        memory = rest_of_line(given, "\nmemory           ");
        near(strtod(memory, NULL), gib, 1e-9);
        free(memory);
        free(given);
        free(line);
        rows += t > 1 && p > 1;
    }
    assert_true(rows > 0);
    free(text);
}

/* The windows of a layout that was found are those of a run, and collectives
 * take turns as in a run. */
static void test_a_found_layout_may_be_given(void **state)
{
#define JOB                                                                    \
    "--model gpt2-345m --num-layers 8 --fp16 --world-size 8 "                  \
    "--global-batch-size 16 --micro-batch-size 1 --ignore-memory "             \
    "--recompute-granularity none "                                            \
    "--num-virtual-stages-per-pipeline-rank 1 "
    (void) state;
    give_found(JOB);
    give_found(JOB "--transport serial");
#undef JOB
}

/* Six ranks on hosts of four: the first three ranks share a host, the next
 * three do not.  Six ranks of one sample have no other layout. */
static void test_groups_of_a_found_layout_lie_alike(void **state)
{
#define SIX                                                                    \
    "--model gpt-tiny --num-layers 1 --hidden-size 96 --ffn-hidden-size 384 "  \
    "--num-attention-heads 12 --fp16 --world-size 6 --micro-batch-size 1 "     \
    "--recompute-granularity none --schedule 1f1b "                            \
    "--num-virtual-stages-per-pipeline-rank 1 "
    char *text = simulated(machine, SIX "--global-batch-size 6");

    (void) state;
    assert_non_null(text);
    assert_says(text, "\nFastest layouts, of 4 weighed and 2 simulated;");
    assert_null(strstr(text, "lie unlike on the hosts"));
    free(text);
    text = simulated(machine, SIX "--global-batch-size 1");
    assert_non_null(text);
    assert_says(text, "\nFastest layouts, of 1 weighed and 1 simulated;");
    assert_says(text, "; the others lie unlike on the hosts\n");
    free(text);
#undef SIX
}

/* Micro batch and recomputation are chosen with the layout, within memory. */
static void test_a_search_keeps_to_memory(void **state)
{
    char *text;

    (void) state;
    text = simulated(machine, "--model gpt-tiny --fp16 --world-size 4 "
                              "--global-batch-size 64");
    assert_non_null(text);
    assert_true(options.micro_batch_size > 1);
    assert_int_equal(options.recompute.granularity, MTLM_RECOMPUTE_NONE);
    free(text);
    /* 16 bytes and more for each of 153 million parameters: eight devices of 1
     * GB hold them in parts, two do not. */
    text = simulated(machine, "--model gpt2-345m --num-layers 8 --fp16 "
                              "--world-size 8 --global-batch-size 64");
    assert_non_null(text);
    assert_null(strstr(text, "the job does not fit"));
    assert_true(options.tensor_parallel * options.pipeline_parallel == 8);
    free(text);
    /* The limit of activations counts, too. */
    text = simulated(machine, "--model gpt-tiny --num-layers 8 --fp16 "
                              "--world-size 4 --global-batch-size 8 "
                              "--act-mem 1e6");
    assert_non_null(text);
    free(text);
    assert_null(simulated(machine, "--model gpt2-345m --num-layers 8 --fp16 "
                                   "--world-size 2 --global-batch-size 64"));
    assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
    assert_says(error.text, " layouts of gpt2-345m on 2 ranks fits into the "
                            "0.93 GiB of a device of /tmp/");
}

/* A model of the user's own: nothing but its sizes is needed. */
static void test_a_simulation_needs_no_recipe(void **state)
{
#define OWN                                                                    \
    "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 32 " \
    "--fp16 --world-size 4 "
    char *text;

    (void) state;
    text = simulated(machine, OWN "--global-batch-size 64");
    if (!text)
        fail_msg("%s", error.text);
    assert_true(options.micro_batch_size > 1); /* searched */
    free(text);
    text = simulated(machine, OWN "--global-batch-size 64 --min-lr 1e-5 "
                                  "--lr-warmup-iters 10 "
                                  "--tensor-model-parallel-size 2");
    if (!text)
        fail_msg("%s", error.text);
    assert_says(text, " x 32 microbatches of 1 x 32 tokens\n");
    free(text);
    free(plan_of(OWN "--dry-run --pipeline-model-parallel-size 2"));
    refuses("--num-layers 4 --hidden-size 64 --num-attention-heads 4 "
            "--dry-run",
            "--seq-length is missing; give it, or start from a preset such as "
            "--model gpt-tiny");
    refuses("--num-layers 4 --hidden-size 64 --num-attention-heads 4 "
            "--seq-length 32",
            "--micro-batch-size is missing; give it, or start from a preset "
            "such as --model gpt-tiny");
#undef OWN
}

/* --dry-run on a described machine plans the layout that --simulate finds, for
 * the same workers and memory. */
static void test_a_plan_takes_the_fastest_layout(void **state)
{
    char *text, *all, *one, *two, *need;
    size_t size;
    FILE *out;

    (void) state;
    text = simulated(machine, SEARCH);
    one = rest_of_line(text, "\nlayout           ");
    free(text);
    all = mtlm_sprintf("--dry-run --synthetic %s " SEARCH, machine);
    assert_int_equal(parse(all), MTLM_REQUEST_PLAN);
    out = open_memstream(&text, &size);
    if (mtlm_simulate_plan(&options, out, &error) < 0)
        fail_msg("%s", error.text);
    free(all);
    fclose(out);
    two = rest_of_line(text, "\nlayout           ");
    assert_string_equal(one, two);
    /* The table's first row ends with the memory. */
    need = rest_of_line(strstr(text, "\nFastest layouts, of "), " GiB\n");
    all = mtlm_sprintf("It fits: %s GiB are needed on a device, and %s gives a "
                       "device 0.93 GiB.\n",
                       strrchr(need, ' ') + 1, machine);
    assert_says(text, all);
    free(need);
    free(one);
    free(two);
    free(text);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_rank_is_said),
        cmocka_unit_test(test_hosts_are_said_or_assumed),
        cmocka_unit_test(test_the_size_of_the_machine_is_a_limit),
        cmocka_unit_test(test_the_fastest_layout_is_found),
        cmocka_unit_test(test_a_found_layout_may_be_given),
        cmocka_unit_test(test_groups_of_a_found_layout_lie_alike),
        cmocka_unit_test(test_a_search_keeps_to_memory),
        cmocka_unit_test(test_a_simulation_needs_no_recipe),
        cmocka_unit_test(test_a_plan_takes_the_fastest_layout),
    };

    return cmocka_run_group_tests(tests, write_machine, remove_machine);
}
