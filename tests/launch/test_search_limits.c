/* --simulate without a layout: the search keeps to limits of activations and of
 * memory as a run does, and loses no layout within them. */

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

#include "runtime/base/memory.h"
#include "tests/launch/parse.h"
#include "tests/launch/simulated.h"

static char machine[] = "/tmp/mtlm-cluster.XXXXXX";

/* Writes a host of four devices. */
static void write_machine(double memory_gb)
{
    FILE *file = fopen(machine, "w");

    assert_non_null(file);
    fprintf(file,
            "[device]\npeak_tflop_per_s = 100\nefficiency = 0.5\n"
            "memory_gb = %.12g\nmemory_gb_per_s = 1000\n"
            "[host]\nlatency_us = 1\ngb_per_s = 100\n"
            "[network]\nlatency_us = 5\ndevices = 4\nhosts = 1\n",
            memory_gb);
    assert_int_equal(fclose(file), 0);
}

static int make_machine(void **state)
{
    const int fd = mkstemp(machine);

    return fd < 0 || close(fd) < 0 ? -1 : parse_setup(state);
}

static int remove_machine(void **state)
{
    unlink(machine);
    return parse_teardown(state);
}

/* Four pipeline ranks: 3 heads cannot be shared by 2 or 4 ranks, nor 9 samples
 * by 2 or 4 replicas. */
#define PIPELINE(layers)                                                       \
    "--model gpt-tiny --num-layers " layers                                    \
    " --hidden-size 96 --ffn-hidden-size 384 --num-attention-heads 3 --fp16 "  \
    "--world-size 4 --micro-batch-size 1 --global-batch-size 9 "

#define ONE_STAGE "--num-virtual-stages-per-pipeline-rank 1 "
#define PLAIN "--recompute-granularity none "

/* The binary logarithms of the limits in bytes: the stored activations of a
 * stage of PIPELINE("8") are 0.1 MB for a microbatch with recomputation, and
 * 1.7 MB without. */
enum { LEAST_BITS = 14, MOST_BITS = 26 };

/* Returns what --simulate prints for the job with so many bytes for
 * activations; NULL if no layout fits. */
static char *within(const char *job, int bits)
{
    char *line = mtlm_sprintf("%s --act-mem %d", job, 1 << bits);
    char *text = simulated(machine, line);

    if (!text) {
        assert_says(error.text, " on 4 ranks keeps to --act-mem: ");
    }
    free(line);
    return text;
}

/* A layout whose order needs more gives way to another one.  A larger limit
 * loses no layout. */
static void test_an_order_keeps_to_the_limit(void **state)
{
    bool found = false;

    (void) state;
    write_machine(1);
    for (int bits = LEAST_BITS; bits <= MOST_BITS; bits++) {
        char *text = within(PIPELINE("8") ONE_STAGE "--schedule 1f1b "
                                                    "--schedule-mode strict",
                            bits);

        assert_true(text || !found);
        found = text != NULL;
        free(text);
    }
    assert_true(found);
}

/* Returns the seconds in the first row of the table: those of the search. */
static double first_row(const char *text)
{
    double seconds = 0;

    for (const char *at = strstr(text, "\nFastest layouts, of ");
         at && seconds == 0; at = strchr(at + 1, '\n'))
        sscanf(at, "%*d %*d %*d %*d %*d %*s %lf", &seconds);
    assert_true(seconds > 0);
    return seconds;
}

/* Where the limit narrows the windows, recomputation may be faster. */
static void test_recomputation_may_be_faster(void **state)
{
    int compared = 0;

    (void) state;
    write_machine(1);
    for (int bits = LEAST_BITS; bits <= MOST_BITS; bits++) {
        char *free_text = within(PIPELINE("8") ONE_STAGE, bits);
        char *full = within(
            PIPELINE("8") ONE_STAGE "--recompute-granularity full", bits);

        if (full) {
            assert_non_null(free_text);
            assert_true(first_row(free_text) <= first_row(full) * (1 + 1e-9));
            compared++;
        }
        free(free_text);
        free(full);
    }
    assert_true(compared > 0);
}

/* The memory that a layout with an order needs is enough for the search. */
static void test_an_order_needs_no_more_than_its_slots(void **state)
{
    static const char *const schedules[] = {"1f1b --schedule-mode strict",
                                            "zb-h1 --schedule-mode strict",
                                            "zb-v --schedule-mode strict",
                                            "v-half",
                                            "v-min",
                                            "dualpipe-v"};

    (void) state;
    for (size_t i = 0; i < sizeof(schedules) / sizeof(schedules[0]); i++) {
        char *job =
            mtlm_sprintf(PIPELINE("8") PLAIN "--schedule %s", schedules[i]);
        char *given = mtlm_sprintf("%s --tensor-model-parallel-size 1 "
                                   "--pipeline-model-parallel-size 4",
                                   job);
        json_t *numbers;
        char *text;

        write_machine(1);
        numbers = numbers_on(machine, given);
        write_machine(1.0001e-9 * number(numbers, "memory_bytes"));
        text = simulated(machine, job);
        if (!text)
            fail_msg("%s: %s", schedules[i], error.text);
        assert_says(text, "\nFastest layouts, of 1 weighed and 1 simulated;");
        free(text);
        json_decref(numbers);
        free(given);
        free(job);
    }
}

/* The first and the last stage may have no layer. */
static void test_stages_may_be_more_than_layers(void **state)
{
    char *text;

    (void) state;
    write_machine(1);
    text = simulated(machine, PIPELINE("2") PLAIN "--stage-layers 0,1,1,0");
    if (!text)
        fail_msg("%s", error.text);
    assert_says(text, "tensor 1 x pipeline 4 x data 1 = 4 ranks");
    assert_says(text, "\nFastest layouts, of 1 weighed and 1 simulated;");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_order_keeps_to_the_limit),
        cmocka_unit_test(test_recomputation_may_be_faster),
        cmocka_unit_test(test_an_order_needs_no_more_than_its_slots),
        cmocka_unit_test(test_stages_may_be_more_than_layers),
    };

    return cmocka_run_group_tests(tests, make_machine, remove_machine);
}
