/* Programs that follow an order: in the order, without waiting for slots,
 * whatever sound order comes. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/build/order_build.h"
#include "graph/build/stage.h"
#include "graph/predict/evaluate.h"
#include "tests/graph/execution.h"
#include "tests/graph/follow_scene.h"

enum { ITERATIONS = 2 };

static const struct mtlm_recompute selective = {.granularity =
                                                    MTLM_RECOMPUTE_SELECTIVE};
static const struct mtlm_recompute one_layer = {MTLM_RECOMPUTE_FULL,
                                                MTLM_RECOMPUTE_BLOCK, 1};

/* ---- times ---- */

struct span {
    int64_t start, end;
};

/* The boxes of a rank in an iteration, in the order: [n]. */
static struct span *spans_of(const struct mtlm_execution *run,
                             const struct follow_scene *s,
                             const struct mtlm_program *program, int rank,
                             int iteration)
{
    const int r = program->config.layout.pp_rank;
    struct span *span = mtlm_calloc(s->order.n[r], sizeof(*span));

    for (int j = 0; j < s->order.n[r]; j++)
        span[j].start = INT64_MAX;
    for (int i = 0; i < run->n; i++) {
        const struct mtlm_executed *e = &run->node[i];
        struct span *at;

        if (e->program != rank || e->iteration != iteration || e->microbatch < 0
            || e->node->lane != MTLM_LANE_COMPUTE)
            continue;
        at = &span[s->walk.place[mtlm_box_number(
            &s->boxes, (struct mtlm_box){mtlm_node_pass(e->node),
                                         e->node->stage, e->microbatch, 0})]];
        at->start = e->start_ns < at->start ? e->start_ns : at->start;
        at->end = e->end_ns > at->end ? e->end_ns : at->end;
    }
    return span;
}

/* A box starts when the box before it in its lane has ended. */
static void assert_chained(const struct follow_scene *s,
                           const struct span *span, int rank)
{
    int64_t end[FOLLOW_MOST] = {0};

    for (int j = 0; j < s->order.n[rank]; j++) {
        const int lane = mtlm_order_lane(&s->order, s->order.box[rank][j]);

        assert_true(span[j].start >= end[lane]);
        end[lane] = span[j].end;
    }
}

/* Whether boxes of two lanes run at the same time. */
static bool overlap(const struct follow_scene *s, const struct span *span,
                    int rank)
{
    for (int j = 1; j < s->order.n[rank]; j++)
        for (int i = 0; i < j; i++)
            if (span[j].start < span[i].end && span[i].start < span[j].end)
                return true;
    return false;
}

/* No box starts later than the walk says: the walk knows no slots.  Nodes are
 * finer than boxes, so that a little less is right, too.  With lanes, the nodes
 * of a box may take the workers of two lanes, and ranks start boxes out of
 * order. */
static void test_strict_follows_the_order_and_waits_for_no_slot(void **state)
{
    (void) state;
    for (int n = 0; n < FOLLOW_CASES; n++) {
        struct follow_scene s;
        struct small_ranks ranks;
        struct mtlm_execution run;
        double units;

        follow_scene_create(&s, &follow_cases[n]);
        s.config.follow = MTLM_FOLLOW_STRICT;
        ranks = small_ranks_create(&s.config);
        run = execution_run(&ranks, ITERATIONS);
        for (int r = 0; r < ranks.n; r++)
            for (int e = 0; e < ITERATIONS; e++) {
                const int rank = ranks.program[r]->config.layout.pp_rank;
                struct span *span = spans_of(&run, &s, ranks.program[r], r, e);

                assert_chained(&s, span, rank);
                assert_true(overlap(&s, span, rank) == (s.lanes > 1));
                free(span);
            }
        mtlm_execution_free(&run);
        run = execution_run(&ranks, 1);
        units = (double) run.makespan_ns / EXECUTION_UNIT_NS
                / s.config.layout.virtual_stages;
        if (units > s.makespan * 1.001
            || units < (s.lanes > 1 ? .5 : .9) * s.makespan)
            fail_msg("case %d: %g, the walk takes %g", n, units, s.makespan);
        mtlm_execution_free(&run);
        small_ranks_destroy(&ranks);
        follow_scene_free(&s);
    }
}

/* W of a stage's recomputed nodes runs with B, all other W in boxes of its
 * own. */
static void assert_parted(const struct mtlm_program *program,
                          const struct mtlm_stage *stage)
{
    const struct mtlm_program_config *config = &program->config;
    const bool whole = config->recompute.granularity == MTLM_RECOMPUTE_FULL;
    const int parts = mtlm_stage_parts(config);
    int with_backward = 0, apart = 0;

    for (int i = 0; i < stage->backward.n; i++) {
        const struct mtlm_node *node = stage->backward.node[i];

        assert_int_equal(mtlm_node_pass(node), MTLM_PHASE_BACKWARD);
        if (node->phase != MTLM_PHASE_WEIGHT)
            continue;
        assert_true(!whole || node->layer == stage->first_layer);
        with_backward++;
    }
    for (int i = 0; i < stage->weight.n; i++) {
        const struct mtlm_node *node = stage->weight.node[i];

        assert_int_equal(mtlm_node_pass(node), MTLM_PHASE_WEIGHT);
        apart += node->layer >= 0;
    }
    /* A layer has four matrices; attention's output meets one of them. */
    assert_int_equal(with_backward,
                     parts * (whole ? 4 : (int) stage->n_layers));
    assert_true(apart > 0);
}

static void test_strict_keeps_W_of_kept_tensors_apart(void **state)
{
    (void) state;
    for (int n = 0; n < 2 * FOLLOW_CASES; n++) {
        struct follow_scene s;
        struct small_ranks ranks;
        struct mtlm_execution run;

        follow_scene_create(&s, &follow_cases[n / 2]);
        s.config.model.num_layers *= 3;
        s.config.recompute = n % 2 == 0 ? selective : one_layer;
        s.config.follow = MTLM_FOLLOW_STRICT;
        ranks = small_ranks_create(&s.config);
        run = execution_run(&ranks, ITERATIONS);
        for (int r = 0; r < ranks.n; r++) {
            const struct mtlm_program *program = ranks.program[r];
            struct span *span = spans_of(&run, &s, program, r, 0);

            assert_chained(&s, span, program->config.layout.pp_rank);
            for (int c = 0; c < program->config.layout.virtual_stages; c++)
                assert_parted(program, &program->stage[c]);
            free(span);
        }
        mtlm_execution_free(&run);
        small_ranks_destroy(&ranks);
        follow_scene_free(&s);
    }
}

static void append_box(struct follow_scene *s, int lane, enum mtlm_phase phase,
                       int stage, int microbatch)
{
    const int box = mtlm_box_number(
        &s->boxes, (struct mtlm_box){phase, stage, microbatch, 0});

    s->order.lane[box] = lane;
    mtlm_order_append(&s->order, &s->boxes, box);
}

/* Two stages of a rank share slots.  In lane 0 the last stage's W runs when
 * lane 1 starts the next microbatch, which needs a third slot: no box ends
 * later than the walk says. */
static void test_lanes_wait_for_no_slot_of_each_other(void **state)
{
    static const struct follow_case pooled = {
        1, 1, 2, .microbatches = 2, .memory = FOLLOW_RANDOM, .lanes = 2};
    struct follow_scene s;
    struct small_ranks ranks;
    struct mtlm_execution run;
    struct span *span;

    (void) state;
    follow_scene_create(&s, &pooled);
    s.order.n[0] = 0;
    append_box(&s, 0, MTLM_PHASE_FORWARD, 0, 0);
    append_box(&s, 0, MTLM_PHASE_FORWARD, 1, 0);
    append_box(&s, 0, MTLM_PHASE_BACKWARD, 1, 0);
    append_box(&s, 0, MTLM_PHASE_WEIGHT, 1, 0);
    append_box(&s, 1, MTLM_PHASE_FORWARD, 0, 1);
    append_box(&s, 0, MTLM_PHASE_BACKWARD, 0, 0);
    append_box(&s, 0, MTLM_PHASE_WEIGHT, 0, 0);
    for (int k = 1; k >= 0; k--) {
        if (k == 1)
            append_box(&s, 1, MTLM_PHASE_FORWARD, 1, 1);
        append_box(&s, 1, MTLM_PHASE_BACKWARD, k, 1);
        append_box(&s, 1, MTLM_PHASE_WEIGHT, k, 1);
    }
    assert_true(mtlm_walk(&s.walk, &s.order) < INFINITY);
    s.config.follow = MTLM_FOLLOW_STRICT;
    ranks = small_ranks_create(&s.config);
    run = execution_run(&ranks, 1);
    span = spans_of(&run, &s, ranks.program[0], 0, 0);
    for (int j = 0; j < s.order.n[0]; j++)
        assert_true(span[j].end <= 1.001 * 2 * EXECUTION_UNIT_NS
                                       * s.walk.end[s.order.box[0][j]]);
    free(span);
    mtlm_execution_free(&run);
    small_ranks_destroy(&ranks);
    follow_scene_free(&s);
}

/* The evaluation of an order is its walk, however many workers there are. */
static void test_the_evaluation_of_an_order_is_its_walk(void **state)
{
    (void) state;
    for (int n = 0; n < FOLLOW_CASES; n++) {
        struct follow_scene s;
        struct mtlm_evaluate pipeline;

        follow_scene_create(&s, &follow_cases[n]);
        s.walk.apart = true;
        s.makespan = mtlm_walk(&s.walk, &s.order);
        pipeline =
            (struct mtlm_evaluate){.layout = &s.config.layout,
                                   .schedule = s.config.schedule,
                                   .microbatches = follow_cases[n].microbatches,
                                   .forward = s.one,
                                   .backward = s.one,
                                   .weight = s.one,
                                   .pieces = 2};
        for (int workers = s.lanes; workers <= s.lanes + 1; workers++) {
            struct mtlm_evaluation e;

            s.config.layout.workers = workers;
            e = mtlm_evaluate_order(&pipeline, &s.order);
            assert_float_equal(e.makespan_s, s.makespan, 1e-9);
            assert_true(e.least_s <= e.makespan_s + 1e-9);
            assert_int_equal(e.n_tasks, s.walk.n);
            for (int i = 1; i < e.n_tasks; i++)
                assert_true(e.task[i].start_ns >= e.task[i - 1].start_ns);
            mtlm_evaluation_free(&e);
        }
        follow_scene_free(&s);
    }
}

/* ---- priorities ---- */

static bool stands_in(const struct mtlm_list *list,
                      const struct mtlm_node *node)
{
    int i = 0;

    while (i < list->n && list->node[i] != node)
        i++;
    return i < list->n;
}

/* The phase whose list of its stage has the node. */
static enum mtlm_phase phase_by_list(const struct mtlm_program *program,
                                     const struct mtlm_node *node)
{
    for (int c = 0; c < program->config.layout.virtual_stages; c++)
        if (stands_in(&program->stage[c].backward, node))
            return MTLM_PHASE_BACKWARD;
    return node->phase;
}

/* Recomputed tensors may have slots by the order; W that reads them has the
 * place of B all the same. */
static void test_hints_are_places_in_the_order(void **state)
{
    (void) state;
    for (int n = 0; n < FOLLOW_CASES; n++) {
        struct follow_scene s;
        struct small_ranks ranks;

        follow_scene_create(&s, &follow_cases[n]);
        s.config.follow = MTLM_FOLLOW_HINT;
        if (n % 2 == 1)
            s.config.recompute = selective;
        ranks = small_ranks_create(&s.config);
        for (int r = 0; r < ranks.n; r++) {
            const struct mtlm_program *program = ranks.program[r];
            const int last = program->train.item[program->train.n - 1].priority;
            int boxes = 0;

            for (int i = 0; i < program->train.n; i++) {
                const struct mtlm_item *item = &program->train.item[i];

                if (item->microbatch < 0) {
                    assert_int_equal(item->priority, last);
                    continue;
                }
                boxes++;
                /* The tied embedding's gradient comes before all places. */
                if (item->priority == last) {
                    assert_int_equal(item->node->call.kind,
                                     MTLM_OP_EMBEDDING_WGRAD);
                    assert_int_equal(item->microbatch,
                                     s.config.microbatches - 1);
                    continue;
                }
                assert_int_equal(
                    last - 1 - item->priority,
                    s.walk.place[mtlm_box_number(
                        &s.boxes,
                        (struct mtlm_box){phase_by_list(program, item->node),
                                          item->node->stage, item->microbatch,
                                          0})]);
            }
            assert_true(boxes > 0);
        }
        small_ranks_destroy(&ranks);
        follow_scene_free(&s);
    }
}

/* Every edge of slots leads forward in the order, so that the tasks and
 * messages of all ranks make no circle: all of them run, though no box waits
 * for the box before it. */
static void test_hints_have_no_deadlock(void **state)
{
    (void) state;
    for (int n = 0; n < FOLLOW_CASES; n++) {
        struct follow_scene s;
        struct small_ranks ranks;
        struct mtlm_execution run;
        int items = 0;

        follow_scene_create(&s, &follow_cases[n]);
        s.config.follow = MTLM_FOLLOW_HINT;
        ranks = small_ranks_create(&s.config);
        run = execution_run(&ranks, ITERATIONS);
        for (int r = 0; r < ranks.n; r++)
            items += ITERATIONS * ranks.program[r]->train.n;
        assert_int_equal(run.n, items);
        mtlm_execution_free(&run);
        small_ranks_destroy(&ranks);
        follow_scene_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strict_follows_the_order_and_waits_for_no_slot),
        cmocka_unit_test(test_strict_keeps_W_of_kept_tensors_apart),
        cmocka_unit_test(test_lanes_wait_for_no_slot_of_each_other),
        cmocka_unit_test(test_the_evaluation_of_an_order_is_its_walk),
        cmocka_unit_test(test_hints_are_places_in_the_order),
        cmocka_unit_test(test_hints_have_no_deadlock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
