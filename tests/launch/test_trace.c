/* The tables and errors of a trace directory. */

#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "codelets/op_list.h"
#include "launch/trace/export/whole_file.h"
#include "launch/trace/node.h"
#include "runtime/base/memory.h"
#include "runtime/file/output_file.h"
#include "runtime/machine/recorder.h"
#include "tests/file_limit.h"
#include "tests/override_modes.h"
#include "trace_dir.h"

static void test_csv_has_a_line_per_record(void **state)
{
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_SEND, 3000, 4500),
        trace_node(MTLM_OP_LINEAR_FWD, 1000, 3000),
        trace_node(MTLM_OP_RECV, 3400, 4600),
        trace_node(MTLM_OP_FLAGS, 5000, 6000),
    };
    const struct mtlm_trace_worker worker[] = {{0, 2, "CPU 2, \"big\"", true}};
    struct mtlm_trace_info info = trace_one_rank;
    char *text;

    (void) state;
    record[0].worker = -1;
    record[0].lane = MTLM_LANE_PP;
    record[0].peer = 1;
    record[0].iteration = record[1].iteration = 6;
    record[0].layer = -1;
    record[0].job = 8;
    record[0].bytes = 4096;
    record[0].match = 12;
    record[1].worker = 2;
    record[1].microbatch = 3;
    record[1].stage = 5;
    record[1].layer = 11;
    record[1].job = 7;
    record[1].priority = -40;
    record[1].submit_ns = 500;
    record[1].flops = 123456789;
    record[2].rank = 1;
    record[2].worker = -1;
    record[2].lane = MTLM_LANE_PP;
    record[2].match = 12;
    record[2].peer = 0;
    record[3].worker = 3;
    info.ranks = 2;
    info.stages = 2;
    info.virtual_stages = 3;
    info.worker = worker;
    info.n_workers = 1;
    trace_dir_write(record, 4, &info);
    text = trace_dir_read("schedule.csv");
    assert_string_equal(
        text,
        "rank,worker,device,iteration,microbatch,stage,chunk,layer,op,name,"
        "job,priority,submit_us,ready_us,start_us,end_us,flops,bytes,peer,"
        "lane,phase,group,group_root,match,wait_us,transfer_us,workers\n"
        "0,2,\"CPU 2, \"\"big\"\"\",7,3,5,2,11,F,linear_fwd,"
        "7,-40,-0.500,0.000,0.000,2.000,123456789,0,-1,compute,F,-1,-1,-1,"
        ",,1\n"
        "0,-1,communication,7,0,0,0,-1,SEND,send,"
        "8,0,-1.000,2.000,2.000,3.500,0,4096,1,PP,F,-1,-1,12,"
        "0.400,1.100,1\n"
        "0,3,worker 3,1,0,0,0,0,F,flags,"
        "0,0,-1.000,4.000,4.000,5.000,0,0,-1,compute,F,-1,-1,-1,"
        ",,0\n"
        "1,-1,communication,1,0,0,0,0,RECV,recv,"
        "0,0,-1.000,2.400,2.400,3.600,0,0,0,PP,F,-1,-1,12,"
        "0.000,1.200,0\n");
    free(text);
}

/* Ranks have different numbers of workers, and numbers have gaps. */
static void test_each_worker_has_its_device(void **state)
{
    static const struct mtlm_trace_worker worker[] = {
        {0, 0, "a", true}, {0, 1, "b", true},  {1, 3, "c", true},
        {3, 0, "d", true}, {3, 1, NULL, true}, {3, 2, "e", true}};
    static const struct {
        int rank, worker;
    } none[] = {{0, -1}, {0, 2}, {1, 0}, {1, 4}, {2, 0}, {3, 3}, {4, 0}};
    struct mtlm_trace_info info = trace_one_rank;

    (void) state;
    assert_null(mtlm_trace_device(&info, 0, 0));
    info.worker = worker;
    info.n_workers = sizeof(worker) / sizeof(worker[0]);
    for (size_t i = 0; i < info.n_workers; i++)
        assert_ptr_equal(
            mtlm_trace_device(&info, worker[i].rank, worker[i].worker),
            worker[i].device);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_null(mtlm_trace_device(&info, none[i].rank, none[i].worker));
}

static void test_csv_tells_phases_and_communication_apart(void **state)
{
    static const struct {
        int op, lane, phase;
        const char *name;
    } line[] = {
        {MTLM_OP_LINEAR_FWD, MTLM_LANE_COMPUTE, MTLM_PHASE_FORWARD, "F"},
        {MTLM_OP_LINEAR_DGRAD, MTLM_LANE_COMPUTE, MTLM_PHASE_BACKWARD, "B"},
        {MTLM_OP_LINEAR_WGRAD, MTLM_LANE_COMPUTE, MTLM_PHASE_WEIGHT, "W"},
        {MTLM_OP_ADAM, MTLM_LANE_COMPUTE, MTLM_PHASE_OPTIMIZER, "OPT"},
        {MTLM_OP_FILL, MTLM_LANE_COMPUTE, MTLM_PHASE_INIT, "INIT"},
        {MTLM_OP_LINEAR_FWD, MTLM_LANE_COMPUTE, MTLM_PHASE_EVAL, "EVAL"},
        {MTLM_OP_ALL_REDUCE, MTLM_LANE_TP, MTLM_PHASE_FORWARD, "AR"},
        {MTLM_OP_ALL_REDUCE, MTLM_LANE_DP, MTLM_PHASE_OPTIMIZER, "DP"},
        {MTLM_OP_SEND, MTLM_LANE_PP, MTLM_PHASE_BACKWARD, "SEND"},
        {MTLM_OP_RECV, MTLM_LANE_PP, MTLM_PHASE_BACKWARD, "RECV"},
    };
    enum { N = sizeof(line) / sizeof(line[0]) };
    struct mtlm_record record[N];
    char *text, *at;

    (void) state;
    for (int i = 0; i < N; i++) {
        record[i] = trace_node(line[i].op, i, i + 1);
        record[i].lane = line[i].lane;
        record[i].phase = line[i].phase;
    }
    trace_dir_write(record, N, &trace_one_rank);
    at = text = trace_dir_read("schedule.csv");
    for (int i = 0; i < N; i++) {
        char *want = mtlm_sprintf(",%s,", line[i].name);
        char *end;

        at = strchr(at, '\n') + 1;
        end = strstr(at, want);
        assert_non_null(end);
        assert_true(end < strchr(at, '\n'));
        free(want);
    }
    free(text);
}

static void test_json_holds_the_summary(void **state)
{
    char *path = trace_dir_path("summary.json");
    const char *policy, *text;
    double makespan, bubble, busy, ideal, engine;
    json_t *root, *ops, *overlap;
    json_error_t error;

    (void) state;
    trace_dir_write_pipeline(4, 8, 1, true);
    root = json_load_file(path, 0, &error);
    assert_non_null(root);
    assert_int_equal(
        json_unpack(root,
                    "{s:{s:s}, s:f, s:f, s:f, s:[{s:f}, {s:f}], s:o, s:o, "
                    "s:[{s:s}]}",
                    "run", "policy", &policy, "makespan_ms", &makespan,
                    "bubble_fraction", &bubble, "ideal_1f1b_bubble", &ideal,
                    "ranks", "busy_ms", &busy, "engine_share", &engine, "ops",
                    &ops, "overlap_fraction", &overlap, "waits", "text", &text),
        0);
    assert_string_equal(policy, "prio");
    assert_float_equal(makespan, 33, 1e-9);
    assert_float_equal(bubble, 3 / 11., 1e-8);
    assert_float_equal(ideal, 3 / 11., 1e-8);
    assert_float_equal(busy, 24, 1e-9);
    assert_float_equal(engine, 0.25, 1e-9);
    assert_true(json_is_null(overlap));
    assert_int_equal(json_array_size(ops), 5);
    assert_string_equal(text, "rank 0 waited 27.3 % for gradients from rank 1");
    json_decref(root);
    free(path);
}

static void test_a_missing_parent_is_an_error_with_its_path(void **state)
{
    struct mtlm_error err;
    char *path = mtlm_sprintf("%s/no/trace", trace_dir_parent);
    char *want =
        mtlm_sprintf("%s: cannot be made: No such file or directory", path);

    (void) state;
    assert_int_equal(trace_dir_export(path, NULL, 0, &trace_one_rank, &err),
                     -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_string_equal(err.text, want);
    free(want);
    free(path);
}

/* Measurements an hour apart: the other clock gained 36 ms, 10 in a million.
 * Each time has the offset of its moment. */
static void test_records_shift_by_the_offset_of_their_time(void **state)
{
    const int64_t start = 5000000000, hour = 3600000000000;
    const struct mtlm_clock_offsets offsets = {{start, start + hour},
                                               {-7000000, 29000000}};
    struct mtlm_recorder *recorder = mtlm_recorder_create();
    struct mtlm_record record = {.submit_ns = start - 1,
                                 .ready_ns = start,
                                 .start_ns = start + hour / 4,
                                 .end_ns = start + hour + 1};
    const struct mtlm_record *shifted;
    size_t n;

    (void) state;
    mtlm_recorder_add(recorder, &record);
    mtlm_recorder_shift(recorder, &offsets);
    shifted = mtlm_recorder_records(recorder, &n);
    assert_int_equal(n, 1);
    assert_int_equal(shifted->submit_ns, record.submit_ns - 7000000);
    assert_int_equal(shifted->ready_ns, record.ready_ns - 7000000);
    assert_int_equal(shifted->start_ns, record.start_ns + 2000000);
    assert_int_equal(shifted->end_ns, record.end_ns + 29000000);
    mtlm_recorder_destroy(recorder);
}

/* "the trace in trace_dir lacks NAMES: REASON". */
static void assert_lacks(const struct mtlm_error *err, const char *names,
                         const char *reason)
{
    char *want =
        mtlm_sprintf("the trace in %s lacks %s: %s", trace_dir, names, reason);

    assert_int_equal(err->code, MTLM_EXIT_IO);
    assert_string_equal(err->text, want);
    free(want);
}

static void test_a_file_in_place_of_the_directory_is_an_error(void **state)
{
    struct mtlm_error err;
    FILE *f = fopen(trace_dir, "w");

    (void) state;
    fclose(f);
    assert_int_equal(
        trace_dir_export(trace_dir, NULL, 0, &trace_one_rank, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, " lacks schedule.csv, "));
    assert_non_null(strstr(err.text, ": Not a directory"));
}

static void test_a_file_that_cannot_be_replaced_leaves_no_other(void **state)
{
    struct mtlm_error err;
    char *path = trace_dir_path("summary.json"), *temporary;

    (void) state;
    assert_int_equal(mkdir(trace_dir, 0777), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    temporary = mtlm_sprintf("%s.tmp", path);
    assert_int_equal(
        trace_dir_export(trace_dir, NULL, 0, &trace_one_rank, &err), -1);
    assert_lacks(&err, "summary.json", "Is a directory");
    assert_int_equal(access(temporary, F_OK), -1);
    free(temporary);
    free(path);
}

static ino_t inode_of(const char *name)
{
    char *path = trace_dir_path(name);
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    free(path);
    return st.st_ino;
}

/* Made where the link leads to nothing, else replaced. */
static void test_a_link_stays_and_its_file_is_whole(void **state)
{
    struct mtlm_error err;
    struct stat st;
    char *path, *text;
    ino_t made;

    (void) state;
    assert_int_equal(mkdir(trace_dir, 0777), 0);
    path = trace_dir_path("schedule.svg");
    assert_int_equal(symlink("elsewhere", path), 0);
    assert_int_equal(
        trace_dir_export(trace_dir, NULL, 0, &trace_one_rank, &err), 0);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    made = inode_of("elsewhere");
    assert_int_equal(
        trace_dir_export(trace_dir, NULL, 0, &trace_one_rank, &err), 0);
    assert_true(inode_of("elsewhere") != made);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    text = trace_dir_read("elsewhere");
    assert_non_null(strstr(text, "</svg>"));
    free(text);
    free(path);
}

static void write_word(FILE *f, const void *what)
{
    fputs(what, f);
}

/* Of an output that no other file belongs to, or of one that is replaced. */
static int write_output(const char *path, bool in_place)
{
    struct mtlm_error err;
    struct mtlm_output_file *file =
        in_place ? mtlm_output_file_create_in_place(path, &err)
                 : mtlm_output_file_create(path, &err);
    const int rc = file ? mtlm_output_file_write(file, "output", 6, &err) : -1;

    return mtlm_output_file_end(file, rc, &err);
}

static void test_a_file_in_a_closed_directory_is_written_by_a_link(void **state)
{
    char *closed, *file, *link, *text[2];
    int direct, linked, output[3];

    (void) state;
    assert_int_equal(mkdir(trace_dir, 0777), 0);
    closed = trace_dir_path("closed");
    file = trace_dir_path("closed/file");
    link = trace_dir_path("link");
    assert_int_equal(mkdir(closed, 0777), 0);
    assert_int_equal(mtlm_whole_file_write(file, write_word, "older"), 0);
    assert_int_equal(symlink("closed/file", link), 0);
    assert_int_equal(chmod(closed, 0555), 0);
    assert_true(override_modes(false));
    direct = mtlm_whole_file_write(file, write_word, "other");
    linked = mtlm_whole_file_write(link, write_word, "new");
    output[0] = write_output(file, true);
    output[1] = write_output(link, false);
    text[0] = trace_dir_read("closed/file");
    output[2] = write_output(link, true);
    text[1] = trace_dir_read("closed/file");
    assert_true(override_modes(true));
    assert_int_equal(chmod(closed, 0777), 0);
    assert_int_equal(direct, EACCES);
    assert_int_equal(linked, 0);
    assert_int_equal(output[0], -1);
    assert_int_equal(output[1], -1);
    assert_int_equal(output[2], 0);
    assert_string_equal(text[0], "new");
    assert_string_equal(text[1], "output");
    for (int i = 0; i < 2; i++)
        free(text[i]);
    free(link);
    free(file);
    free(closed);
}

static bool is_there(const char *name)
{
    char *path = trace_dir_path(name);
    const bool there = access(path, F_OK) == 0;

    free(path);
    return there;
}

static void test_what_does_not_fit_is_named_and_the_rest_is_whole(void **state)
{
    enum { N = 200, LIMIT = 24000 };
    static const struct {
        const char *name;
        bool fits;
    } fits[] = {{"schedule.csv", true},
                {"summary.json", true},
                {"trace.json", false},
                {"tasks.rec", false},
                {"schedule.svg", true}};
    struct mtlm_record record[N];
    struct mtlm_error err;
    char *csv;
    int rc;

    (void) state;
    for (int i = 0; i < N; i++)
        record[i] = trace_node(MTLM_OP_LINEAR_FWD, i, i + 1);
    file_limit(LIMIT);
    rc = trace_dir_export(trace_dir, record, N, &trace_one_rank, &err);
    file_limit(RLIM_INFINITY);
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, ": File too large"));
    for (size_t i = 0; i < sizeof(fits) / sizeof(fits[0]); i++) {
        char *temporary = mtlm_sprintf("%s.tmp", fits[i].name);

        assert_int_equal(is_there(fits[i].name), fits[i].fits);
        assert_int_equal(!strstr(err.text, fits[i].name), fits[i].fits);
        assert_false(is_there(temporary));
        free(temporary);
    }
    csv = trace_dir_read("schedule.csv");
    assert_in_range(strlen(csv), LIMIT / 2, LIMIT);
    assert_int_equal(count_words(csv, "\n"), 1 + N);
    free(csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIR_TEST(test_csv_has_a_line_per_record),
        cmocka_unit_test(test_each_worker_has_its_device),
        DIR_TEST(test_csv_tells_phases_and_communication_apart),
        DIR_TEST(test_json_holds_the_summary),
        cmocka_unit_test(test_records_shift_by_the_offset_of_their_time),
        DIR_TEST(test_a_missing_parent_is_an_error_with_its_path),
        DIR_TEST(test_a_file_in_place_of_the_directory_is_an_error),
        DIR_TEST(test_a_file_that_cannot_be_replaced_leaves_no_other),
        DIR_TEST(test_a_link_stays_and_its_file_is_whole),
        DIR_TEST(test_a_file_in_a_closed_directory_is_written_by_a_link),
        DIR_TEST(test_what_does_not_fit_is_named_and_the_rest_is_whole),
    };

    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
