/* Programs in virtual time: the tasks that mtlm-dag-sim gets, and the times
 * that StarPU's policies reach beside those of the evaluator. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/predict/virtual_program.h"
#include "tests/graph/small.h"

static const char program[] = "./mtlm-dag-sim";

/* Milliseconds: a task of F or B takes 1, of W a half, a message 0.02 to 0.1, a
 * reduction of gradients 3. */
static double seconds(void *arg, const struct mtlm_program *of,
                      const struct mtlm_item *item, int iteration)
{
    (void) arg;
    (void) of;
    (void) iteration;
    switch (mtlm_ops[item->node->call.kind]->op_class) {
    case MTLM_CLASS_COMPUTE:
        return item->node->phase == MTLM_PHASE_WEIGHT ? 0.5e-3 : 1e-3;
    case MTLM_CLASS_P2P:
        return 0.02e-3;
    case MTLM_CLASS_COLLECTIVE:
        return item->node->lane == MTLM_LANE_DP ? 3e-3 : 0.1e-3;
    default:
        return 0;
    }
}

struct job {
    int tp, pp, virtual_stages;
    int64_t microbatches;
    const char *schedule;
    enum mtlm_placement placement;
    int replicas; /* 0: one */
    int workers;  /* 0: one */
};

static struct mtlm_program_config config_of(const struct job *job)
{
    struct mtlm_program_config config =
        small_config(job->tp, job->pp, job->microbatches);

    config.layout.virtual_stages = job->virtual_stages;
    config.layout.placement = job->placement;
    if (job->replicas > 0) {
        config.layout.dp = job->replicas;
        config.bucket_size = 4000; /* several buckets for a stage */
    }
    if (job->workers > 0)
        config.layout.workers = job->workers;
    config.schedule = small_schedule(job->schedule);
    return config;
}

/* Programs of a job, folded or of all ranks, with their evaluation. */
struct scene {
    struct small_ranks ranks;
    const struct mtlm_program **program;
    struct mtlm_evaluate_program job;
    struct mtlm_execution evaluated;
};

static struct scene create_scene(const struct job *job, int step, double hold)
{
    const struct mtlm_program_config config = config_of(job);
    struct scene s = {.ranks = small_ranks_create(&config)};

    s.program = mtlm_calloc(s.ranks.n, sizeof(*s.program));
    s.job = (struct mtlm_evaluate_program){.program = s.program,
                                           .iterations = 1,
                                           .seconds = seconds,
                                           .turns = MTLM_TURNS_LANE,
                                           .first_come = true,
                                           .hold = hold};
    for (int r = 0; r < s.ranks.n; r += step)
        s.program[s.job.n++] = s.ranks.program[r];
    s.evaluated = mtlm_evaluate_program(&s.job);
    return s;
}

static void free_scene(struct scene *s)
{
    mtlm_execution_free(&s->evaluated);
    free(s->program);
    small_ranks_destroy(&s->ranks);
}

static void need_simulator(void)
{
    if (access(program, X_OK) < 0) {
        print_message("# no mtlm-dag-sim: launch/setup --simgrid\n");
        skip();
    }
}

static int try_policy(const struct scene *s, const char *name,
                      struct mtlm_execution *run, struct mtlm_error *err)
{
    const struct mtlm_virtual_config config = {.program = program};
    char policy[64];
    int rc;

    setenv("STARPU_SCHED", name, 1);
    rc =
        mtlm_virtual_program(&s->job, &s->evaluated, &config, run, policy, err);
    if (rc == 0)
        assert_string_equal(policy, name);
    return rc;
}

static struct mtlm_execution run_policy(const struct scene *s, const char *name)
{
    struct mtlm_execution run;
    struct mtlm_error err;

    if (try_policy(s, name, &run, &err) < 0)
        fail_msg("%s: %s", name, err.text);
    return run;
}

/* ---- the job ---- */

/* Tasks stand behind their predecessors; a message is one task of two nodes, on
 * the sender's worker for messages. */
static void test_the_job_has_every_node_once(void **state)
{
    const struct job two = {1, 2, 1, 3, "1f1b", MTLM_PLACEMENT_LOOP, 0, 0};
    struct scene s = create_scene(&two, 1, 0);
    int64_t *number = mtlm_calloc(s.evaluated.n, sizeof(*number));
    struct mtlm_virtual_job job =
        mtlm_virtual_program_job(&s.job, &s.evaluated, number);
    int messages = 0;

    (void) state;
    assert_int_equal(job.n_nodes, s.evaluated.n);
    for (int64_t i = 0; i < job.n_tasks; i++) {
        const struct mtlm_virtual_task *t = &job.task[i];
        const struct mtlm_virtual_node *node = &job.node[t->first_node];

        for (int k = 0; k < t->n_nodes; k++)
            assert_int_equal(node[k].task, i);
        for (int k = 0; k < node->n_predecessors; k++)
            assert_true(
                job.node[job.predecessor[node->first_predecessor + k]].task
                < i);
        if (t->lane != MTLM_LANE_PP)
            continue;
        messages++;
        assert_int_equal(t->n_nodes, 2);
        assert_int_equal(t->duration_ns, 20000);
        for (int k = 0; k < 2; k++)
            assert_int_equal(t->rank == node[k].about.rank,
                             node[k].about.kind == MTLM_POLICY_SEND);
    }
    /* F and B of three microbatches; the embedding's gradients are no p2p. */
    assert_int_equal(messages, 2 * 3);
    mtlm_virtual_job_free(&job);
    free(number);
    free_scene(&s);
}

/* ---- policies ---- */

static void assert_near(const char *what, int64_t ns, int64_t expected)
{
    if (fabs((double) ns - expected) > 0.005 * expected)
        fail_msg("%s: %.6f ms, evaluated %.6f ms", what, 1e-6 * ns,
                 1e-6 * expected);
}

static void test_prio_is_the_evaluator(void **state)
{
    static const struct job jobs[] = {
        {1, 4, 1, 8, "1f1b", MTLM_PLACEMENT_LOOP, 0, 0},
        {1, 4, 1, 12, "gpipe", MTLM_PLACEMENT_LOOP, 0, 0},
        {2, 2, 1, 8, "zb-h1", MTLM_PLACEMENT_LOOP, 0, 0},
        {1, 2, 2, 6, "interleaved", MTLM_PLACEMENT_LOOP, 0, 0},
        {2, 2, 2, 6, "zb-v", MTLM_PLACEMENT_V, 0, 0},
        {1, 2, 1, 4, "1f1b", MTLM_PLACEMENT_LOOP, 2, 0},
        {2, 2, 1, 4, "zb-h1", MTLM_PLACEMENT_LOOP, 4, 0}};

    (void) state;
    need_simulator();
    for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
        const int alike = jobs[i].tp * (int) fmax(jobs[i].replicas, 1);
        struct scene s = create_scene(&jobs[i], alike, 0);
        struct mtlm_execution run = run_policy(&s, "prio");

        assert_near(jobs[i].schedule, run.makespan_ns, s.evaluated.makespan_ns);
        mtlm_execution_free(&run);
        free_scene(&s);
    }
}

/* One rank for each tensor-parallel group is enough. */
static void test_folded_is_unfolded(void **state)
{
    const struct job job = {2, 4, 1, 8, "1f1b", MTLM_PLACEMENT_LOOP, 0, 0};
    struct scene folded, all;
    struct mtlm_execution a, b;

    (void) state;
    need_simulator();
    folded = create_scene(&job, 2, 0);
    all = create_scene(&job, 1, 0);
    a = run_policy(&folded, "prio");
    b = run_policy(&all, "prio");
    assert_near("unfolded", b.makespan_ns, a.makespan_ns);
    mtlm_execution_free(&a);
    mtlm_execution_free(&b);
    free_scene(&folded);
    free_scene(&all);
}

static void test_two_runs_are_equal(void **state)
{
    static const char *const names[] = {"prio", "lws", "dmdas"};
    const struct job job = {1, 4, 1, 8, "zb-h1", MTLM_PLACEMENT_LOOP, 0, 0};
    struct scene s;

    (void) state;
    need_simulator();
    s = create_scene(&job, 1, 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct mtlm_execution a = run_policy(&s, names[i]);
        struct mtlm_execution b = run_policy(&s, names[i]);

        assert_int_equal(a.makespan_ns, b.makespan_ns);
        for (int k = 0; k < a.n; k++) {
            assert_ptr_equal(a.node[k].item, b.node[k].item);
            assert_int_equal(a.node[k].start_ns, b.node[k].start_ns);
        }
        mtlm_execution_free(&a);
        mtlm_execution_free(&b);
    }
    free_scene(&s);
}

/* A policy without priorities is slower than one with them. */
static void test_the_policy_chooses(void **state)
{
    const struct job job = {1, 4, 1, 12, "zb-h1", MTLM_PLACEMENT_LOOP, 0, 0};
    struct scene s;
    struct mtlm_execution prio, eager;

    (void) state;
    need_simulator();
    s = create_scene(&job, 1, 0);
    prio = run_policy(&s, "prio");
    eager = run_policy(&s, "eager");
    assert_true(eager.makespan_ns > 1.01 * prio.makespan_ns);
    mtlm_execution_free(&prio);
    mtlm_execution_free(&eager);
    free_scene(&s);
}

/* Workers of the policy mtlm wait for messages as the evaluator's do: behind
 * collectives and receives for the same share, and a short task fits into a gap
 * that a longer one does not. */
static void test_mtlm_waits_in_virtual_time(void **state)
{
    static const struct {
        struct job job;
        double share;
    } waits[] = {{{2, 4, 1, 8, "zb-h1", MTLM_PLACEMENT_LOOP, 0, 0}, 0.25},
                 {{2, 4, 1, 8, "zb-h1", MTLM_PLACEMENT_LOOP, 0, 2}, 0.5},
                 {{2, 4, 2, 8, "zb-v", MTLM_PLACEMENT_V, 0, 0}, 0.25},
                 {{2, 4, 2, 8, "zb-v", MTLM_PLACEMENT_V, 0, 0}, 0.1}};

    (void) state;
    need_simulator();
    for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
        struct scene s = create_scene(&waits[i].job, 2, waits[i].share);
        struct mtlm_execution mtlm = run_policy(&s, "mtlm");

        assert_near(waits[i].job.schedule, mtlm.makespan_ns,
                    s.evaluated.makespan_ns);
        mtlm_execution_free(&mtlm);
        free_scene(&s);
    }
}

static void test_waits_shorten_the_pipeline(void **state)
{
    const struct job job = {2, 4, 1, 8, "zb-h1", MTLM_PLACEMENT_LOOP, 0, 0};
    struct scene s;
    struct mtlm_execution mtlm, prio;

    (void) state;
    need_simulator();
    s = create_scene(&job, 2, 0.25);
    mtlm = run_policy(&s, "mtlm");
    prio = run_policy(&s, "prio");
    assert_true(prio.makespan_ns > 1.03 * mtlm.makespan_ns);
    mtlm_execution_free(&mtlm);
    mtlm_execution_free(&prio);
    free_scene(&s);
}

static void test_an_unknown_policy_is_refused(void **state)
{
    const struct job job = {1, 2, 1, 2, "1f1b", MTLM_PLACEMENT_LOOP, 0, 0};
    struct scene s;
    struct mtlm_execution run;
    struct mtlm_error err;

    (void) state;
    need_simulator();
    s = create_scene(&job, 1, 0);
    assert_int_equal(try_policy(&s, "fastest", &run, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
    assert_non_null(
        strstr(err.text, "STARPU_SCHED=fastest is no scheduling policy"));
    free_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_job_has_every_node_once),
        cmocka_unit_test(test_prio_is_the_evaluator),
        cmocka_unit_test(test_folded_is_unfolded),
        cmocka_unit_test(test_two_runs_are_equal),
        cmocka_unit_test(test_the_policy_chooses),
        cmocka_unit_test(test_mtlm_waits_in_virtual_time),
        cmocka_unit_test(test_waits_shorten_the_pipeline),
        cmocka_unit_test(test_an_unknown_policy_is_refused),
    };

    unsetenv("STARPU_SCHED_LIB");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
