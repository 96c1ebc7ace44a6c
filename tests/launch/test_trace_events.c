/* trace.json: names, tracks, text that JSON must escape. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "codelets/op_list.h"
#include "trace_dir.h"

static json_t *load(void)
{
    char *path = trace_dir_path("trace.json");
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

    if (!root)
        fail_msg("line %d: %s", error.line, error.text);
    free(path);
    return root;
}

/* The i-th event with that phase and, unless NULL, that name; NULL: none. */
static json_t *event(json_t *root, const char *phase, const char *name, int i)
{
    json_t *e;
    size_t k;

    json_array_foreach(json_object_get(root, "traceEvents"), k, e)
    {
        const char *p = json_string_value(json_object_get(e, "ph"));
        const char *n = json_string_value(json_object_get(e, "name"));

        assert_non_null(p);
        if (strcmp(p, phase) == 0 && (!name || (n && strcmp(n, name) == 0))
            && i-- == 0)
            return e;
    }
    return NULL;
}

static const char *name_of(json_t *root, const char *phase, int i)
{
    json_t *e = event(root, phase, NULL, i);

    assert_non_null(e);
    return json_string_value(json_object_get(e, "name"));
}

static json_int_t tid_of(json_t *root, int i)
{
    return json_integer_value(
        json_object_get(event(root, "X", NULL, i), "tid"));
}

static double time_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static const char *track_name(json_t *root, int i)
{
    json_t *args = json_object_get(event(root, "M", "thread_name", i), "args");

    return json_string_value(json_object_get(args, "name"));
}

static void test_an_event_says_what_when_and_where(void **state)
{
    struct mtlm_record r = trace_node(MTLM_OP_LINEAR_FWD, 2001500, 5000750);
    json_t *root;
    double ts, dur, ready;
    int iteration, microbatch, layer, stage, chunk, pid;
    const char *category;

    (void) state;
    r.iteration = 6;
    r.microbatch = 3;
    r.layer = 12;
    r.ready_ns = 1000000;
    trace_dir_write(&r, 1, &trace_one_rank);
    root = load();
    assert_string_equal(name_of(root, "X", 0), "F3 L12");
    assert_int_equal(
        json_unpack(event(root, "X", NULL, 0),
                    "{s:F, s:F, s:s, s:i, s:{s:i, s:i, s:i, s:i, s:i, s:F}}",
                    "ts", &ts, "dur", &dur, "cat", &category, "pid", &pid,
                    "args", "iteration", &iteration, "microbatch", &microbatch,
                    "layer", &layer, "stage", &stage, "chunk", &chunk,
                    "ready_us", &ready),
        0);
    /* From the origin, the first start. */
    assert_float_equal(ts, 0, 1e-9);
    assert_float_equal(dur, 2999.25, 1e-9);
    assert_float_equal(ready, -1001.5, 1e-9);
    assert_string_equal(category, "linear_fwd");
    assert_int_equal(iteration, 7);
    assert_int_equal(microbatch, 3);
    assert_int_equal(layer, 12);
    assert_int_equal(stage, 0);
    assert_int_equal(chunk, 0);
    json_decref(root);
}

/* Perfetto leaves out what has a negative time, and treats process and thread
 * 0 as its own. */
static void test_nothing_is_before_zero_and_nothing_has_number_0(void **state)
{
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_BATCH, 1000, 2000), /* not yet the origin */
        trace_node(MTLM_OP_LINEAR_FWD, 5000, 9000),
    };
    json_t *root, *e;
    size_t i;

    (void) state;
    trace_dir_write(record, 2, &trace_one_rank);
    root = load();
    assert_float_equal(time_of(event(root, "X", NULL, 0), "ts"), 0, 1e-9);
    assert_float_equal(time_of(event(root, "X", NULL, 1), "ts"), 4, 1e-9);
    assert_float_equal(time_of(json_object_get(root, "otherData"), "origin_us"),
                       4, 1e-9);
    json_array_foreach(json_object_get(root, "traceEvents"), i, e)
    {
        assert_int_equal(json_integer_value(json_object_get(e, "pid")), 1);
        if (json_object_get(e, "tid"))
            assert_true(json_integer_value(json_object_get(e, "tid")) > 0);
    }
    json_decref(root);
}

static void test_names_tell_what_is_outside_the_layers(void **state)
{
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_EMBEDDING_FWD, 0, 1), trace_node(MTLM_OP_ADAM, 1, 2),
        trace_node(MTLM_OP_SEND, 2, 3),          trace_node(MTLM_OP_RECV, 3, 4),
        trace_node(MTLM_OP_ALL_REDUCE, 4, 5),
    };
    static const char *const name[] = {"F0 embedding_fwd", "OPT adam",
                                       "SEND0 to 1", "RECV0 from 1", "AR0 L2"};
    enum { N = sizeof(record) / sizeof(record[0]) };
    json_t *root;

    (void) state;
    for (int i = 0; i < N; i++)
        record[i].layer = -1;
    record[1].microbatch = -1;
    record[1].phase = MTLM_PHASE_OPTIMIZER;
    for (int i = 2; i < N; i++) {
        record[i].worker = -1;
        record[i].lane = MTLM_LANE_PP;
        record[i].peer = 1;
    }
    record[4].lane = MTLM_LANE_TP;
    record[4].peer = -1;
    record[4].layer = 2;
    trace_dir_write(record, N, &trace_one_rank);
    root = load();
    for (int i = 0; i < N; i++)
        assert_string_equal(name_of(root, "X", i), name[i]);
    assert_string_equal(track_name(root, 0), "worker 0");
    assert_string_equal(track_name(root, 1), "TP");
    assert_string_equal(track_name(root, 2), "PP");
    assert_null(event(root, "M", "thread_name", 3));
    json_decref(root);
}

/* Three messages of which two at most are under way at a time, and a node
 * beside them. */
static void test_what_overlaps_has_a_track_of_its_own(void **state)
{
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_SEND, 0, 10),
        trace_node(MTLM_OP_SEND, 5, 20),
        trace_node(MTLM_OP_SEND, 10, 30),
        trace_node(MTLM_OP_LINEAR_FWD, 11, 30),
    };
    json_t *root;

    (void) state;
    for (int i = 0; i < 3; i++) {
        record[i].worker = -1;
        record[i].lane = MTLM_LANE_PP;
        record[i].peer = 0;
    }
    trace_dir_write(record, 4, &trace_one_rank);
    root = load();
    assert_int_equal(tid_of(root, 0), tid_of(root, 2));
    assert_int_not_equal(tid_of(root, 0), tid_of(root, 1));
    assert_string_equal(track_name(root, 0), "worker 0");
    assert_string_equal(track_name(root, 1), "PP");
    assert_string_equal(track_name(root, 2), "PP (2)");
    json_decref(root);
}

static void test_any_text_is_json(void **state)
{
    const struct mtlm_trace_worker worker[] = {
        {0, 0, "CPU \"0\" \\ \x01 \xc3\xa9", true}};
    const struct mtlm_record r = trace_node(MTLM_OP_LINEAR_FWD, 0, 1);
    struct mtlm_trace_info info = trace_one_rank;
    static const int stage[] = {5};
    json_t *root, *name;
    const char *policy;

    (void) state;
    info.worker = worker;
    info.n_workers = 1;
    info.stage_of_rank = stage;
    info.model = "\xff";
    info.policy = "\"]}";
    trace_dir_write(&r, 1, &info);
    root = load();
    assert_string_equal(track_name(root, 0), worker[0].device);
    name = json_object_get(
        json_object_get(event(root, "M", "process_name", 0), "args"), "name");
    assert_string_equal(json_string_value(name), "rank 0 (stage 5)");
    assert_int_equal(json_unpack(root, "{s:{s:n, s:s}}", "otherData", "model",
                                 "policy", &policy),
                     0);
    assert_string_equal(policy, info.policy);
    json_decref(root);
}

static void test_nothing_recorded_is_json_too(void **state)
{
    json_t *root;

    (void) state;
    trace_dir_write(NULL, 0, &trace_one_rank);
    root = load();
    assert_null(event(root, "X", NULL, 0));
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIR_TEST(test_an_event_says_what_when_and_where),
        DIR_TEST(test_nothing_is_before_zero_and_nothing_has_number_0),
        DIR_TEST(test_names_tell_what_is_outside_the_layers),
        DIR_TEST(test_what_overlaps_has_a_track_of_its_own),
        DIR_TEST(test_any_text_is_json),
        DIR_TEST(test_nothing_recorded_is_json_too),
    };

    return cmocka_run_group_tests_name("trace_events", tests, NULL, NULL);
}
