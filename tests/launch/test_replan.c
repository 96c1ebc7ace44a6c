/* --replan-after: the second plan of a running job, and which options
 * contradict. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/build/order_build.h"
#include "graph/build/program_build.h"
#include "graph/build/ring.h"
#include "graph/predict/activation_memory.h"
#include "launch/job/job_advice.h"
#include "launch/plan/layout_choice.h"
#include "launch/plan/order_choice.h"
#include "launch/plan/second_plan.h"
#include "runtime/base/memory.h"
#include "runtime/comm/policy_nodes.h"
#include "tests/launch/parse.h"

#define FOUR                                                                   \
    "--model gpt-tiny --num-layers 8 --workers 1 --micro-batch-size 1 "        \
    "--global-batch-size 16 --pipeline-model-parallel-size 4 "                 \
    "--num-virtual-stages-per-pipeline-rank 1 "

enum { STAGES = 4 };

/* ---- the second plan ---- */

struct job {
    struct mtlm_wish wish;
    struct mtlm_choice choice;
    struct mtlm_activation_memory activation;
    struct mtlm_program *program;
};

/* Builds the program of the job's plan. */
static void build_job(struct job *job)
{
    struct mtlm_program_config config =
        mtlm_wish_config(&job->wish, 1, STAGES, 1, 1);

    mtlm_activation_memory_measure(&config);
    job->activation = config.activation;
    config.outline = true;
    job->program = mtlm_program_build(&config);
}

/* The job of the options on four pipeline ranks. */
static void start_job(struct job *job, const char *line)
{
    accepts(line);
    job->wish = mtlm_layout_choice_wish(&options, 1);
    job->choice = (struct mtlm_choice){.tp = 1,
                                       .pp = STAGES,
                                       .dp = 1,
                                       .micro_batch = 1,
                                       .window = job->wish.config.window};
    assert_int_equal(
        mtlm_layout_choice_take(&options, &job->wish, &job->choice, &error), 0);
    build_job(job);
}

static void end_job(struct job *job)
{
    mtlm_program_destroy(job->program);
    mtlm_activation_memory_free(&job->activation);
}

static struct mtlm_first_plan first_plan(const struct job *job)
{
    return (struct mtlm_first_plan){&options, &job->wish, &job->choice,
                                    job->program};
}

static int make_plan(const struct job *job, struct mtlm_stage_times *times,
                     struct mtlm_second_plan *plan)
{
    const struct mtlm_first_plan first = first_plan(job);

    return mtlm_second_plan_make(&first, times, plan, &error);
}

/* F 1, B 1.3, W 0.8 s, a message 0.1 s; one stage takes 1.25 times as long. */
static struct mtlm_stage_times slow_times_of(int stages, int slow)
{
    struct mtlm_stage_times times = mtlm_stage_times_create(stages);

    for (int k = 0; k < stages; k++) {
        const double factor = k == slow ? 1.25 : 1;

        times.forward[k] = factor;
        times.backward[k] = 1.3 * factor;
        times.weight[k] = .8 * factor;
    }
    times.hop = .1;
    return times;
}

static struct mtlm_stage_times slow_times(int slow)
{
    return slow_times_of(STAGES, slow);
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
    assert_int_equal(make_plan(&job, &times, &plan), 0);
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

    (void) state;
    start_job(&job, FOUR "--schedule auto");
    assert_int_equal(make_plan(&job, &times, &plan), 0);
    mtlm_second_plan_swap(&plan, &options, &job.wish);
    next = job;
    build_job(&next);
    assert_int_equal(make_plan(&next, &again, &same), 0);
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
    assert_int_equal(make_plan(&job, &times, &plan), 0);
    assert_float_equal(plan.old_s, plan.new_s, 1e-12);
    assert_false(mtlm_second_plan_is_worth(&plan));
    mtlm_second_plan_free(&plan);
    end_job(&job);
}

/* ---- an order that auto chose ---- */

#define LOOPS                                                                  \
    "--model gpt-tiny --num-layers 8 --workers 1 --micro-batch-size 1 "        \
    "--global-batch-size 16 --pipeline-model-parallel-size 4 --schedule auto " \
    "--num-virtual-stages-per-pipeline-rank 2 --placement loop"

/* Starts a job of two stages a rank that follows the order of a schedule in
 * which B and W are one, as --schedule auto may choose. */
static void start_following(struct job *job, const char *name)
{
    struct mtlm_program_config config;
    struct mtlm_box_order order;

    start_job(job, LOOPS);
    end_job(job);
    if (options.order)
        mtlm_order_free(options.order);
    free(options.order);
    options.order = NULL;
    options.schedule_mode = job->wish.config.follow = MTLM_FOLLOW_STRICT;
    job->wish.order = NULL;
    job->wish.config.schedule = mtlm_schedule_find(name);
    config = mtlm_choice_config(&job->wish, &job->choice);
    mtlm_activation_memory_measure(&config);
    order = mtlm_order_build(mtlm_published_find(name), &config);
    mtlm_activation_memory_free(&config.activation);
    mtlm_order_choice_take(&options, &job->wish, &config, &order);
    build_job(job);
}

/* Times do not change such an order. */
static void test_an_order_that_auto_chose_stays(void **state)
{
    struct mtlm_stage_times times = slow_times_of(2 * STAGES, 1);
    struct mtlm_second_plan plan;
    struct job job;

    (void) state;
    start_following(&job, "interleaved");
    assert_int_equal(make_plan(&job, &times, &plan), 0);
    assert_non_null(plan.wish.order);
    assert_ptr_equal(plan.wish.order, plan.options.order);
    assert_ptr_not_equal(plan.wish.order, options.order);
    assert_string_equal(plan.wish.config.schedule->name, "interleaved");
    assert_int_equal(plan.wish.config.follow, MTLM_FOLLOW_STRICT);
    for (int r = 0; r < STAGES; r++) {
        assert_int_equal(plan.wish.order->n[r], options.order->n[r]);
        assert_memory_equal(plan.wish.order->box[r], options.order->box[r],
                            options.order->n[r] * sizeof(int));
    }
    assert_float_equal(plan.old_s, plan.new_s, 1e-9);
    assert_false(mtlm_second_plan_is_worth(&plan));
    mtlm_second_plan_free(&plan);
    end_job(&job);
}

/* There is no second plan whose order needs more memory than --act-mem. */
static void test_an_order_that_auto_chose_keeps_to_the_memory(void **state)
{
    struct mtlm_stage_times times = slow_times_of(2 * STAGES, 1);
    struct mtlm_second_plan plan;
    struct job job;

    (void) state;
    start_following(&job, "breadth-first");
    options.act_mem = .9 * mtlm_ring_memory(&job.program->config);
    job.choice.window = 0;
    assert_int_equal(make_plan(&job, &times, &plan), -1);
    assert_non_null(strstr(error.text, "--schedule breadth-first: rank "));
    assert_non_null(strstr(error.text, "the activations take"));
    end_job(&job);
}

/* ---- layers that move ---- */

#define FULL                                                                   \
    "--model gpt-tiny --num-layers 32 --workers 1 --micro-batch-size 1 "       \
    "--global-batch-size 16 --pipeline-model-parallel-size 4 --schedule auto " \
    "--num-virtual-stages-per-pipeline-rank 1 "

/* Makes a plan that moves nothing; returns whether one that moves layers is
 * better, and then sets *moved. */
static bool moves(const struct job *job, struct mtlm_stage_times *times,
                  const struct mtlm_stage_times *in_layers,
                  struct mtlm_second_plan *plan, struct mtlm_second_plan *moved)
{
    const struct mtlm_first_plan first = first_plan(job);

    assert_int_equal(make_plan(job, times, plan), 0);
    return mtlm_second_plan_move(&first, plan, in_layers, moved);
}

/* Eight layers on each rank: with seven, a rank at 0.8 bounds the iteration no
 * more.  By work, 9 / 10 of the time is left; 2 % of that are the schedule's.
 */
static void test_layers_leave_a_slow_stage(void **state)
{
    static const int64_t layers[] = {8, 7, 9, 8};
    struct mtlm_stage_times times = slow_times(1), in_layers = slow_times(1);
    struct mtlm_second_plan plan, moved;
    struct job job;

    (void) state;
    start_job(&job, FULL);
    assert_true(moves(&job, &times, &in_layers, &plan, &moved));
    assert_true(moved.new_s < .95 * plan.new_s);
    assert_float_equal(moved.old_s, plan.old_s, 0);
    assert_int_equal(moved.options.n_layers_of_stage, STAGES);
    assert_memory_equal(moved.options.layers_of_stage, layers, sizeof(layers));
    assert_float_equal(moved.options.times.forward[1], 1.25 * 7 / 8, 1e-9);

    mtlm_second_plan_swap(&moved, &options, &job.wish);
    assert_ptr_equal(job.wish.stages.layers, options.layers_of_stage);
    assert_int_equal(options.layers_of_stage[1], 7);
    assert_null(moved.options.layers_of_stage);
    mtlm_second_plan_swap(&moved, &options, &job.wish);
    assert_null(options.layers_of_stage);
    assert_null(job.wish.stages.layers);
    mtlm_second_plan_free(&moved);
    mtlm_second_plan_free(&plan);
    mtlm_stage_times_free(&in_layers);
    end_job(&job);
}

/* Rank 0 is faster by less than times are exact, and has no memory left for a
 * ninth layer: the layer goes to rank 2 all the same. */
static void test_memory_decides_between_equal_ranks(void **state)
{
    static const int64_t layers[] = {8, 7, 9, 8};
    struct mtlm_stage_times times = slow_times(1), in_layers = slow_times(1);
    struct mtlm_second_plan plan, moved;
    struct job job;

    (void) state;
    for (int i = 0; i < 3; i++) {
        times.forward[i * STAGES] *= .993;
        in_layers.forward[i * STAGES] *= .993;
    }
    start_job(&job, FULL);
    assert_true(moves(&job, &times, &in_layers, &plan, &moved));
    assert_memory_equal(moved.options.layers_of_stage, layers, sizeof(layers));
    mtlm_second_plan_free(&moved);
    mtlm_second_plan_free(&plan);
    mtlm_stage_times_free(&in_layers);
    end_job(&job);
}

/* Equal ranks keep their layers. */
static void test_layers_of_equal_stages_stay(void **state)
{
    struct mtlm_stage_times times = slow_times(-1), in_layers = slow_times(-1);
    struct mtlm_second_plan plan, moved;
    struct job job;

    (void) state;
    start_job(&job, FULL);
    assert_false(moves(&job, &times, &in_layers, &plan, &moved));
    mtlm_second_plan_free(&plan);
    mtlm_stage_times_free(&in_layers);
    end_job(&job);
}

static void test_what_keeps_layers(void **state)
{
    static const struct {
        const char *line;
        bool moves;
    } rows[] = {
        {FULL, true},
        {FULL "--stage-layers 8,8,8,8", false},
        {FULL "--schedule window --stage-windows 4,3,2,1", false},
        {"--model gpt-tiny --num-layers 8 --workers 1 --global-batch-size 16 "
         "--micro-batch-size 1 --pipeline-model-parallel-size 4 "
         "--num-layers-per-virtual-pipeline-stage 2",
         false},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mtlm_first_plan first;
        struct job job;

        start_job(&job, rows[i].line);
        first = first_plan(&job);
        assert_true(mtlm_second_plan_may_move(&first) == rows[i].moves);
        job.program->config.layout.dp = 2;
        assert_true(mtlm_second_plan_may_move(&first) == rows[i].moves);
        job.program->config.distributed_optimizer = true;
        assert_false(mtlm_second_plan_may_move(&first));
        end_job(&job);
    }
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
    refuses(FOUR "--train-iters 10 --replan-after 9 --offload optimizer",
            "--replan-after copies weights and moments to memory, and "
            "--offload leaves none for them");
    accepts(FOUR "--train-iters 10 --replan-after 0 --offload optimizer "
                 "--offload-dir .");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_second_plan_knows_the_slow_stage),
        cmocka_unit_test(test_a_plan_by_the_same_times_stays),
        cmocka_unit_test(test_a_schedule_without_times_stays),
        cmocka_unit_test(test_an_order_that_auto_chose_stays),
        cmocka_unit_test(test_an_order_that_auto_chose_keeps_to_the_memory),
        cmocka_unit_test(test_layers_leave_a_slow_stage),
        cmocka_unit_test(test_memory_decides_between_equal_ranks),
        cmocka_unit_test(test_layers_of_equal_stages_stay),
        cmocka_unit_test(test_what_keeps_layers),
        cmocka_unit_test(test_who_waits_and_what_the_line_says),
        cmocka_unit_test(test_what_contradicts_is_refused),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
