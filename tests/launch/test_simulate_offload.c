/* --simulate with --offload: the disk's time, what hides it, what has no model
 * of it, and its row in a trace. */

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

#include "tests/launch/parse.h"
#include "tests/launch/simulated.h"
#include "tests/launch/trace_dir.h"

#define JOB                                                                    \
    "--model gpt-tiny --num-layers 8 --hidden-size 128 --seq-length 32 "       \
    "--micro-batch-size 1 --global-batch-size 4 --workers 1 "

static char cluster_file[] = "/tmp/mtlm-cluster.XXXXXX";

/* Writes a machine of 10 GFLOP/s.  more: further keys and sections. */
static void describe(const char *more)
{
    FILE *out = fopen(cluster_file, "w");

    assert_non_null(out);
    fprintf(out,
            "[device]\npeak_tflop_per_s = 0.01\nefficiency = 0.8\n"
            "memory_gb_per_s = 10\nelement_bytes = 4\n%s",
            more);
    fclose(out);
}

static void describe_disk(double read, double written)
{
    char *text = mtlm_sprintf("[disk]\nread_gb_per_s = %g\nwrite_gb_per_s = "
                              "%g\n",
                              read, written);

    describe(text);
    free(text);
}

static double part(const json_t *numbers, const char *name)
{
    return number(json_object_get(numbers, "disk"), name);
}

/* A slow disk is all that takes time: each byte once, at its rate. */
static void test_a_slow_disk_decides(void **state)
{
    static const char *const amounts[] = {"optimizer", "all"};

    (void) state;
    describe_disk(1e-4, 2e-4);
    for (size_t i = 0; i < 2; i++) {
        char *line = mtlm_sprintf(JOB "--offload %s", amounts[i]);
        json_t *n = numbers_on(cluster_file, line);
        const double seconds = number(n, "iteration_s");
        const double moving = part(n, "moving_s");

        near(moving,
             part(n, "read_bytes") / 1e5 + part(n, "written_bytes") / 2e5,
             1e-6);
        assert_true(part(n, "read_bytes") > 1e6);
        assert_true(seconds >= moving && seconds < 1.01 * moving);
        near(part(n, "exposed_s"), moving - part(n, "hidden_s"), 1e-6);
        near(number(n, "busiest_bubble") * seconds,
             part(n, "exposed_s") + number(n, "waiting_s"), 1e-6);
        json_decref(n);
        free(line);
    }
}

/* A fast disk leaves the time of the job in memory. */
static void test_a_fast_disk_is_hidden(void **state)
{
    json_t *memory, *disk;

    (void) state;
    describe_disk(1e6, 1e6);
    memory = numbers_on(cluster_file, JOB);
    disk = numbers_on(cluster_file, JOB "--offload optimizer");
    assert_true(json_is_null(json_object_get(memory, "disk")));
    near(number(disk, "iteration_s"), number(memory, "iteration_s"), 1e-4);
    near(number(disk, "products_s"), number(memory, "products_s"), 1e-12);
    json_decref(memory);
    json_decref(disk);
}

/* Products at the peak: model FLOPs, and with full recomputation those of F of
 * the layers once more. */
static void test_the_floor_counts_products(void **state)
{
    json_t *n;
    double flops;

    (void) state;
    describe_disk(1, 1);
    n = numbers_on(cluster_file, JOB "--offload optimizer");
    flops = number(n, "model_flops");
    near(number(n, "products_s") * 1e10, flops, 0.02);
    json_decref(n);
    n = numbers_on(cluster_file, JOB "--offload all");
    near(number(n, "products_s") * 1e10, number(n, "hardware_flops"), 0.02);
    assert_true(number(n, "products_s") * 1e10 > 1.1 * flops);
    json_decref(n);
}

/* Two pipeline ranks take the disk of one host in turn; of two hosts, each
 * has its own. */
static void test_ranks_of_a_host_share_the_disk(void **state)
{
    static const char line[] =
        JOB "--pipeline-model-parallel-size 2 --offload optimizer";
    double shared, apart;
    json_t *n;

    (void) state;
    describe("[disk]\nread_gb_per_s = 1e-4\nwrite_gb_per_s = 1e-4\n"
             "[network]\ndevices = 2\nlatency_us = 1\n");
    n = numbers_on(cluster_file, line);
    shared = number(n, "iteration_s");
    json_decref(n);
    describe("[disk]\nread_gb_per_s = 1e-4\nwrite_gb_per_s = 1e-4\n"
             "[network]\ndevices = 1\nlatency_us = 1\n");
    n = numbers_on(cluster_file, line);
    apart = number(n, "iteration_s");
    json_decref(n);
    assert_true(shared > 1.9 * apart && shared < 2.1 * apart);
}

/* auto: nothing where memory is enough; less memory, more bytes. */
static void test_auto_offloads_as_memory_demands(void **state)
{
    static const char *const memory[] = {"1e9", "100e6", "70e6", "50e6"};
    double before = 0;

    (void) state;
    describe_disk(1, 1);
    for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
        char *line = mtlm_sprintf(JOB "--hidden-size 256 --offload-memory %s",
                                  memory[i]);
        json_t *n = numbers_on(cluster_file, line);
        const double bytes = json_is_null(json_object_get(n, "disk"))
                                 ? 0
                                 : part(n, "read_bytes");

        if (i == 0)
            assert_true(bytes == 0);
        else
            assert_true(bytes > before);
        assert_true(bytes == 0 || number(n, "memory_bytes") <= atof(memory[i]));
        before = bytes;
        json_decref(n);
        free(line);
    }
    assert_null(simulated(cluster_file, JOB "--offload-memory 1e6"));
    assert_int_equal(error.code, MTLM_EXIT_RESOURCE);
    assert_says(error.text, " on a host with state on its disk");
}

static void test_what_has_no_model_is_refused(void **state)
{
    static const char *const others[] = {"--graph-out x.rec",
                                         "--simulate-engine starpu"};

    (void) state;
    describe("");
    assert_null(simulated(cluster_file, JOB "--offload all"));
    assert_int_equal(error.code, MTLM_EXIT_USAGE);
    assert_says(error.text, " has no section [disk] with its rates");
    assert_null(simulated(cluster_file, JOB "--offload-memory 1e6"));
    assert_says(error.text, "--offload-memory is for a disk, and ");
    describe_disk(1, 1);
    for (size_t i = 0; i < 2; i++) {
        char *line = mtlm_sprintf(JOB "--offload optimizer %s", others[i]);

        assert_null(simulated(cluster_file, line));
        free(line);
    }
    refuses(JOB "--synthetic x.ini --offload optimizer",
            "--offload reads and writes a disk, and --synthetic runs without "
            "one; --simulate has its times");
}

static void test_the_table_says_all(void **state)
{
    char *text;

    (void) state;
    describe_disk(1e-3, 1e-3);
    text = simulated(cluster_file, JOB "--offload optimizer");
    assert_non_null(text);
    assert_says(text, "\ndisk             of that rank: 0.0");
    assert_says(text, "the share of the GEMM floor\n");
    assert_says(text, " on the fullest host;");
    assert_says(text, "\n  disk           one load or store of a host");
    free(text);
}

/* Two ranks share the memory of a host that is too small. */
static void test_ignored_memory_is_still_told(void **state)
{
    static const char line[] = JOB "--pipeline-model-parallel-size 2 "
                                   "--offload all --ignore-memory";
    json_t *n;
    char *text;

    (void) state;
    describe("memory_gb = 0.001\n"
             "[disk]\nread_gb_per_s = 1\nwrite_gb_per_s = 1\n");
    n = numbers_on(cluster_file, line);
    near(number(n, "memory_limit_bytes"), 2e6, 1e-9);
    assert_true(number(n, "memory_bytes") > 2e6);
    json_decref(n);
    text = simulated(cluster_file, line);
    assert_non_null(text);
    assert_says(text, " on the fullest host, which has 0.00 GiB: the job does "
                      "not fit\n");
    free(text);
}

/* offload-memory of a configuration file, which stands beside any --offload,
 * adds no memory to a host. */
static void test_ignored_memory_is_that_of_the_host(void **state)
{
    static const struct {
        double memory_gb;
        const char *offload_memory;
        double limit;
    } cases[] = {{.001, "1e9", 2e6}, {1, "15e8", 1.5e9}};
    char config[] = "/tmp/mtlm-config.XXXXXX";
    const int fd = mkstemp(config);
    char *line = mtlm_sprintf(JOB "--pipeline-model-parallel-size 2 "
                                  "--offload all --ignore-memory --config %s",
                              config);

    (void) state;
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < 2; i++) {
        char *text = mtlm_sprintf("memory_gb = %g\n[disk]\nread_gb_per_s = 1\n"
                                  "write_gb_per_s = 1\n",
                                  cases[i].memory_gb);
        FILE *out = fopen(config, "w");
        json_t *n;

        assert_non_null(out);
        fprintf(out, "offload-memory = %s\n", cases[i].offload_memory);
        fclose(out);
        describe(text);
        n = numbers_on(cluster_file, line);
        near(number(n, "memory_limit_bytes"), cases[i].limit, 1e-9);
        json_decref(n);
        free(text);
    }
    unlink(config);
    free(line);
}

/* All loads and stores stand in the files, one at a time, and workers wait for
 * the disk. */
static void test_a_trace_has_the_disk(void **state)
{
    char *line, *text, *table, *summary;

    (void) state;
    describe_disk(1e-3, 1e-3);
    line = mtlm_sprintf(JOB "--offload all --trace %s", trace_dir);
    text = simulated(cluster_file, line);
    if (!text)
        fail_msg("%s", error.text);
    table = trace_dir_read("schedule.csv");
    assert_true(count_words(table, ",LOAD,") > 20);
    assert_true(count_words(table, ",STORE,") > 20);
    summary = trace_dir_read("summary.json");
    assert_says(summary, "\"load\"");
    free(summary);
    free(table);
    free(text);
    free(line);
}

static int make_file(void **state)
{
    close(mkstemp(cluster_file));
    return parse_setup(state);
}

static int remove_file(void **state)
{
    unlink(cluster_file);
    return parse_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_slow_disk_decides),
        cmocka_unit_test(test_a_fast_disk_is_hidden),
        cmocka_unit_test(test_the_floor_counts_products),
        cmocka_unit_test(test_ranks_of_a_host_share_the_disk),
        cmocka_unit_test(test_auto_offloads_as_memory_demands),
        cmocka_unit_test(test_what_has_no_model_is_refused),
        cmocka_unit_test(test_the_table_says_all),
        cmocka_unit_test(test_ignored_memory_is_still_told),
        cmocka_unit_test(test_ignored_memory_is_that_of_the_host),
        DIR_TEST(test_a_trace_has_the_disk),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
