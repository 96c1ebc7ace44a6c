/* Descriptions of machines: those of the tree, and what is refused. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/plan/cluster.h"
#include "launch/plan/cluster_notes.h"
#include "runtime/base/dtype.h"
#include "runtime/base/memory.h"

static char name[] = "/tmp/mtlm-test.XXXXXX";
static struct mtlm_cluster cluster;
static struct mtlm_error error;

static int read_text(const char *text)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return mtlm_cluster_read(&cluster, name, "--synthetic", &error);
}

/* sentence: after the name of the file. */
static void refuses(const char *text, const char *sentence)
{
    assert_int_equal(read_text(text), -1);
    assert_int_equal(error.code, MTLM_EXIT_USAGE);
    assert_memory_equal(error.text, name, strlen(name));
    assert_string_equal(error.text + strlen(name), sentence);
}

static void test_units_are_those_of_the_keys(void **state)
{
    (void) state;
    if (read_text("[device]\npeak_tflop_per_s = 312 ; a comment\n"
                  "efficiency=0.5\nmemory_gb_per_s = 2000\nlaunch_us = 5\n"
                  "element_bytes = 2\n[host]\nlatency_us = 2\ngb_per_s = 300\n"
                  "# network\n[network]\ndevices = 8\nlatency_us = 10\n")
        < 0)
        fail_msg("%s", error.text);
    assert_float_equal(cluster.flops_per_s, 312e12, 1);
    assert_float_equal(cluster.efficiency, 0.5, 1e-12);
    assert_float_equal(cluster.bytes_per_s, 2e12, 1);
    assert_float_equal(cluster.memory_efficiency, 1, 1e-12);
    assert_float_equal(cluster.launch_s, 5e-6, 1e-15);
    assert_float_equal(cluster.element_bytes, 2, 1e-12);
    assert_float_equal(cluster.host.latency_s, 2e-6, 1e-15);
    assert_float_equal(cluster.host.bytes_per_s, 300e9, 1);
    assert_int_equal(cluster.devices, 8);
    assert_float_equal(cluster.network.latency_s, 10e-6, 1e-15);
    assert_true(cluster.network.bytes_per_s == 0);
    assert_false(cluster.timed);
    if (read_text("[stage]\nforward_ms = 50\nbackward_ms = 60.5\n"
                  "weight_ms = 4e1\n")
        < 0)
        fail_msg("%s", error.text);
    assert_true(cluster.timed);
    assert_float_equal(cluster.forward_s, 0.05, 1e-12);
    assert_float_equal(cluster.backward_s, 0.0605, 1e-12);
    assert_float_equal(cluster.weight_s, 0.04, 1e-12);
    assert_float_equal(cluster.element_bytes, sizeof(mtlm_real), 1e-12);
    assert_true(cluster.host.latency_s == 0 && cluster.devices == 0);
    assert_true(cluster.memory_bytes == 0 && cluster.hosts == 0);
}

static void test_the_size_of_the_machine_may_be_given(void **state)
{
    (void) state;
    if (read_text("[device]\npeak_tflop_per_s = 312\nefficiency = 0.5\n"
                  "memory_gb_per_s = 2000\nmemory_gb = 85.9\n"
                  "[network]\ndevices = 8\nhosts = 384\nlatency_us = 10\n")
        < 0)
        fail_msg("%s", error.text);
    assert_float_equal(cluster.memory_bytes, 85.9e9, 1);
    assert_int_equal(cluster.devices, 8);
    assert_int_equal(cluster.hosts, 384);
    refuses("[network]\nhosts = 1.5\n",
            ":2: hosts is '1.5', it must be a whole number from 1 to 1e+06");
    refuses("[device]\nmemory_gb = 0\n",
            ":2: memory_gb is '0', it must be a number from 0.001 to 1e+06");
}

/* Optional keys: without them, a description means what it meant before. */
static void test_shapes_and_rates_may_be_given(void **state)
{
    static const char *const device =
        "[device]\npeak_tflop_per_s = 312\nefficiency = 0.5\n"
        "memory_gb_per_s = 2000\n";
    char text[1024];

    (void) state;
    if (read_text(device) < 0)
        fail_msg("%s", error.text);
    assert_true(cluster.processors == 0 && cluster.product_fill == 0
                && cluster.host_s == 0 && cluster.overlap_tax == 0
                && cluster.collective_bytes_per_s == 0
                && cluster.shared_rate == 0 && cluster.profile == NULL);
    snprintf(text, sizeof(text),
             "%sprocessors = 108\nproduct_fill = 192\nhost_us = 84\n"
             "overlap_tax = 0.2\n[network]\ndevices = 8\nlatency_us = 10\n"
             "gb_per_s = 18.6\ncollective_gb_per_s = 12.6\n"
             "shared_rate = 0.25\n",
             device);
    if (read_text(text) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(cluster.processors, 108);
    assert_float_equal(cluster.product_fill, 192, 1e-12);
    assert_float_equal(cluster.host_s, 84e-6, 1e-15);
    assert_float_equal(cluster.overlap_tax, 0.2, 1e-12);
    assert_float_equal(cluster.collective_bytes_per_s, 12.6e9, 1);
    assert_float_equal(cluster.shared_rate, 0.25, 1e-12);
    assert_true(cluster.disk.read_bytes_per_s == 0);
    snprintf(text, sizeof(text),
             "%s[disk]\nread_gb_per_s = 1.5\nwrite_gb_per_s = 0.5\n", device);
    if (read_text(text) < 0)
        fail_msg("%s", error.text);
    assert_float_equal(cluster.disk.read_bytes_per_s, 1.5e9, 1);
    assert_float_equal(cluster.disk.written_bytes_per_s, 0.5e9, 1);
    refuses("[disk]\nread_gb_per_s = 0\n",
            ":2: read_gb_per_s is '0', it must be a number from 1e-09 to "
            "1e+09");
    refuses("[disk]\nread_gb_per_s = 1\n",
            ": section [disk] lacks write_gb_per_s");
    refuses("[device]\nprocessors = 0\n",
            ":2: processors is '0', it must be a whole number from 1 to 65536");
    refuses("[device]\noverlap_tax = -0.1\n",
            ":2: overlap_tax is '-0.1', it must be a number from 0 to 1");
    refuses("[device]\nelement_bytes = 3\n",
            ":2: element_bytes is '3', it must be a power of two from 1 to 8");
    snprintf(text, sizeof(text), "%sproduct_fill = 192\n", device);
    refuses(text, ": product_fill of section [device] needs processors");
    snprintf(text, sizeof(text),
             "%s[network]\ndevices = 8\nlatency_us = 1\nshared_rate = 0.5\n",
             device);
    refuses(text, ": shared_rate of section [network] needs "
                  "collective_gb_per_s");
    snprintf(text, sizeof(text),
             "%s[network]\ndevices = 8\nhosts = 2\n"
             "latency_us = 1\n[stage]\nforward_ms = 1\n"
             "backward_ms = 1\nweight_ms = 1\n",
             "[device]\npeak_tflop_per_s = 1\nefficiency = 1\n"
             "memory_gb_per_s = 1\nprocessors = 8\n");
    refuses(text, ": processors of section [device] contradicts section "
                  "[stage], which gives the durations");
}

static void test_what_is_wrong_is_said_with_its_line(void **state)
{
    (void) state;
    refuses("[stage]\nforward_ms = 50\nbackward_ms = x\n",
            ":3: backward_ms is 'x', it must be a number from 0.001 to 1e+06");
    refuses("[stage]\nforward_ms = nan\n",
            ":2: forward_ms is 'nan', it must be a number from 0.001 to "
            "1e+06");
    refuses("[stage]\nforward_ms = -1\n",
            ":2: forward_ms is '-1', it must be a number from 0.001 to 1e+06");
    refuses("[network]\ndevices = 2.5\n",
            ":2: devices is '2.5', it must be a whole number from 1 to 65536");
    refuses("[stage]\nforward = 50\n",
            ":2: unknown key forward in section [stage]; did you mean "
            "forward_ms?");
    refuses("[stage]\nforward_ms = 50\nforward_ms = 50\n",
            ":3: forward_ms is given already in line 2");
    refuses("[gpu]\npeak = 50\n",
            ":2: peak of section [gpu]; there are the sections device, stage, "
            "host, network and disk");
    refuses("forward_ms = 50\n",
            ":1: forward_ms of section []; there are the sections device, "
            "stage, host, network and disk");
    refuses("[stage]\nforward_ms\n", ":2: not of the form key = value");
    refuses("[stage]\nforward_ms = 50\nbackward_ms = 50\n",
            ": section [stage] lacks weight_ms");
    refuses(
        "[host]\nlatency_us = 1\n",
        ": needs a section [device] or [stage], the durations of computation");
    refuses(
        "",
        ": needs a section [device] or [stage], the durations of computation");
    assert_int_equal(
        mtlm_cluster_read(&cluster, "/nonexistent/x", "--synthetic", &error),
        -1);
    assert_string_equal(error.text,
                        "--synthetic /nonexistent/x: No such file or "
                        "directory");
}

/* Fails unless the description, of that many ranks, makes this note; NULL:
 * none. name: stands for the file. */
static void notes(const char *network, int ranks, const char *sentence)
{
    char *text = mtlm_sprintf("[device]\npeak_tflop_per_s = 1\nefficiency = 1\n"
                              "memory_gb_per_s = 1\n%s",
                              network);
    struct mtlm_options options = {0};

    if (read_text(text) < 0)
        fail_msg("%s", error.text);
    mtlm_cluster_notes(&options, &cluster, "C", ranks);
    if (!sentence)
        assert_null(options.notes);
    else if (!options.notes || strcmp(options.notes, sentence) != 0)
        fail_msg("%s, not %s", options.notes, sentence);
    free(options.notes);
    free(text);
}

static void test_doubts_about_a_machine_are_said(void **state)
{
#define HOST "[host]\nlatency_us = 1\ngb_per_s = 10\n"
#define NETWORK "[network]\ndevices = 4\nlatency_us = 1\n"
    (void) state;
    notes("", 1, NULL);
    notes("", 2,
          "C has no section [host]: messages between ranks take no time");
    notes(NETWORK "gb_per_s = 1\n", 2,
          "C has no section [host]: messages between ranks of a host take no "
          "time");
    notes("[host]\nlatency_us = 0\n", 2, NULL);
    notes(HOST NETWORK "gb_per_s = 10\ncollective_gb_per_s = 10\n", 8, NULL);
    notes(HOST NETWORK, 8,
          "C has no gb_per_s in section [network]: messages between hosts take "
          "their latency only");
    notes(HOST NETWORK "collective_gb_per_s = 6\n", 8,
          "C has no gb_per_s in section [network]: messages between stages on "
          "different hosts take their latency only");
    notes(
        HOST NETWORK "gb_per_s = 11\n", 8,
        "C: gb_per_s of section [network] is above that of section [host]; is "
        "it of a device, not of a host?");
    notes(HOST NETWORK "gb_per_s = 5\ncollective_gb_per_s = 6\n", 8,
          "C: collective_gb_per_s of section [network] is above its gb_per_s, "
          "on which collectives run");
#undef HOST
#undef NETWORK
}

static void test_those_of_the_tree_are_right(void **state)
{
    static const char *const names[] = {"uniform",  "dgx-2h",
                                        "dgx-a100", "a100-800gbps",
                                        "dgx-h100", "amd-epyc-core"};
    const char *tree = getenv("srcdir");

    (void) state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[1024];

        snprintf(path, sizeof(path), "%s/launch/clusters/%s.ini",
                 tree ? tree : ".", names[i]);
        if (mtlm_cluster_read(&cluster, path, "--synthetic", &error) < 0)
            fail_msg("%s", error.text);
        assert_int_equal(cluster.timed, i == 0);
        if (strcmp(names[i], "amd-epyc-core") != 0) {
            struct mtlm_options options = {0};

            mtlm_cluster_notes(&options, &cluster, path, 16);
            assert_null(options.notes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_are_those_of_the_keys),
        cmocka_unit_test(test_the_size_of_the_machine_may_be_given),
        cmocka_unit_test(test_shapes_and_rates_may_be_given),
        cmocka_unit_test(test_what_is_wrong_is_said_with_its_line),
        cmocka_unit_test(test_doubts_about_a_machine_are_said),
        cmocka_unit_test(test_those_of_the_tree_are_right),
    };
    const int fd = mkstemp(name);
    int rc;

    if (fd < 0)
        return 1;
    close(fd);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(name);
    return rc;
}
