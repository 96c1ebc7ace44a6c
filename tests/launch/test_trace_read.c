/* A trace directory read back: the same numbers, or one sentence. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "codelets/op_list.h"
#include "launch/report/traced_order.h"
#include "launch/trace/export/export.h"
#include "launch/trace/read/compare.h"
#include "launch/trace/read/read.h"
#include "launch/trace/read/table.h"
#include "pipeline.h"
#include "runtime/base/memory.h"
#include "trace_dir.h"

/* Two stages, each node waits for the one before it on its rank. */
static void write_trace_of(int64_t unit_ns)
{
    static const int stage[] = {0, 1};
    static const struct mtlm_trace_worker worker[] = {
        {0, 0, "CPU 0", true}, {1, 0, "CPU 0", true}, {1, 1, NULL, true}};
    const struct pipeline pipeline = {.stages = 2,
                                      .microbatches = 4,
                                      .iterations = 3,
                                      .fused = true,
                                      .pieces = 2,
                                      .unit_ns = unit_ns};
    struct mtlm_trace_info info = {.ranks = 2,
                                   .stages = 2,
                                   .virtual_stages = 1,
                                   .microbatches = 4,
                                   .model = "a \"model\"",
                                   .layout = "PP 2",
                                   .schedule = "1f1b",
                                   .policy = "prio",
                                   .stage_of_rank = stage,
                                   .worker = worker,
                                   .n_workers = 3};
    size_t n, n_edges = 0;
    struct mtlm_record *record = pipeline_records(&pipeline, &n);
    struct mtlm_trace_edge *edge = mtlm_calloc(n, sizeof(*edge));
    int64_t last[2] = {-1, -1};

    for (size_t i = 0; i < n; i++) {
        const int rank = record[i].rank;

        if (last[rank] >= 0)
            edge[n_edges++] =
                (struct mtlm_trace_edge){rank, rank, record[i].job, last[rank]};
        last[rank] = record[i].job;
    }
    info.edge = edge;
    info.n_edges = n_edges;
    trace_dir_write(record, n, &info);
    free(edge);
    free(record);
}

static void write_trace(void)
{
    write_trace_of(1000002);
}

static void test_what_was_written_is_read(void **state)
{
    struct mtlm_trace_run run;
    struct mtlm_error err;
    const struct mtlm_trace_summary *s;

    (void) state;
    write_trace();
    assert_int_equal(mtlm_trace_read(&run, trace_dir, &err), 0);
    s = run.summary;
    assert_string_equal(run.info.model, "a \"model\"");
    assert_string_equal(run.info.schedule, "1f1b");
    assert_int_equal(run.info.n_workers, 3);
    assert_int_equal(run.info.stage_of_rank[1], 1);
    assert_int_equal(s->first_iteration, 0);
    assert_int_equal(s->last_iteration, 2);
    assert_int_equal(s->windows, 2);
    /* (4 + 1) x 3 units, all-reduce and step. */
    assert_int_equal(s->makespan_ns, 17 * 1000002);
    /* Rank 1 has a worker that does nothing. */
    assert_int_equal(s->rank[1].workers, 2);
    assert_float_equal(s->rank[0].bubble, 1 - 13 / 17., 1e-9);
    assert_float_equal(s->rank[1].bubble, 1 - 13 / 34., 1e-9);
    /* The chain of a rank: 4 x 3, the all-reduce and the step; its messages
     * take no time. */
    assert_int_equal(s->path_ns, 14 * 1000002);
    assert_int_equal(mtlm_trace_read_records(&run, &err), 0);
    assert_string_equal(run.trace.info->policy, "prio");
    mtlm_trace_run_free(&run);
}

/* Replaces what stands first in file by with; both "": cuts it in half. */
static void damage(const char *file, const char *what, const char *with)
{
    char *path = trace_dir_path(file), *text = trace_dir_read(file);
    char *at = strstr(text, what);
    FILE *f;

    assert_non_null(at);
    f = fopen(path, "w");
    assert_non_null(f);
    if (*what)
        fprintf(f, "%.*s%s%s", (int) (at - text), text, with,
                at + strlen(what));
    else
        fwrite(text, 1, strlen(text) / 2, f);
    fclose(f);
    free(text);
    free(path);
}

/* The summary, then the records.  After an error run needs no free. */
static int read_all(struct mtlm_trace_run *run, struct mtlm_error *err)
{
    if (mtlm_trace_read(run, trace_dir, err) < 0)
        return -1;
    if (mtlm_trace_read_records(run, err) == 0)
        return 0;
    mtlm_trace_run_free(run);
    return -1;
}

/* A simulation may take 10^7 s. */
static void test_long_times_are_read(void **state)
{
    static const int64_t unit_ns = INT64_C(100000000000000);
    struct mtlm_trace_run run;
    struct mtlm_error err;
    int64_t end_ns = 0;

    (void) state;
    write_trace_of(unit_ns);
    if (read_all(&run, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < run.n; i++)
        if (run.record[i].end_ns > end_ns)
            end_ns = run.record[i].end_ns;
    assert_int_equal(end_ns, 3 * 17 * unit_ns);
    mtlm_trace_run_free(&run);
}

/* Of version 1, whose schedule.csv ended with the column match, and whose
 * iterations had no overlap. */
static void test_an_older_directory_is_read(void **state)
{
    char *path = trace_dir_path("schedule.csv");
    char *text, *line, *rest;
    struct mtlm_trace_run run;
    struct mtlm_error err;
    FILE *f;

    (void) state;
    write_trace();
    damage("summary.json", "\"trace_version\": 2", "\"trace_version\": 1");
    damage("summary.json",
           "\"overlap_fraction\": null,\n      \"stage_span_ms\"",
           "\"x\": null,\n      \"stage_span_ms\"");
    text = rest = trace_dir_read("schedule.csv");
    f = fopen(path, "w");
    assert_non_null(f);
    while ((line = strsep(&rest, "\n")) && *line) {
        for (int column = 0; column < 3; column++)
            *strrchr(line, ',') = '\0';
        fprintf(f, "%s\n", line);
    }
    fclose(f);
    free(text);
    text = trace_dir_read("schedule.csv");
    assert_non_null(strstr(text, ",group_root,match\n"));
    assert_int_equal(read_all(&run, &err), 0);
    assert_int_equal(run.summary->makespan_ns, 17 * 1000002);
    assert_int_equal(run.n, run.records->n);
    mtlm_trace_run_free(&run);
    free(text);
    free(path);
}

static void test_what_is_damaged_is_refused_in_a_sentence(void **state)
{
    static const struct {
        const char *file, *what, *with, *says;
    } cases[] = {
        {"summary.json", "", "", "/summary.json: line "},
        {"schedule.csv", "", "", "/schedule.csv is cut off in line "},
        {"summary.json", "\"trace_version\": 2", "\"trace_version\": 7",
         "/summary.json is of trace_version 7, this mtlm-report reads 1 to 2"},
        {"summary.json", "\"trace_version\"", "\"other\"",
         "/summary.json names no trace_version: "},
        {"summary.json", "\"bubble_fraction\": 0.", "\"bubble_fraction\": 0.9",
         "the file is damaged"},
        {"summary.json", "\"ops\": [",
         "\"ops\": [{\"name\": \"linear_fwd\", \"total_ms\": 3},",
         " are not of one run, or damaged"},
        {"summary.json", "\"windows\": 2", "\"windows\": -2",
         "/summary.json: windows is no integer that is possible here"},
        {"summary.json", "\"makespan_ms\": ", "\"makespan_ms\": 1e20, \"x\": ",
         "/summary.json: makespan_ms is longer than any run"},
        {"summary.json", "\"makespan_ms\"", "\"x\"",
         "/summary.json: makespan_ms is missing"},
        {"summary.json", "\"busy_ms\": ", "\"busy_ms\": \"a\", \"x\": ",
         "/summary.json: ranks[0]: busy_ms is no number"},
        {"summary.json", "\"accounts\"", "\"x\"",
         "/summary.json: accounts is no list"},
        {"summary.json", "\"counts\": false", "\"counts\": 1",
         "/summary.json: iterations[0]: counts is neither true nor false"},
        {"summary.json", "\"class\": \"F\"", "\"class\": \"G\"",
         "/summary.json: classes[0]: class is none that this version knows"},
        {"summary.json", "\"cause\": \"", "\"cause\": \"un",
         "/summary.json: waits[0]: cause is none that this version knows"},
        {"summary.json", "\"text\": \"rank", "\"text\": 3, \"x\": \"rank",
         "/summary.json: waits[0]: text is missing or too long"},
        {"summary.json", "\"ranks\": 2", "\"ranks\": 3",
         "/summary.json tells of 2 ranks, its run has 3"},
        {"summary.json", "\"ranks\": 2", "\"ranks\": -1",
         "no run has -1 ranks"},
        {"summary.json", "\"last_iteration\": 3",
         "\"last_iteration\": 2000000000",
         "its iterations are 1 to 2000000000"},
        {"summary.json", "\"first_iteration\": 1",
         "\"first_iteration\": -2000000000",
         "its iterations are -2000000000 to 3"},
        {"summary.json", "\"virtual_stages\": 1",
         "\"virtual_stages\": 2000000000", "2 stages of 2000000000 each"},
        {"summary.json", "\"stages\": 2", "\"stages\": 2000000000",
         "2000000000 stages of 1 each"},
        {"schedule.csv", "\n0,0,", "\n5,0,",
         "/schedule.csv: line 2: \"5\" is no integer from 0 to 1"},
        {"schedule.csv", ",CPU 0,1,", ",CPU 0,4000000,",
         "/schedule.csv: line 2: \"4000000\" is no integer from 1 to 3"},
        {"schedule.csv", ",CPU 0,1,0,0,", ",CPU 0,1,0,2,",
         "/schedule.csv: line 2: \"2\" is no integer from -1 to 1"},
        {"schedule.csv", ",workers\n",
         ",workers\n0,0,CPU "
         "0,-2147483648,0,0,0,0,F,linear_fwd,99,0,0,0,0,1,0,0,"
         "-1,compute,INIT,-1,-1,-1,,,1\n",
         "\"-2147483648\" is no integer from -2147483647 to "},
        {"schedule.csv", ",linear_fwd,", ",linear_fwt,",
         "/schedule.csv: line 2: \"linear_fwt\" is no name that this version "
         "knows"},
        {"schedule.csv", ",lane,", ",lame,",
         "/schedule.csv has no column lane"},
        {"schedule.csv", ",0.000,0.000,500.001,", ",0.000,nan,500.001,",
         "/schedule.csv: line 2: \"nan\" is no number"},
        {"schedule.csv", ",0.000,0.000,500.001,", ",0.000,0.000,-3,",
         "/schedule.csv: line 2: a node ends before it starts"},
        {"schedule.csv", ",0.000,0.000,500.001,", ",0.000,0.000,1.1e13,",
         "/schedule.csv: line 2: end_us is longer than any run"},
        {"schedule.csv", ",compute,F,", ",compute,\"F,",
         "/schedule.csv: line 2 is no line of a table"},
        {"schedule.csv", ",compute,F,", ",compute,F,9,",
         "/schedule.csv: line 2 has 28 fields, the first one has 27"},
        {"schedule.csv", ",workers\n",
         ",workers\n0,0,CPU 0,1,0,0,0,0,F,linear_fwd,99,0,0,0,0,0,0,0,-1,"
         "compute,F,-1,-1,-1,,,1\n",
         " nodes, summary.json has "},
    };

    (void) state;
    write_trace();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mtlm_trace_run run;
        struct mtlm_error err;

        damage(cases[i].file, cases[i].what, cases[i].with);
        assert_int_equal(read_all(&run, &err), -1);
        assert_int_equal(err.code, MTLM_EXIT_INPUT);
        if (!strstr(err.text, cases[i].says))
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.text,
                     cases[i].says);
        assert_null(strchr(err.text, '\n'));
        write_trace();
    }
}

static void test_what_is_no_trace_is_refused_in_a_sentence(void **state)
{
    char *lines = mtlm_sprintf("%s holds no trace: it has no summary.json",
                               trace_dir_parent);
    char *none =
        mtlm_sprintf("cannot read %s: No such file or directory", trace_dir);
    struct mtlm_trace_run run;
    struct mtlm_error err;
    char *path;

    (void) state;
    assert_int_equal(mtlm_trace_read(&run, trace_dir, &err), -1);
    assert_string_equal(err.text, none);
    assert_int_equal(mtlm_trace_read(&run, trace_dir_parent, &err), -1);
    assert_string_equal(err.text, lines);
    write_trace();
    path = trace_dir_path("deps.csv");
    assert_int_equal(mtlm_trace_read(&run, path, &err), -1);
    assert_non_null(strstr(err.text, "/deps.csv is no directory: expected"));
    free(path);
    path = trace_dir_path("schedule.csv");
    unlink(path);
    assert_int_equal(mtlm_trace_read(&run, trace_dir, &err), 0);
    assert_int_equal(mtlm_trace_read_records(&run, &err), -1);
    assert_non_null(
        strstr(err.text, "/schedule.csv: No such file or directory"));
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    mtlm_trace_run_free(&run);
    free(path);
    free(lines);
    free(none);
}

/* The number behind a label; -1: none. */
static double number_of(const char *text, const char *label)
{
    const char *at = strstr(text, label);

    return at ? atof(at + strlen(label)) : -1;
}

/* Both tables have one name for the time with messages, and sums of messages
 * have other names. */
static void check_messages(const struct mtlm_trace_run *run,
                           const char *comparison)
{
    char *table;
    size_t size;
    FILE *f = open_memstream(&table, &size);
    const double many = number_of(comparison, "messages under way ms");

    mtlm_trace_print_table(f, run->summary, &run->info);
    fclose(f);
    assert_true(many > 0);
    assert_float_equal(number_of(table, "messages under way"), many, 1e-9);
    assert_null(strstr(comparison, "  communication "));
    free(table);
}

static void test_runs_stand_side_by_side(void **state)
{
    struct mtlm_trace_run run[2];
    struct mtlm_error err;
    char *text, *path = mtlm_sprintf("%s/both.svg", trace_dir_parent);
    size_t size;
    FILE *f = open_memstream(&text, &size);

    (void) state;
    write_trace();
    for (int i = 0; i < 2; i++)
        assert_int_equal(read_all(&run[i], &err), 0);
    mtlm_trace_print_comparison(f, run, 2);
    fclose(f);
    assert_non_null(strstr(text, ": a \"model\", PP 2, schedule 1f1b, policy "
                                 "prio, 4 microbatches, iterations 1 to 3\n"));
    assert_non_null(strstr(text, "iteration                     ms         "
                                 "17.0         17.0\n"));
    check_messages(&run[0], text);
    free(text);
    run[0].trace.next = &run[1].trace;
    assert_int_equal(mtlm_trace_export_pictures(path, &run[0].trace, &err), 0);
    f = fopen(path, "r");
    text = NULL;
    size = 0;
    assert_true(getdelim(&text, &size, '\0', f) > 0);
    fclose(f);
    assert_int_equal(count_words(text, "schedule 1f1b, policy prio: makespan"),
                     2);
    assert_int_equal(count_words(text, ", F microbatch 3, iteration 2\n"), 4);
    /* One legend, one axis. */
    assert_int_equal(count_words(text, ">F forward<"), 1);
    assert_int_equal(count_words(text, ">time (ms)<"), 1);
    free(text);
    free(path);
    for (int i = 0; i < 2; i++)
        mtlm_trace_run_free(&run[i]);
}

/* The order that the records have; the caller frees the text. */
static char *order_of_trace(void)
{
    char *path = trace_dir_path("order.csv");
    struct mtlm_trace_run run;
    struct mtlm_error err;

    assert_int_equal(read_all(&run, &err), 0);
    assert_int_equal(
        mtlm_traced_order_write(path, &run.info, run.record, run.n, &err), 0);
    mtlm_trace_run_free(&run);
    free(path);
    return trace_dir_read("order.csv");
}

/* A node of a microbatch that the run has not is of no pass. */
static void test_an_order_has_the_microbatches_of_the_run(void **state)
{
    static const char *const beyond[] = {",CPU 0,3,4,", ",CPU 0,3,2147483647,"};
    char *want, *text;

    (void) state;
    write_trace();
    want = order_of_trace();
    assert_int_equal(count_words(want, "F3"), 2);
    for (int i = 0; i < 2; i++) {
        damage("schedule.csv", ",CPU 0,3,0,", beyond[i]);
        text = order_of_trace();
        assert_string_equal(text, want);
        free(text);
        write_trace();
    }
    free(want);
}

/* W of recomputed layers runs with B, and its records say B.  A stage that has
 * some W lacks the others. */
static void test_an_order_has_W_behind_the_B_that_ran_it(void **state)
{
    (void) state;
    for (int from = 3; from >= 0; from -= 3) {
        char *path = trace_dir_path("order.csv"), *text;
        struct mtlm_trace_run run;
        struct mtlm_error err;
        int rc;

        write_trace();
        assert_int_equal(read_all(&run, &err), 0);
        for (size_t i = 0; i < run.n; i++)
            if (run.record[i].phase == MTLM_PHASE_WEIGHT
                && run.record[i].microbatch >= from)
                run.record[i].phase = MTLM_PHASE_BACKWARD;
        rc = mtlm_traced_order_write(path, &run.info, run.record, run.n, &err);
        if (from > 0) {
            assert_int_equal(rc, -1);
            assert_non_null(strstr(err.text, "lacks a pass of stage "));
        } else {
            assert_int_equal(rc, 0);
            text = trace_dir_read("order.csv");
            /* B: an I and the W behind it. */
            assert_int_equal(count_words(text, "0B"), 4);
            assert_int_equal(count_words(text, "1B"), 4);
            free(text);
        }
        free(path);
        mtlm_trace_run_free(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIR_TEST(test_what_was_written_is_read),
        DIR_TEST(test_long_times_are_read),
        DIR_TEST(test_an_older_directory_is_read),
        DIR_TEST(test_what_is_damaged_is_refused_in_a_sentence),
        DIR_TEST(test_what_is_no_trace_is_refused_in_a_sentence),
        DIR_TEST(test_runs_stand_side_by_side),
        DIR_TEST(test_an_order_has_the_microbatches_of_the_run),
        DIR_TEST(test_an_order_has_W_behind_the_B_that_ran_it),
    };

    return cmocka_run_group_tests_name("trace read", tests, NULL, NULL);
}
