/* --simulate with schedules that are chosen by evaluation: no choice takes
 * longer than what it is chosen from. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "runtime/machine/plugin.h"
#include "tests/launch/parse.h"
#include "tests/launch/simulated.h"

/* Returns the seconds of an iteration under a policy, on the machines of a
 * cluster file.  memory: of the fullest device, in bytes; NULL: nobody asks. */
static double seconds_on(const char *path, const char *policy, const char *job,
                         const char *schedule, double *memory)
{
    char *line =
        mtlm_sprintf("--fp16 --lr 1e-4 --train-iters 1 --micro-batch-size 1 "
                     "%s --schedule %s",
                     job, schedule);
    json_t *numbers;
    double seconds;

    setenv("STARPU_SCHED", policy, 1);
    assert_string_equal(mtlm_plugin_wanted(), policy);
    numbers = numbers_on(path, line);
    unsetenv("STARPU_SCHED");
    seconds = number(numbers, "iteration_s");
    if (memory)
        *memory = number(numbers, "memory_bytes");
    json_decref(numbers);
    free(line);
    return seconds;
}

/* As seconds_on(), with --ignore-memory. */
static double seconds_ignoring(const char *path, const char *policy,
                               const char *job, const char *schedule,
                               double *memory)
{
    char *more = mtlm_sprintf("%s --ignore-memory", job);
    const double seconds = seconds_on(path, policy, more, schedule, memory);

    free(more);
    return seconds;
}

static double seconds_under(const char *policy, const char *job,
                            const char *schedule, double *memory)
{
    return seconds_ignoring(cluster_path("dgx-a100"), policy, job, schedule,
                            memory);
}

static const char *const policies[] = {"prio", "mtlm"};

/* Small layers, so collectives take a good part of the time: a search by stages
 * finds an order that programs are slower with. */
#define SMALL                                                                  \
    "--world-size 16 --tensor-model-parallel-size 4 "                          \
    "--pipeline-model-parallel-size 4 --hidden-size 1024 "                     \
    "--num-attention-heads 16 --seq-length 512 --vocab-size 1000 "

/* A choice of the search before stays unless another one gains 0.1 %. */
static void test_auto_is_no_longer_than_named_schedules(void **state)
{
    static const char *const names[] = {"zb-v", "zb-h1", "v-half"};
    static const char job[] = SMALL "--num-layers 16 --global-batch-size 16";

    (void) state;
    for (int i = 0; i < 2; i++) {
        double most;
        const double chosen = seconds_under(policies[i], job, "auto", &most);

        for (int j = 0; j < 3; j++) {
            double memory;
            const double named =
                seconds_under(policies[i], job, names[j], &memory);

            if (memory <= most && chosen > named * 1.001)
                fail_msg("%s: auto %g s, %s %g s", policies[i], chosen,
                         names[j], named);
            /* zb-v has auto's memory, 1F1B's. */
            assert_true(memory <= most || j > 0);
        }
    }
}

/* Writes the cluster file of DGX A100 with so many bytes of memory; 0: without
 * a number of them. */
static void write_cluster(const char *path, double bytes)
{
    FILE *in = fopen(cluster_path("dgx-a100"), "r"), *out = fopen(path, "w");
    char line[512];

    assert_non_null(in);
    assert_non_null(out);
    while (fgets(line, sizeof(line), in))
        if (strncmp(line, "memory_gb ", 10) != 0)
            fputs(line, out);
        else if (bytes > 0)
            fprintf(out, "memory_gb = %.9f\n", 1e-9 * bytes);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* A device with just the memory of 1F1B: where W are apart, gradients need more
 * slots.  So only graphs in which B and W are one fit. */
static void test_auto_fits_where_1f1b_does(void **state)
{
    static const char job[] = SMALL "--num-layers 16 --global-batch-size 16";
    char path[] = "/tmp/mtlm-auto.XXXXXX";
    const int fd = mkstemp(path);
    double limit;
    const double published =
        seconds_under("prio", job, "1f1b --schedule-mode strict", &limit);

    (void) state;
    assert_true(fd >= 0);
    close(fd);
    write_cluster(path, limit + 1);
    for (int i = 0; i < 2; i++) {
        double memory;
        const double chosen =
            seconds_on(path, policies[i], job, "auto", &memory);

        assert_true(memory <= limit + 1);
        if (chosen > published * 1.001)
            fail_msg("%s: auto %g s, 1f1b %g s", policies[i], chosen,
                     published);
    }
    unlink(path);
}

/* --ignore-memory chooses as if the file had no number: where half of the
 * memory is missing, and where nothing fits. */
static void test_ignored_memory_changes_no_choice(void **state)
{
    static const char job[] = SMALL "--num-layers 16 --global-batch-size 16";
    char path[] = "/tmp/mtlm-auto.XXXXXX";
    const int fd = mkstemp(path);
    double need, seconds;

    (void) state;
    assert_true(fd >= 0);
    close(fd);
    write_cluster(path, 0);
    seconds = seconds_on(path, "prio", job, "auto", &need);
    for (int i = 0; i < 2; i++) {
        double memory;

        write_cluster(path, i == 0 ? need / 2 : 2e6);
        near(seconds_ignoring(path, "prio", job, "auto", &memory), seconds,
             1e-12);
        near(memory, need, 1e-12);
    }
    unlink(path);
}

/* Three virtual stages on each rank, as published, on a device with just the
 * memory for them. */
static void test_auto_knows_deep_interleaving(void **state)
{
    static const char job[] =
        "--world-size 16 --tensor-model-parallel-size 4 "
        "--pipeline-model-parallel-size 4 --num-layers 12 "
        "--hidden-size 2048 --num-attention-heads 16 --seq-length 1024 "
        "--vocab-size 1000 --global-batch-size 8 "
        "--recompute-granularity full";
    char path[] = "/tmp/mtlm-auto.XXXXXX";
    const int fd = mkstemp(path);
    double limit;
    const double published =
        seconds_under("prio", job,
                      "interleaved --schedule-mode strict "
                      "--num-layers-per-virtual-pipeline-stage 1",
                      &limit);

    (void) state;
    assert_true(fd >= 0);
    close(fd);
    write_cluster(path, limit + 1);
    for (int i = 0; i < 2; i++) {
        const double chosen = seconds_on(path, policies[i], job,
                                         "auto --act-mem 1000000000000", NULL);

        if (chosen > published * 1.001)
            fail_msg("%s: auto %g s, interleaved %g s", policies[i], chosen,
                     published);
    }
    unlink(path);
}

/* Workers that wait for messages follow places in an order only where programs
 * gain by the order. */
static void test_places_lengthen_no_iteration(void **state)
{
    static const char job[] = SMALL "--num-layers 32 --global-batch-size 64 "
                                    "--placement v "
                                    "--num-layers-per-virtual-pipeline-stage 4";

    (void) state;
    assert_true(seconds_under("mtlm", job, "window --window 2.5", NULL)
                <= seconds_under("prio", job, "window --window 2.5", NULL)
                       * 1.0001);
}

/* Two thirds of GPT 175B, 145,000 nodes: the first 16 of 64 microbatches take
 * less time with waits, all of them more. */
static void test_waits_lengthen_no_iteration(void **state)
{
    static const char job[] =
        "--world-size 64 --tensor-model-parallel-size 8 "
        "--pipeline-model-parallel-size 8 --num-layers 64 "
        "--hidden-size 12288 --num-attention-heads 96 --seq-length 2048 "
        "--vocab-size 50257 --global-batch-size 64 --sequence-parallel "
        "--recompute-granularity selective --as 2022 --ours all "
        "--placement v --num-layers-per-virtual-pipeline-stage 4 "
        "--window 2.4225 --act-mem 6860000000";

    (void) state;
    assert_true(seconds_under("mtlm", job, "window", NULL)
                <= seconds_under("prio", job, "window", NULL) * 1.0001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auto_is_no_longer_than_named_schedules),
        cmocka_unit_test(test_auto_fits_where_1f1b_does),
        cmocka_unit_test(test_ignored_memory_changes_no_choice),
        cmocka_unit_test(test_auto_knows_deep_interleaving),
        cmocka_unit_test(test_places_lengthen_no_iteration),
        cmocka_unit_test(test_waits_lengthen_no_iteration)};

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
