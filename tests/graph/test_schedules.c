/* The published schedules as settings of whole programs: what makes B and W
 * one, and the makespans. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/graph/execution.h"
#include "tests/graph/small.h"

enum { ITERATIONS = 2 };

/* ---- fused schedules ---- */

/* W of the microbatch and stage whose gradients are sent that have run. */
static int weights_done(const struct mtlm_execution *run,
                        const struct mtlm_executed *e)
{
    int n = 0;

    for (const struct mtlm_executed *w = run->node; w < e; w++)
        n += w->program == e->program && w->use == e->use
             && w->node->stage == e->node->stage
             && w->node->phase == MTLM_PHASE_WEIGHT;
    return n;
}

/* Returns the W nodes of a list. */
static int weights_of(const struct mtlm_list *list)
{
    int n = 0;

    for (int i = 0; i < list->n; i++)
        n += list->node[i]->phase == MTLM_PHASE_WEIGHT;
    return n;
}

/* Returns how many sends there are.  late: whether all W come before them. */
static int check_sends(const struct small_ranks *ranks, bool late)
{
    struct mtlm_execution run = execution_run(ranks, ITERATIONS);
    int sends = 0, early = 0;

    for (int i = 0; i < run.n; i++) {
        const struct mtlm_executed *e = &run.node[i];
        const struct mtlm_program *program = ranks->program[e->program];
        const struct mtlm_layout *layout = &program->config.layout;
        const struct mtlm_stage *stage;
        int w;

        if (e->node->call.kind != MTLM_OP_SEND
            || e->node->phase != MTLM_PHASE_BACKWARD)
            continue;
        stage = &program->stage[mtlm_layout_chunk(layout, e->node->stage)];
        w = weights_of(&stage->backward) + weights_of(&stage->weight);
        assert_true(w > 0);
        sends++;
        early += weights_done(&run, e) < w;
    }
    mtlm_execution_free(&run);
    if (late)
        assert_int_equal(early, 0);
    else
        assert_true(early > sends / 2);
    return sends;
}

/* Where B and W are apart, what B sends does not wait for W. */
static void test_fused_schedules_send_after_all_of_w(void **state)
{
    (void) state;
    for (int n = 0; n < small_n_cases; n++) {
        const struct small_case *c = &small_cases[n];
        struct mtlm_program_config config = small_case_config(c);
        struct small_ranks ranks;
        int sends, want = 0;

        if (!small_schedule(c->schedule)->fused)
            continue;
        for (int k = 0; k + 1 < c->pp * c->virtual_stages; k++)
            want += !small_neighbours(&config.layout, k);
        want *= ITERATIONS * c->tp * small_parts(c) * c->microbatches;
        ranks = small_ranks_create(&config);
        sends = check_sends(&ranks, true);
        assert_int_equal(sends, want);
        small_ranks_destroy(&ranks);
        config.schedule = mtlm_schedule_find("window");
        ranks = small_ranks_create(&config);
        sends = check_sends(&ranks, false);
        assert_int_equal(sends, want);
        small_ranks_destroy(&ranks);
    }
}

/* ---- published schedules ---- */

/* Makespans in times of a stage's forward pass, one for tF, tB and tW each, no
 * latency: GPipe and 1F1B (m + p - 1) T; interleaved m T + (p - 1) T / v;
 * ZB-H1 and ZB-H2 m T + (p - 1) (tF + tB - tW); two stages on each rank with
 * B and W apart: m T + (p - 1) tF / v (arXiv 2104.04473, 2401.10241,
 * 2405.15362).  Nodes are finer than stages: a little less is right, too, up to
 * 6 %.  (5 % were enough before GELU was part of the MLP's products: a node has
 * its share of a phase by number, so that fewer of them are coarser.) */
static void test_published_schedules_arise_from_programs(void **state)
{
    static const struct {
        int p, v, m;
        const char *schedule;
        enum mtlm_placement placement;
        double makespan;
    } cases[] = {
        {2, 1, 8, "gpipe", MTLM_PLACEMENT_LOOP, 27},
        {4, 1, 8, "gpipe", MTLM_PLACEMENT_LOOP, 33},
        {2, 1, 8, "1f1b", MTLM_PLACEMENT_LOOP, 27},
        {4, 1, 8, "1f1b", MTLM_PLACEMENT_LOOP, 33},
        {4, 1, 16, "1f1b", MTLM_PLACEMENT_LOOP, 57},
        {2, 2, 8, "interleaved", MTLM_PLACEMENT_LOOP, 25.5},
        {4, 2, 8, "interleaved", MTLM_PLACEMENT_LOOP, 28.5},
        {4, 2, 16, "interleaved", MTLM_PLACEMENT_LOOP, 52.5},
        {2, 1, 8, "zb-h1", MTLM_PLACEMENT_LOOP, 25},
        {4, 1, 8, "zb-h1", MTLM_PLACEMENT_LOOP, 27},
        {4, 1, 8, "zb-h2", MTLM_PLACEMENT_LOOP, 27},
        {2, 2, 8, "zb-v", MTLM_PLACEMENT_V, 24.5},
        {4, 2, 8, "zb-v", MTLM_PLACEMENT_V, 25.5},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mtlm_program_config config =
            small_config(1, cases[i].p, cases[i].m);
        struct small_ranks ranks;
        struct mtlm_execution run;
        double makespan;

        config.model.num_layers = cases[i].p * cases[i].v;
        config.layout.virtual_stages = cases[i].v;
        config.layout.placement = cases[i].placement;
        config.schedule = small_schedule(cases[i].schedule);
        ranks = small_ranks_create(&config);
        run = execution_run(&ranks, 1);
        makespan = (double) run.makespan_ns / EXECUTION_UNIT_NS / cases[i].v;
        if (makespan < 0.94 * cases[i].makespan
            || makespan > 1.02 * cases[i].makespan)
            fail_msg("p %d, v %d, m %d, schedule %s: %g, not %g", cases[i].p,
                     cases[i].v, cases[i].m, cases[i].schedule, makespan,
                     cases[i].makespan);
        mtlm_execution_free(&run);
        small_ranks_destroy(&ranks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fused_schedules_send_after_all_of_w),
        cmocka_unit_test(test_published_schedules_arise_from_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
