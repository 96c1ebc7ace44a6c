/* --replan-after: medians of records, the second plan of a running job, and
 * which options contradict. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/op.h"
#include "graph/build/program_build.h"
#include "graph/predict/activation_memory.h"
#include "launch/job/job_advice.h"
#include "launch/plan/layout_choice.h"
#include "launch/plan/second_plan.h"
#include "launch/trace/stage_medians.h"
#include "runtime/base/memory.h"
#include "runtime/comm/policy_nodes.h"
#include "tests/launch/parse.h"

#define FOUR                                                                   \
    "--model gpt-tiny --num-layers 8 --workers 1 --micro-batch-size 1 "        \
    "--global-batch-size 16 --pipeline-model-parallel-size 4 "                 \
    "--num-virtual-stages-per-pipeline-rank 1 "

enum { STAGES = 4 };

/* ---- medians ---- */

static struct mtlm_record node(int rank, int stage, int phase, int microbatch,
                               int64_t start, int64_t ns)
{
    return (struct mtlm_record){.rank = rank,
                                .lane = MTLM_LANE_COMPUTE,
                                .phase = phase,
                                .op = MTLM_OP_LINEAR_FWD,
                                .microbatch = microbatch,
                                .stage = stage,
                                .layer = -1,
                                .peer = -1,
                                .group = -1,
                                .group_root = -1,
                                .match = -1,
                                .start_ns = start,
                                .end_ns = start + ns};
}

/* Adds a send of stage 0 at `sent`, and a receive of stage 1 at `posted`, that
 * end at `end`. */
static void add_message(struct mtlm_record *record, size_t *n, int microbatch,
                        int64_t sent, int64_t posted, int64_t end)
{
    for (int k = 0; k < 2; k++) {
        struct mtlm_record r =
            node(k, k, MTLM_PHASE_FORWARD, microbatch, k ? posted : sent, 0);

        r.op = k ? MTLM_OP_RECV : MTLM_OP_SEND;
        r.lane = MTLM_LANE_PP;
        r.worker = -1;
        r.peer = 1 - k;
        r.match = microbatch;
        r.end_ns = end;
        record[(*n)++] = r;
    }
}

/* Two stages, two iterations of three microbatches.  F of stage 0 takes 3, 4, 5
 * and 13, 14, 15 us, in two nodes: the fourth of six is the median.  B and W
 * take the double and the triple.  Stage 1 takes 1 us more. */
static void test_medians_of_records(void **state)
{
    static const struct mtlm_trace_info two = {.ranks = 2};
    struct mtlm_record record[128];
    struct mtlm_trace_records *records;
    struct mtlm_stage_times times;
    size_t n = 0;

    (void) state;
    for (int k = 0; k < 2; k++)
        for (int e = 0; e < 2; e++)
            for (int i = 0; i < 3; i++)
                for (int phase = 0; phase < 3; phase++) {
                    const int64_t f = 1000 * (3 + i + 10 * e);

                    record[n] = node(k, k, MTLM_PHASE_FORWARD + phase, i, 0,
                                     f * (phase + 1));
                    record[n++].iteration = e;
                    record[n] = node(k, k, MTLM_PHASE_FORWARD + phase, i, 20000,
                                     1000 * k);
                    record[n++].iteration = e;
                }
    /* Both ends are there after 3, 5 and 7 us. */
    add_message(record, &n, 0, 2000, 1000, 5000);
    add_message(record, &n, 1, 2000, 3000, 8000);
    add_message(record, &n, 2, 1000, 500, 8000);
    for (size_t i = 0; i < n; i++)
        record[i].job = i;
    records = mtlm_trace_records_create(record, n, &two);
    times = mtlm_trace_stage_medians(records, 2);
    assert_int_equal(mtlm_trace_stage_medians_check(&times, &error), 0);
    for (int k = 0; k < 2; k++) {
        assert_float_equal(times.forward[k], (13 + k) * 1e-6, 1e-15);
        assert_float_equal(times.backward[k], (26 + k) * 1e-6, 1e-15);
        assert_float_equal(times.weight[k], (39 + k) * 1e-6, 1e-15);
    }
    assert_float_equal(times.hop, 5e-6, 1e-15);
    mtlm_stage_times_free(&times);
    times = mtlm_trace_stage_medians(records, 3);
    assert_int_equal(mtlm_trace_stage_medians_check(&times, &error), -1);
    assert_string_equal(error.text, "F of stage 2 takes 0 s in all recorded "
                                    "iterations; the last stage is 2");
    mtlm_stage_times_free(&times);
    mtlm_trace_records_destroy(records);
}

/* ---- the second plan ---- */

struct job {
    struct mtlm_wish wish;
    struct mtlm_choice choice;
    struct mtlm_activation_memory activation;
    struct mtlm_program *program;
};

/* The job of the options on four pipeline ranks. */
static void start_job(struct job *job, const char *line)
{
    struct mtlm_program_config config;

    accepts(line);
    job->wish = mtlm_layout_choice_wish(&options, 1);
    job->choice = (struct mtlm_choice){.tp = 1,
                                       .pp = STAGES,
                                       .dp = 1,
                                       .micro_batch = 1,
                                       .window = job->wish.config.window};
    assert_int_equal(
        mtlm_layout_choice_take(&options, &job->wish, &job->choice, &error), 0);
    config = mtlm_wish_config(&job->wish, 1, STAGES, 1, 1);
    mtlm_activation_memory_measure(&config);
    job->activation = config.activation;
    config.outline = true;
    job->program = mtlm_program_build(&config);
}

static void end_job(struct job *job)
{
    mtlm_program_destroy(job->program);
    mtlm_activation_memory_free(&job->activation);
}

/* F 1, B 1.3, W 0.8 s, a message 0.1 s; one stage takes 1.25 times as long. */
static struct mtlm_stage_times slow_times(int slow)
{
    struct mtlm_stage_times times = mtlm_stage_times_create(STAGES);

    for (int k = 0; k < STAGES; k++) {
        const double factor = k == slow ? 1.25 : 1;

        times.forward[k] = factor;
        times.backward[k] = 1.3 * factor;
        times.weight[k] = .8 * factor;
    }
    times.hop = .1;
    return times;
}

/* No schedule takes less than 63.1 s: the work of rank 1, behind F of rank 0
 * and a message.  The plan for equal stages takes 2 % more than the second
 * plan. */
static void test_a_second_plan_knows_the_slow_stage(void **state)
{
    struct mtlm_stage_times times = slow_times(1);
    struct mtlm_second_plan plan;
    struct job job;

    (void) state;
    start_job(&job, FOUR "--schedule auto");
    assert_int_equal(mtlm_second_plan_make(&options, &job.wish, &job.choice,
                                           job.program, &times, &plan, &error),
                     0);
    assert_true(plan.new_s >= 63.1 && plan.new_s < 65.2);
    assert_true(plan.old_s > 1.02 * plan.new_s);
    assert_true(mtlm_second_plan_is_worth(&plan));
    assert_int_equal(plan.wish.stages.virtual_stages,
                     job.wish.stages.virtual_stages);
    assert_int_equal(plan.wish.config.layout.placement,
                     job.wish.config.layout.placement);

    mtlm_second_plan_swap(&plan, &options, &job.wish);
    assert_int_equal(options.times.stages, STAGES);
    assert_ptr_equal(job.wish.config.times, &options.times);
    assert_ptr_equal(job.wish.order, options.order);
    assert_int_equal(plan.options.times.stages, 0);
    mtlm_second_plan_swap(&plan, &options, &job.wish);
    assert_null(job.wish.config.times);
    assert_null(job.wish.order);
    mtlm_second_plan_free(&plan);
    end_job(&job);
}

/* A program whose plan knows the times gains nothing from a second plan. */
static void test_a_plan_by_the_same_times_stays(void **state)
{
    struct mtlm_stage_times times = slow_times(1), again = slow_times(1);
    struct mtlm_second_plan plan, same;
    struct job job, next;
    struct mtlm_program_config config;

    (void) state;
    start_job(&job, FOUR "--schedule auto");
    assert_int_equal(mtlm_second_plan_make(&options, &job.wish, &job.choice,
                                           job.program, &times, &plan, &error),
                     0);
    mtlm_second_plan_swap(&plan, &options, &job.wish);
    config = mtlm_wish_config(&job.wish, 1, STAGES, 1, 1);
    mtlm_activation_memory_measure(&config);
    next.activation = config.activation;
    config.outline = true;
    next.program = mtlm_program_build(&config);
    assert_int_equal(mtlm_second_plan_make(&options, &job.wish, &job.choice,
                                           next.program, &again, &same, &error),
                     0);
    assert_float_equal(same.old_s, same.new_s, 1e-9);
    assert_float_equal(same.old_s, plan.new_s, 1e-9);
    assert_false(mtlm_second_plan_is_worth(&same));
    mtlm_second_plan_free(&same);
    mtlm_second_plan_free(&plan);
    end_job(&next);
    end_job(&job);
}

/* Windows of 1F1B follow from the stages: measured times change nothing. */
static void test_a_schedule_without_times_stays(void **state)
{
    struct mtlm_stage_times times = slow_times(1);
    struct mtlm_second_plan plan;
    struct job job;

    (void) state;
    start_job(&job, FOUR "--schedule 1f1b");
    assert_int_equal(mtlm_second_plan_make(&options, &job.wish, &job.choice,
                                           job.program, &times, &plan, &error),
                     0);
    assert_float_equal(plan.old_s, plan.new_s, 1e-12);
    assert_false(mtlm_second_plan_is_worth(&plan));
    mtlm_second_plan_free(&plan);
    end_job(&job);
}

/* Where a job changes from priorities to a sequence, the policy forgets its
 * advice, and the log line says so. */
static void test_who_waits_and_what_the_line_says(void **state)
{
    static const struct {
        const char *mode, *line;
        bool waits;
    } modes[] = {
        {"hint", ", places in an order are priorities", true},
        {"strict", ", passes start in the sequence of an order", false},
        {"windows", "", true},
    };

    (void) state;
    mtlm_policy_watch(&(struct mtlm_policy_watch){0});
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        char line[300];
        struct job job;

        snprintf(line, sizeof(line), FOUR "--schedule zb-1p --schedule-mode %s",
                 modes[i].mode);
        start_job(&job, line);
        mtlm_job_advise_policy(&(struct mtlm_job){.program = job.program});
        assert_true((mtlm_policy_advice().share > 0) == modes[i].waits);
        assert_string_equal(mtlm_second_plan_follow(&job.program->config),
                            modes[i].line);
        end_job(&job);
    }
    mtlm_policy_watch(NULL);
}

/* ---- the command line ---- */

static void test_what_contradicts_is_refused(void **state)
{
    (void) state;
    accepts(FOUR "--train-iters 10 --replan-after 9");
    assert_int_equal(options.replan_after, 9);
    accepts(FOUR "--replan-after 0 --schedule gpipe");
    refuses(FOUR "--train-iters 10 --replan-after 10",
            "--replan-after 10 is not less than --train-iters 10");
    refuses(FOUR "--train-samples 160 --replan-after 11",
            "--replan-after 11 is not less than the 10 iterations of "
            "--train-samples");
    accepts_config("replan-after = 10\n", FOUR "--train-iters 10");
    refuses(FOUR "--replan-after 2 --dry-run",
            "--replan-after measures iterations, and --dry-run runs none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_medians_of_records),
        cmocka_unit_test(test_a_second_plan_knows_the_slow_stage),
        cmocka_unit_test(test_a_plan_by_the_same_times_stays),
        cmocka_unit_test(test_a_schedule_without_times_stays),
        cmocka_unit_test(test_who_waits_and_what_the_line_says),
        cmocka_unit_test(test_what_contradicts_is_refused),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
