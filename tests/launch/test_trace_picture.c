/* The picture of a trace. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "codelets/op_list.h"
#include "launch/trace/export/xml.h"
#include "launch/trace/export/export.h"
#include "pipeline.h"
#include "runtime/base/memory.h"
#include "trace_dir.h"

static void test_picture_has_one_box_per_class_and_microbatch(void **state)
{
    char *text;

    (void) state;
    trace_dir_write_pipeline(4, 8, 1, true);
    text = trace_dir_read("schedule.svg");
    assert_non_null(strstr(text, "gpt-tiny, PP 4, policy prio: "
                                 "makespan 33.0 ms, bubble 27.3 % <"));
    assert_int_equal(count_words(text, ", F microbatch "), 4 * 8);
    assert_int_equal(count_words(text, ", B microbatch "), 4 * 8);
    assert_int_equal(count_words(text, ", W microbatch "), 4 * 8);
    assert_int_equal(count_words(text, ", 4 operations</title>"), 3 * 4 * 8);
    assert_int_equal(count_words(text, ">7</text>"), 3 * 4);
    assert_non_null(strstr(text, "<title>rank 2, stage 2, F microbatch 0, "
                                 "iteration 1\n2.000 to 3.000 ms: 1.000 ms, "
                                 "4 operations</title>"));
    assert_null(strstr(text, "shown"));
    free(text);
}

static void test_later_virtual_stages_are_lighter(void **state)
{
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_LINEAR_FWD, 0, 100),
        trace_node(MTLM_OP_LINEAR_FWD, 100, 200),
    };
    struct mtlm_trace_info info = trace_one_rank;
    char *text;

    (void) state;
    record[1].stage = 1;
    info.virtual_stages = 2;
    trace_dir_write(record, 2, &info);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, "<path class=\"f0\""), 1);
    assert_int_equal(count_words(text, "<path class=\"f1\""), 1);
    assert_non_null(strstr(text, ".f0{fill:#4477aa}"));
    assert_non_null(strstr(text, ".f1{fill:#b4c9dd}"));
    assert_int_equal(count_words(text, "<rect class=\"f1\""), 1);
    assert_int_equal(count_words(text, ">chunk 1</text>"), 1);
    free(text);
}

static void test_many_virtual_stages_leave_the_legend_in_the_picture(
    void **state)
{
    const struct mtlm_record record = trace_node(MTLM_OP_LINEAR_FWD, 0, 100);
    struct mtlm_trace_info info = trace_one_rank;
    double x, y, w;
    char *text, *last;

    (void) state;
    info.virtual_stages = 64;
    trace_dir_write(&record, 1, &info);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, ">chunks 0 to 63</text>"), 1);
    last = strstr(text, "<rect class=\"f63\"");
    assert_non_null(last);
    assert_int_equal(sscanf(last,
                            "<rect class=\"f63\" x=\"%lf\" y=\"%lf\" "
                            "width=\"%lf\"",
                            &x, &y, &w),
                     3);
    assert_true(x + w < 1400);
    free(text);
}

/* Two ranks with several stages each, one line for each rank. */
static void test_a_rank_is_labelled_with_its_stages(void **state)
{
    static const struct {
        int v;
        enum mtlm_placement placement;
        const char *label[2];
    } cases[] = {
        {1, MTLM_PLACEMENT_LOOP, {">stage 0<", ">stage 1<"}},
        {2, MTLM_PLACEMENT_LOOP, {">stages 0 2<", ">stages 1 3<"}},
        {2, MTLM_PLACEMENT_V, {">stages 0 3<", ">stages 1 2<"}},
        {3, MTLM_PLACEMENT_V, {">stages 0 3 4<", ">stages 1 2 5<"}},
        {5, MTLM_PLACEMENT_LOOP, {">5 stages<", ">5 stages<"}},
    };
    static const int stage[] = {0, 1};
    static const struct mtlm_trace_worker worker[] = {{0, 0, "CPU 0", true},
                                                      {1, 0, "CPU 0", true}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mtlm_record record[] = {
            trace_node(MTLM_OP_LINEAR_FWD, 0, 100),
            trace_node(MTLM_OP_LINEAR_FWD, 100, 200),
        };
        const struct mtlm_trace_info info = {.ranks = 2,
                                             .stages = 2,
                                             .virtual_stages = cases[i].v,
                                             .placement = cases[i].placement,
                                             .microbatches = 8,
                                             .stage_of_rank = stage,
                                             .worker = worker,
                                             .n_workers = 2};
        char *text;

        record[1].rank = record[1].stage = 1;
        trace_dir_write(record, 2, &info);
        text = trace_dir_read("schedule.svg");
        for (int r = 0; r < 2; r++)
            assert_non_null(strstr(text, cases[i].label[r]));
        assert_int_equal(strstr(text, "(interleaved 1F1B of ") != NULL,
                         cases[i].v > 1);
        free(text);
    }
}

/* The picture alone: the other files of a large trace take long. */
static void draw(const struct mtlm_record *record, size_t n,
                 const struct mtlm_trace_info *info)
{
    char *path = trace_dir_path("schedule.svg");
    struct mtlm_error err;

    mkdir(trace_dir, 0777);
    assert_int_equal(mtlm_trace_export_picture(path, record, n, info, &err), 0);
    free(path);
}

static void draw_pipeline(int p, int m, int iterations)
{
    const struct pipeline pipeline = {.stages = p,
                                      .microbatches = m,
                                      .iterations = iterations,
                                      .fused = true,
                                      .pieces = 1,
                                      .unit_ns = 1000000};
    const struct mtlm_trace_info info = {
        .ranks = p, .stages = p, .virtual_stages = 1, .microbatches = m};
    size_t n;
    struct mtlm_record *record = pipeline_records(&pipeline, &n);

    draw(record, n, &info);
    free(record);
}

static int64_t size_of_picture(void)
{
    char *path = trace_dir_path("schedule.svg");
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    free(path);
    return st.st_size;
}

static void test_a_large_picture_loses_hover_text_before_it_is_cut(void **state)
{
    char *text;

    (void) state;
    draw_pipeline(64, 128, 1);
    assert_in_range(size_of_picture(), 1000000, 5000000);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, "</title>"), 3 * 64 * 128);
    assert_null(strstr(text, "hover text"));
    assert_null(strstr(text, "shown"));
    free(text);
    draw_pipeline(64, 128, 3);
    assert_in_range(size_of_picture(), 1000000, 5000000);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, ">too large for hover text<"), 1);
    assert_null(strstr(text, "shown"));
    assert_null(strstr(text, "</title>"));
    assert_string_equal(text + strlen(text) - 7, "</svg>\n");
    free(text);
}

/* Draws a forward pass of each of n microbatches, and Adam. */
static void draw_row(int n)
{
    struct mtlm_record *record = mtlm_calloc(n + 1, sizeof(*record));

    for (int i = 0; i < n; i++) {
        record[i] = trace_node(MTLM_OP_LINEAR_FWD, 1000 * i, 1000 * i + 900);
        record[i].microbatch = i;
    }
    record[n] = trace_node(MTLM_OP_ADAM, 1000 * n, 1000 * n + 900);
    record[n].phase = MTLM_PHASE_OPTIMIZER;
    record[n].microbatch = record[n].stage = -1;
    draw(record, n + 1, &trace_one_rank);
    free(record);
}

static void test_a_very_large_picture_is_cut_and_says_so(void **state)
{
    char *text;

    (void) state;
    draw_row(250000);
    assert_in_range(size_of_picture(), 3000000, 5000000);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, " ms of 250"), 1);
    assert_int_equal(count_words(text, " shown, too large for hover text<"), 1);
    assert_string_equal(text + strlen(text) - 7, "</svg>\n");
    free(text);
}

/* Enough boxes for a word of hover text each, not for more. */
static void test_short_hover_text_names_only_what_there_is(void **state)
{
    char *text;

    (void) state;
    draw_row(36000);
    text = trace_dir_read("schedule.svg");
    assert_non_null(strstr(text, "<title>F7 of stage 0: 0.0 ms</title>"));
    assert_int_equal(count_words(text, "<title>OPT of rank 0: "), 1);
    assert_null(strstr(text, "OPT-1"));
    free(text);
}

/* 5000 ns of 1500 pixels.  Rank 0 issues a collective at 1000, rank 1 at 2000.
 * Both issue their ends of another message at 3000. */
static void test_messages_wait_and_move_in_two_colours(void **state)
{
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_SEND, 3000, 4200),
        trace_node(MTLM_OP_RECV, 3000, 4500),
        trace_node(MTLM_OP_LINEAR_FWD, 0, 5000),
        trace_node(MTLM_OP_ALL_REDUCE, 1000, 4500),
        trace_node(MTLM_OP_ALL_REDUCE, 2000, 4500),
    };
    struct mtlm_trace_info info = trace_one_rank;
    char *text;

    (void) state;
    info.ranks = 2;
    for (int i = 0; i < 5; i++) {
        record[i].rank = i % 3 % 2;
        record[i].peer = i < 2 ? 1 - i : -1;
        record[i].worker = i == 2 ? 0 : -1;
        record[i].lane = i < 2   ? MTLM_LANE_PP
                         : i > 2 ? MTLM_LANE_TP
                                 : MTLM_LANE_COMPUTE;
        record[i].match = i == 2 ? -1 : 7;
        record[i].group = i > 2 ? 0 : -1;
        record[i].group_root = i > 2 ? 0 : -1;
    }
    trace_dir_write(record, 5, &info);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, ">waiting for a rank</text>"), 1);
    assert_int_equal(count_words(text, "<path class=\"t1\" d=\"M384.00 "), 1);
    assert_int_equal(count_words(text, "<path class=\"t0\" d=\"M684.00 "), 2);
    assert_int_equal(count_words(text, "<path class=\"p0\" d=\"M984.00 "), 2);
    assert_int_equal(count_words(text, "<path class=\"p1\""), 0);
    assert_int_equal(count_words(text, "<rect class=\"p1\""), 1);
    assert_int_equal(count_words(text, "<rect class=\"t1\""), 1);
    assert_int_equal(count_words(text, "<rect class=\"d1\""), 0);
    free(text);
    trace_dir_write(record + 2, 1, &info);
    text = trace_dir_read("schedule.svg");
    assert_null(strstr(text, "waiting for a rank"));
    free(text);
}

/* A row of 400 boxes of 3.4 pixels. */
static void test_boxes_without_a_number_have_hover_text(void **state)
{
    char *text;

    (void) state;
    draw_row(400);
    text = trace_dir_read("schedule.svg");
    assert_null(strstr(text, ">7</text>"));
    for (int i = 0; i < 400; i++) {
        char *title = mtlm_sprintf("<title>rank 0, stage 0, F microbatch %d, "
                                   "iteration 1\n",
                                   i);

        assert_int_equal(count_words(text, title), 1);
        free(title);
    }
    free(text);
}

/* Issued at 1000, sent at 3000, there at 4500. */
static void test_a_message_says_how_long_it_waited(void **state)
{
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_SEND, 3000, 4200),
        trace_node(MTLM_OP_RECV, 1000, 4500),
        trace_node(MTLM_OP_LINEAR_FWD, 0, 5000),
    };
    struct mtlm_trace_info info = trace_one_rank;
    char *text;

    (void) state;
    info.ranks = 2;
    for (int i = 0; i < 2; i++) {
        record[i].rank = i;
        record[i].peer = 1 - i;
        record[i].worker = -1;
        record[i].lane = MTLM_LANE_PP;
        record[i].match = 7;
        record[i].bytes = 64;
    }
    trace_dir_write(record, 3, &info);
    text = trace_dir_read("schedule.svg");
    assert_non_null(strstr(text, "SEND to rank 1 microbatch 0, iteration 1\n"
                                 "0.003 to 0.004 ms: 0.001 ms, 64 bytes, "
                                 "waited 0.000 ms, transfer 0.001 ms, "));
    assert_non_null(strstr(text, "RECV from rank 0 microbatch 0, iteration 1\n"
                                 "0.003 to 0.004 ms: 0.002 ms, 64 bytes, "
                                 "waited 0.002 ms, transfer 0.002 ms, "));
    free(text);
}

/* 89 units of time are 16.9 pixels each: of digits 14 high two do not fit. */
static void test_digits_are_smaller_where_a_box_is_narrow(void **state)
{
    char *text;

    (void) state;
    trace_dir_write_pipeline(16, 14, 1, true);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, "<text class=\"n\" x="), 16 * 4 * 3);
    assert_int_equal(count_words(text, ">13</text>"), 16 * 3);
    free(text);
}

/* A run's last validation would make the rest too small to see. */
static void test_validation_after_the_training_is_left_out(void **state)
{
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_LINEAR_FWD, 0, 1000000),
        trace_node(MTLM_OP_LINEAR_FWD, 1000000, 9000000),
    };
    char *text;

    (void) state;
    record[1].phase = MTLM_PHASE_EVAL;
    trace_dir_write(record, 2, &trace_one_rank);
    text = trace_dir_read("schedule.svg");
    assert_null(strstr(text, ">9</text>")); /* of the axis */
    assert_int_equal(count_words(text, "</title>"), 1);
    free(text);
    trace_dir_write(record + 1, 1, &trace_one_rank);
    text = trace_dir_read("schedule.svg");
    assert_int_equal(count_words(text, "</title>"), 1);
    free(text);
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
    const struct mtlm_record record = trace_node(MTLM_OP_LINEAR_FWD, 0, 100);
    struct mtlm_trace_info info = trace_one_rank;
    char *text;

    (void) state;
    if (system("python3 -c 0")) {
        print_message("# no python3\n");
        skip();
    }
    info.model = "<a> & \"b\" \x01 \xff \xc3\xa9";
    info.policy = "]]>";
    trace_dir_write(&record, 1, &info);
    assert_int_equal(parse_svg(), 0);
    text = trace_dir_read("schedule.svg");
    assert_non_null(strstr(text, "&lt;a&gt; &amp; &quot;b&quot; ? ? \xc3\xa9"));
    free(text);
    trace_dir_write_pipeline(3, 6, 3, false);
    assert_int_equal(parse_svg(), 0);
    trace_dir_write(NULL, 0, &trace_one_rank);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIR_TEST(test_picture_has_one_box_per_class_and_microbatch),
        DIR_TEST(test_later_virtual_stages_are_lighter),
        DIR_TEST(test_a_rank_is_labelled_with_its_stages),
        DIR_TEST(test_a_large_picture_loses_hover_text_before_it_is_cut),
        DIR_TEST(test_short_hover_text_names_only_what_there_is),
        DIR_TEST(test_many_virtual_stages_leave_the_legend_in_the_picture),
        DIR_TEST(test_a_very_large_picture_is_cut_and_says_so),
        DIR_TEST(test_a_message_says_how_long_it_waited),
        DIR_TEST(test_messages_wait_and_move_in_two_colours),
        DIR_TEST(test_boxes_without_a_number_have_hover_text),
        DIR_TEST(test_digits_are_smaller_where_a_box_is_narrow),
        DIR_TEST(test_validation_after_the_training_is_left_out),
        DIR_TEST(test_picture_is_xml_whatever_the_names),
        cmocka_unit_test(test_xml_text_has_no_byte_that_xml_forbids),
    };

    return cmocka_run_group_tests_name("trace picture", tests, NULL, NULL);
}
