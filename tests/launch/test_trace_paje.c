/* paje.trace: what happens at the same time, workers without work, several
 * messages at a time. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/op.h"
#include "trace_dir.h"

/* The lines of the file with that begin, without it, one after the other. */
static char *lines(const char *begin)
{
    char *text = trace_dir_read("paje.trace"), *to = text;

    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strncmp(line, begin, strlen(begin)) == 0)
            to += sprintf(to, "%s\n", line + strlen(begin));
    *to = '\0';
    return text;
}

/* The states of a container: begin and value of each. */
static char *states(const char *container)
{
    char *text = trace_dir_read("paje.trace"), *to = text;

    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char time[32], type[8], where[32], value[32];
        int event;

        if (sscanf(line, "%d %31s %7s %31s %31s", &event, time, type, where,
                   value)
                == 5
            && (event == 10 || event == 20) && strcmp(where, container) == 0)
            to += sprintf(to, "%s %s\n", time, value);
    }
    *to = '\0';
    return text;
}

static void assert_text(char *got, const char *want)
{
    assert_string_equal(got, want);
    free(got);
}

/* The end of a node comes before the begin of the next; one that took no time
 * begins and ends before it. */
static void test_nodes_without_a_gap_follow_each_other(void **state)
{
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_LINEAR_FWD, 1000, 2000),
        trace_node(MTLM_OP_LAYERNORM_FWD, 2000, 2000),
        trace_node(MTLM_OP_ATTENTION_FWD, 2000, 3500),
    };

    (void) state;
    trace_dir_write(record, 3, &trace_one_rank);
    assert_text(states("0_CPU0"), "0.000000 I\n"
                                  "0.001000 linear_fwd\n"
                                  "0.002000 I\n"
                                  "0.002000 layernorm_fwd\n"
                                  "0.002000 I\n"
                                  "0.002000 attention_fwd\n"
                                  "0.003500 I\n");
    /* Submitted at 0, ready at their start. */
    assert_text(lines("13\t0.002000\tnready\t"), "0_scheduler\t1.000000\n"
                                                 "0_scheduler\t2.000000\n"
                                                 "0_scheduler\t1.000000\n"
                                                 "0_scheduler\t0.000000\n");
    assert_text(lines("13\t0.003500\tnsub\t"), "0_scheduler\t0.000000\n");
}

static void test_a_task_says_what_starvz_asks_for(void **state)
{
    static const struct mtlm_trace_use use[] = {{0, 0, MTLM_R, 12},
                                                {0, 1, MTLM_W, 12}};
    static const struct mtlm_trace_data data[] = {{0, 0, {"x", 3000, 5, 0}},
                                                  {0, 1, {"y", 1096, 5, 1}}};
    struct mtlm_record r = trace_node(MTLM_OP_LINEAR_FWD, 2001500, 5000750);
    struct mtlm_trace_info info = trace_one_rank;
    char *text, *at;

    (void) state;
    info.use = use;
    info.n_uses = 2;
    info.data = data;
    info.n_data = 2;
    r.job = 12;
    r.iteration = 6;
    r.microbatch = 3;
    r.layer = 5;
    r.flops = 1.5e9;
    r.submit_ns = 1500;
    trace_dir_write(&r, 1, &info);
    text = lines("20\t");
    /* All but the footprint. */
    at = strchr(strstr(text, "\"F3 L5\"\t") + 8, '\t');
    assert_non_null(at);
    assert_string_equal(at, "\t0\t0_12\t12\t1.500000\t5\t3\t7\t3\t-1\n");
    strstr(text, "\"F3 L5\"")[7] = '\0';
    assert_text(text, "2.000000\tS\t0_CPU0\tlinear_fwd\t4096\t\"F3 L5\"");
    text = trace_dir_read("tasks.rec");
    assert_non_null(strstr(text, "\nHandles: 0_0 0_1\nModes: R W\n"
                                 "Sizes: 3000 1096\n"));
    free(text);
}

static void test_every_worker_and_message_has_a_place(void **state)
{
    const struct mtlm_trace_worker worker[] = {{0, 0, "CPU 0", true},
                                               {0, 3, "CUDA 1", true}};
    struct mtlm_record record[] = {
        trace_node(MTLM_OP_LINEAR_FWD, 0, 9000),
        trace_node(MTLM_OP_SEND, 1000, 3000),
        trace_node(MTLM_OP_SEND, 2000, 4000),
        trace_node(MTLM_OP_SEND, 3000, 5000),
    };
    struct mtlm_trace_info info = trace_one_rank;

    (void) state;
    for (int i = 1; i < 4; i++) {
        record[i].worker = -1;
        record[i].lane = MTLM_LANE_PP;
        record[i].job = i;
    }
    info.worker = worker;
    info.n_workers = 2;
    trace_dir_write(record, 4, &info);
    assert_text(states("0_CUDA1"), "0.000000 I\n");
    assert_text(states("0_PPmpict"), "0.000000 CI\n"
                                     "0.001000 send\n"
                                     "0.003000 CI\n"
                                     "0.003000 send\n"
                                     "0.005000 CI\n");
    assert_text(states("0_PP2mpict"), "0.000000 CI\n"
                                      "0.002000 send\n"
                                      "0.004000 CI\n");
    assert_text(lines("8\t0.009000\t"), "0_CUDA1\tW\n"
                                        "0_CPU0\tW\n"
                                        "0_PPmpict\tMPICt\n"
                                        "0_PP2mpict\tMPICt\n"
                                        "0_scheduler\tSc\n"
                                        "0_program\tP\n"
                                        "MPIroot\tMPIP\n");
}

/* StarVZ knows the words CPU and CUDA. */
static void test_a_gpu_has_the_name_of_starvz(void **state)
{
    const struct mtlm_trace_worker worker[] = {{0, 0, "GPU 0", true},
                                               {0, 1, "CPU 0", true}};
    const struct mtlm_record record[] = {
        trace_node(MTLM_OP_LINEAR_FWD, 0, 1000)};
    struct mtlm_trace_info info = trace_one_rank;

    (void) state;
    info.worker = worker;
    info.n_workers = 2;
    trace_dir_write(record, 1, &info);
    assert_text(states("0_CUDA0"), "0.000000 I\n"
                                   "0.000000 linear_fwd\n"
                                   "0.001000 I\n");
    assert_text(states("0_CPU0"), "0.000000 I\n");
}

static struct mtlm_record message(int op, int rank, int match, int start,
                                  int end)
{
    struct mtlm_record r = trace_node(op, start, end);

    r.rank = rank;
    r.peer = 1 - rank;
    r.worker = -1;
    r.lane = MTLM_LANE_PP;
    r.job = r.match = match;
    return r;
}

/* Receives are drawn from their send on, so that two begin together; the one
 * that came late takes no time, and does not end the other one. */
static void test_the_shorter_of_two_that_begin_together_is_first(void **state)
{
    struct mtlm_record record[] = {
        message(MTLM_OP_RECV, 0, 0, 100, 3000),
        message(MTLM_OP_RECV, 0, 1, 200, 1000),
        message(MTLM_OP_SEND, 1, 0, 1000, 3000),
        message(MTLM_OP_SEND, 1, 1, 1000, 1000),
    };
    struct mtlm_trace_info info = trace_one_rank;

    (void) state;
    info.ranks = 2;
    trace_dir_write(record, 4, &info);
    assert_text(states("0_PPmpict"), "0.000000 CI\n"
                                     "0.001000 recv\n"
                                     "0.001000 CI\n"
                                     "0.001000 recv\n"
                                     "0.003000 CI\n");
}

static void test_nothing_recorded_is_a_trace_too(void **state)
{
    (void) state;
    trace_dir_write(NULL, 0, &trace_one_rank);
    assert_text(lines("20\t"), "");
    assert_text(lines("8\t"), "0.000000\t0_scheduler\tSc\n"
                              "0.000000\t0_program\tP\n"
                              "0.000000\tMPIroot\tMPIP\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIR_TEST(test_nodes_without_a_gap_follow_each_other),
        DIR_TEST(test_a_task_says_what_starvz_asks_for),
        DIR_TEST(test_every_worker_and_message_has_a_place),
        DIR_TEST(test_a_gpu_has_the_name_of_starvz),
        DIR_TEST(test_the_shorter_of_two_that_begin_together_is_first),
        DIR_TEST(test_nothing_recorded_is_a_trace_too),
    };

    return cmocka_run_group_tests_name("trace for Paje", tests, NULL, NULL);
}
