/* The files of a trace directory. */
#include "config.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "codelets/op.h"
#include "launch/trace/trace.h"
#include "launch/trace/xml.h"
#include "pipeline.h"
#include "runtime/memory.h"

/* An empty directory for each test; a trace goes to its folder "trace". */
static char dir[64], trace_dir[80];

static void remove_all(const char *path)
{
    DIR *d = opendir(path);

    if (d) {
        for (struct dirent *e; (e = readdir(d));)
            if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
                char *inside = mtlm_sprintf("%s/%s", path, e->d_name);

                remove_all(inside);
                free(inside);
            }
        closedir(d);
    }
    remove(path);
}

static int make_dir(void **state)
{
    (void) state;
    strcpy(dir, "trace.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(trace_dir, sizeof(trace_dir), "%s/trace", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void) state;
    remove_all(dir);
    return 0;
}

static char *path_of(const char *name)
{
    return mtlm_sprintf("%s/%s", trace_dir, name);
}

/* The content of a file of the trace; the caller frees it. */
static char *read_file(const char *name)
{
    char *path = path_of(name), *text = NULL;
    size_t size = 0;
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    assert_true(getdelim(&text, &size, '\0', f) > 0);
    fclose(f);
    free(path);
    return text;
}

static int count(const char *text, const char *word)
{
    int n = 0;

    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

static void write_pipeline(int p, int m, int iterations, bool fused)
{
    const struct pipeline pipeline = {.stages = p,
                                      .microbatches = m,
                                      .iterations = iterations,
                                      .fused = fused,
                                      .pieces = 4,
                                      .unit_ns = 1000000};
    const struct mtlm_trace_info info = {.ranks = p,
                                         .stages = p,
                                         .virtual_stages = 1,
                                         .microbatches = m,
                                         .model = "gpt-tiny",
                                         .layout = "PP 4",
                                         .policy = "prio"};
    struct mtlm_error err;
    size_t n;
    struct mtlm_record *record = pipeline_records(&pipeline, &n);

    assert_int_equal(mtlm_trace_write(trace_dir, record, n, &info, &err), 0);
    free(record);
}

static struct mtlm_record node(int op, int start, int end)
{
    return (struct mtlm_record){.lane = MTLM_LANE_COMPUTE,
                                .op = op,
                                .peer = -1,
                                .ready_ns = start,
                                .start_ns = start,
                                .end_ns = end};
}

static const struct mtlm_trace_info one_rank = {
    .ranks = 1, .stages = 1, .virtual_stages = 1, .microbatches = 1};

static void write_records(const struct mtlm_record *record, size_t n,
                          const struct mtlm_trace_info *info)
{
    struct mtlm_error err;

    assert_int_equal(mtlm_trace_write(trace_dir, record, n, info, &err), 0);
}

static void test_csv_has_a_line_per_record(void **state)
{
    struct mtlm_record record[] = {
        node(MTLM_OP_SEND, 3000, 4500),
        node(MTLM_OP_LINEAR_FWD, 1000, 3000),
    };
    const struct mtlm_trace_worker worker[] = {{0, 2, "CPU 2, \"big\"", true}};
    struct mtlm_trace_info info = one_rank;
    char *text;

    (void) state;
    record[0].worker = -1;
    record[0].lane = MTLM_LANE_PP;
    record[0].peer = 1;
    record[0].iteration = record[1].iteration = 6;
    record[0].layer = -1;
    record[0].job = 8;
    record[0].bytes = 4096;
    record[1].worker = 2;
    record[1].microbatch = 3;
    record[1].stage = 5;
    record[1].layer = 11;
    record[1].job = 7;
    record[1].priority = -40;
    record[1].submit_ns = 500;
    record[1].flops = 123456789;
    info.stages = 2;
    info.virtual_stages = 3;
    info.worker = worker;
    info.n_workers = 1;
    write_records(record, 2, &info);
    text = read_file("schedule.csv");
    assert_string_equal(
        text,
        "rank,worker,device,iteration,microbatch,stage,chunk,layer,op,name,"
        "job,priority,submit_us,ready_us,start_us,end_us,flops,bytes,peer\n"
        "0,2,\"CPU 2, \"\"big\"\"\",7,3,5,2,11,F,linear_fwd,"
        "7,-40,-0.500,0.000,0.000,2.000,123456789,0,-1\n"
        "0,-1,communication,7,0,0,0,-1,SEND,send,"
        "8,0,-1.000,2.000,2.000,3.500,0,4096,1\n");
    free(text);
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
        record[i] = node(line[i].op, i, i + 1);
        record[i].lane = line[i].lane;
        record[i].phase = line[i].phase;
    }
    write_records(record, N, &one_rank);
    at = text = read_file("schedule.csv");
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
    char *path = path_of("summary.json");
    const char *policy, *text;
    double makespan, bubble, busy, ideal;
    json_t *root, *ops, *overlap;
    json_error_t error;

    (void) state;
    write_pipeline(4, 8, 1, true);
    root = json_load_file(path, 0, &error);
    assert_non_null(root);
    assert_int_equal(
        json_unpack(root,
                    "{s:{s:s}, s:f, s:f, s:f, s:[{s:f}], s:o, s:o, "
                    "s:[{s:s}]}",
                    "run", "policy", &policy, "makespan_ms", &makespan,
                    "bubble_fraction", &bubble, "ideal_1f1b_bubble", &ideal,
                    "ranks", "busy_ms", &busy, "ops", &ops, "overlap_fraction",
                    &overlap, "waits", "text", &text),
        0);
    assert_string_equal(policy, "prio");
    assert_float_equal(makespan, 33, 1e-9);
    assert_float_equal(bubble, 3 / 11., 1e-8);
    assert_float_equal(ideal, 3 / 11., 1e-8);
    assert_float_equal(busy, 24, 1e-9);
    assert_true(json_is_null(overlap));
    assert_int_equal(json_array_size(ops), 5);
    assert_string_equal(text, "rank 0 waited 27.3 % for gradients from rank 1");
    json_decref(root);
    free(path);
}

static void test_picture_has_one_box_per_class_and_microbatch(void **state)
{
    char *text;

    (void) state;
    write_pipeline(4, 8, 1, true);
    text = read_file("schedule.svg");
    assert_non_null(strstr(text, "gpt-tiny, PP 4, policy prio: "
                                 "makespan 33.0 ms, bubble 27.3 %<"));
    assert_int_equal(count(text, ", F microbatch "), 4 * 8);
    assert_int_equal(count(text, ", B microbatch "), 4 * 8);
    assert_int_equal(count(text, ", W microbatch "), 4 * 8);
    assert_int_equal(count(text, ", 4 operations</title>"), 3 * 4 * 8);
    assert_int_equal(count(text, ">7</text>"), 3 * 4);
    assert_non_null(strstr(text, "<title>rank 2, stage 2, F microbatch 0, "
                                 "iteration 1\n2.000 to 3.000 ms: 1.000 ms, "
                                 "4 operations</title>"));
    assert_null(strstr(text, "shown"));
    free(text);
}

static void test_another_box_divides_one_but_host_nodes_do_not(void **state)
{
    struct mtlm_record record[] = {
        node(MTLM_OP_LINEAR_FWD, 0, 100),
        node(MTLM_OP_BATCH, 100, 110),
        node(MTLM_OP_LINEAR_FWD, 110, 200),
        node(MTLM_OP_LINEAR_DGRAD, 200, 300),
        node(MTLM_OP_LINEAR_FWD, 300, 400),
    };
    char *text;

    (void) state;
    record[3].phase = MTLM_PHASE_BACKWARD;
    write_records(record, 5, &one_rank);
    text = read_file("schedule.svg");
    assert_int_equal(count(text, ", F microbatch 0,"), 2);
    assert_int_equal(count(text, ", 2 operations</title>"), 1);
    assert_int_equal(count(text, ", host microbatch 0,"), 1);
    free(text);
}

static void test_waiting_inside_a_box_shows(void **state)
{
    const struct mtlm_record record[] = {
        node(MTLM_OP_LINEAR_FWD, 0, 400),
        node(MTLM_OP_LINEAR_FWD, 500, 1000),
    };
    char *text;

    (void) state;
    write_records(record, 2, &one_rank);
    text = read_file("schedule.svg");
    assert_int_equal(count(text, ", F microbatch 0,"), 1);
    assert_non_null(strstr(text, ": 0.001 ms, busy 0.001 ms, 2 operations"));
    assert_int_equal(count(text, "fill-opacity=\".3\""), 1);
    free(text);
}

static void test_a_long_wait_divides_a_box(void **state)
{
    struct mtlm_record record[] = {
        node(MTLM_OP_LINEAR_FWD, 0, 1000),
        node(MTLM_OP_LINEAR_FWD, 3000, 1000000),
    };
    char *text;

    (void) state;
    write_records(record, 2, &one_rank);
    text = read_file("schedule.svg");
    assert_int_equal(count(text, ", F microbatch 0,"), 1);
    free(text);
    record[1].start_ns = 500000;
    write_records(record, 2, &one_rank);
    text = read_file("schedule.svg");
    assert_int_equal(count(text, ", F microbatch 0,"), 2);
    free(text);
}

static void test_later_virtual_stages_are_lighter(void **state)
{
    struct mtlm_record record[] = {
        node(MTLM_OP_LINEAR_FWD, 0, 100),
        node(MTLM_OP_LINEAR_FWD, 100, 200),
    };
    struct mtlm_trace_info info = one_rank;
    char *text;

    (void) state;
    record[1].stage = 1;
    info.virtual_stages = 2;
    write_records(record, 2, &info);
    text = read_file("schedule.svg");
    assert_int_equal(count(text, "<path class=\"f0\""), 1);
    assert_int_equal(count(text, "<path class=\"f1\""), 1);
    assert_non_null(strstr(text, ".f0{fill:#4477aa}"));
    assert_non_null(strstr(text, ".f1{fill:#b4c9dd}"));
    free(text);
}

static void test_a_large_picture_is_cut_and_says_so(void **state)
{
    char *path = path_of("schedule.svg"), *text;
    struct stat st;

    (void) state;
    write_pipeline(64, 128, 2, true);
    assert_int_equal(stat(path, &st), 0);
    assert_in_range(st.st_size, 3000000, 5000000);
    text = read_file("schedule.svg");
    assert_int_equal(count(text, " ms of "), 1);
    assert_int_equal(count(text, " shown<"), 1);
    assert_string_equal(text + strlen(text) - 7, "</svg>\n");
    free(text);
    free(path);
}

/* 0: python3 reads it as XML. */
static int parse_svg(void)
{
    const char *python = getenv("PYTHON");
    char *command =
        mtlm_sprintf("%s -c 'import sys, xml.etree.ElementTree as e;"
                     " e.parse(sys.argv[1])' %s/schedule.svg",
                     python && *python ? python : "python3", trace_dir);
    const int rc = system(command);

    free(command);
    return rc;
}

static void test_picture_is_xml_whatever_the_names(void **state)
{
    const struct mtlm_record record = node(MTLM_OP_LINEAR_FWD, 0, 100);
    struct mtlm_trace_info info = one_rank;
    char *text;

    (void) state;
    if (system("python3 -c 0"))
        skip();
    info.model = "<a> & \"b\" \x01 \xff \xc3\xa9";
    info.policy = "]]>";
    write_records(&record, 1, &info);
    assert_int_equal(parse_svg(), 0);
    text = read_file("schedule.svg");
    assert_non_null(strstr(text, "&lt;a&gt; &amp; &quot;b&quot; ? ? \xc3\xa9"));
    free(text);
    write_pipeline(3, 6, 3, false);
    assert_int_equal(parse_svg(), 0);
    write_records(NULL, 0, &one_rank);
    assert_int_equal(parse_svg(), 0);
}

static void test_xml_text_has_no_byte_that_xml_forbids(void **state)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    (void) state;
    /* Overlong (no character), surrogate, too large, cut off,
     * noncharacter; then legal ones. */
    mtlm_xml_put(f, "\xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82 "
                    "\xef\xbf\xbf \xe2\x82\xac\xf0\x9f\x98\x80\t\x02");
    fclose(f);
    assert_string_equal(text, "?? ? ? ?? ? "
                              "\xe2\x82\xac\xf0\x9f\x98\x80\t?");
    free(text);
}

static void test_a_missing_parent_is_an_error_with_its_path(void **state)
{
    struct mtlm_error err;
    char *path = mtlm_sprintf("%s/no/trace", dir);
    char *want = mtlm_sprintf("cannot create directory %s: "
                              "No such file or directory",
                              path);

    (void) state;
    assert_int_equal(mtlm_trace_write(path, NULL, 0, &one_rank, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_string_equal(err.text, want);
    free(want);
    free(path);
}

static void test_a_file_in_place_of_the_directory_is_an_error(void **state)
{
    struct mtlm_error err;
    char *want = mtlm_sprintf("cannot write %s/schedule.csv: Not a directory",
                              trace_dir);
    FILE *f = fopen(trace_dir, "w");

    (void) state;
    fclose(f);
    assert_int_equal(mtlm_trace_write(trace_dir, NULL, 0, &one_rank, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_string_equal(err.text, want);
    free(want);
}

static void test_a_file_that_cannot_be_replaced_leaves_no_other(void **state)
{
    struct mtlm_error err;
    char *path = path_of("summary.json"), *temporary, *want;

    (void) state;
    assert_int_equal(mkdir(trace_dir, 0777), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    temporary = mtlm_sprintf("%s.tmp", path);
    want = mtlm_sprintf("cannot write %s: Is a directory", path);
    assert_int_equal(mtlm_trace_write(trace_dir, NULL, 0, &one_rank, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_string_equal(err.text, want);
    assert_int_equal(access(temporary, F_OK), -1);
    free(want);
    free(temporary);
    free(path);
}

#define DIR_TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIR_TEST(test_csv_has_a_line_per_record),
        DIR_TEST(test_csv_tells_phases_and_communication_apart),
        DIR_TEST(test_json_holds_the_summary),
        DIR_TEST(test_picture_has_one_box_per_class_and_microbatch),
        DIR_TEST(test_another_box_divides_one_but_host_nodes_do_not),
        DIR_TEST(test_waiting_inside_a_box_shows),
        DIR_TEST(test_a_long_wait_divides_a_box),
        DIR_TEST(test_later_virtual_stages_are_lighter),
        DIR_TEST(test_a_large_picture_is_cut_and_says_so),
        DIR_TEST(test_picture_is_xml_whatever_the_names),
        cmocka_unit_test(test_xml_text_has_no_byte_that_xml_forbids),
        DIR_TEST(test_a_missing_parent_is_an_error_with_its_path),
        DIR_TEST(test_a_file_in_place_of_the_directory_is_an_error),
        DIR_TEST(test_a_file_that_cannot_be_replaced_leaves_no_other),
    };

    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
