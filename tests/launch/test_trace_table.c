/* The table of a traced run. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/trace/read/table.h"
#include "launch/trace/summarize.h"
#include "pipeline.h"

static const int64_t unit = 1000000;

/* What the table says of so many ranks; the caller frees it. */
static char *table_of(int p)
{
    const struct pipeline pipeline = {.stages = p,
                                      .microbatches = 2 * p,
                                      .iterations = 2,
                                      .fused = true,
                                      .pieces = 1,
                                      .unit_ns = unit};
    const struct mtlm_trace_info info = {
        .ranks = p, .stages = p, .virtual_stages = 1, .microbatches = 2 * p};
    struct mtlm_trace_summary *s;
    size_t n, size;
    char *text;
    FILE *f = open_memstream(&text, &size);
    struct mtlm_record *record = pipeline_records(&pipeline, &n);

    s = mtlm_trace_summarize(record, n, &info);
    mtlm_trace_print_table(f, s, &info);
    fclose(f);
    mtlm_trace_summary_destroy(s);
    free(record);
    return text;
}

static void test_the_table_names_the_three_bubbles(void **state)
{
    char *text = table_of(2);

    (void) state;
    /* 4 x 3 + 1 of 17 units are work; 3 of 15 without the optimizer are not. */
    assert_non_null(strstr(
        text,
        "  bubble         23.5 % of the iteration; 30.8 % of the ideal "
        "time ((p-1)/m: 25.0 %);\n"
        "                 20.0 % of the longest stage's span of 15.0 ms"));
    assert_non_null(strstr(text, "rank 0 waited 17.6 % for gradients from rank "
                                 "1\n"));
    assert_non_null(strstr(
        text, "\n  F forward                          8.0       23.5 %"));
    free(text);
}

static void test_the_table_of_many_ranks_is_shortened_and_says_so(void **state)
{
    char *text = table_of(64), *rest = text;
    int lines = 0, ranks = 0;

    (void) state;
    assert_non_null(strstr(text,
                           "  Of 64 ranks, the 4 with the smallest and "
                           "the 8 with the largest bubbles; summary.json has "
                           "all.\n"));
    for (char *line; (line = strsep(&rest, "\n"));) {
        int rank, workers;
        double work_ms, busy;

        lines++;
        if (sscanf(line, " %d %d %lf %lf%%", &rank, &workers, &work_ms, &busy)
            != 4)
            continue;
        ranks++;
        assert_in_range(strlen(line), 0, 79);
        /* 2 x 64 microbatches of F, B and W, and the step. */
        assert_float_equal(work_ms, 3 * 128 + 1, 1e-9);
    }
    assert_int_equal(ranks, 4 + 8);
    assert_in_range(lines, 20, 40);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table_names_the_three_bubbles),
        cmocka_unit_test(test_the_table_of_many_ranks_is_shortened_and_says_so),
    };

    return cmocka_run_group_tests_name("trace table", tests, NULL, NULL);
}
