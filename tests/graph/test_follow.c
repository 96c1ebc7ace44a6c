/* Programs that follow an order: the same bits as without one, in the order,
 * without waiting for slots, whatever sound order comes. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/order/order_memory.h"
#include "graph/order/rounds.h"
#include "graph/predict/evaluate.h"
#include "graph/schedule/order_window.h"
#include "runtime/base/philox.h"
#include "tests/graph/execution.h"
#include "tests/graph/weights.h"

enum { MOST = 16, ITERATIONS = 2, RANDOM = 1000 };

#define NOISE 0.1

/* An order for a program's config: of the rounds with so much memory, or random
 * from RANDOM on. */
struct follow_case {
    int tp, pp, virtual_stages;
    enum mtlm_placement placement;
    int microbatches, row_parts;
    int memory;
};

static const struct follow_case cases[] = {
    {1, 1, 1, .microbatches = 3, .memory = RANDOM},
    {1, 2, 1, .microbatches = 6, .memory = 2},
    {1, 4, 1, .microbatches = 7, .memory = 7},
    {2, 2, 1, .microbatches = 4, .memory = 3},
    {1, 2, 2, MTLM_PLACEMENT_V, .microbatches = 6, .memory = 2},
    {1, 4, 2, MTLM_PLACEMENT_V, .microbatches = 9, .memory = 4},
    {1, 4, 1, .microbatches = 8, .memory = RANDOM + 1},
    {1, 4, 1, .microbatches = 12, .row_parts = 2, .memory = RANDOM + 2},
    {1, 2, 3, .microbatches = 6, .memory = RANDOM + 3},
    {1, 3, 2, MTLM_PLACEMENT_V, .microbatches = 7, .memory = RANDOM + 4},
    {2, 2, 2, MTLM_PLACEMENT_V, .microbatches = 5, .memory = RANDOM + 5},
    {1, 2, 3, MTLM_PLACEMENT_V, .microbatches = 6, .memory = RANDOM + 6},
    {1, 1, 3, .microbatches = 5, .memory = RANDOM + 7},
};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

/* A pipeline of equal stages, and an order. */
struct scene {
    struct mtlm_program_config config;
    double one[MOST];
    struct mtlm_boxes boxes;
    struct mtlm_walk walk;
    struct mtlm_box_order order;
    double makespan;
};

/* Whether the box may come next: what it waits for has come, and on its stage
 * the microbatch before. */
static bool may_come(const struct mtlm_walk *walk, const bool *came, int number)
{
    struct mtlm_box box = mtlm_box_at(walk->boxes, number);

    if (came[number]
        || (walk->before[number] >= 0 && !came[walk->before[number]]))
        return false;
    if (box.microbatch-- == 0)
        return true;
    return came[mtlm_box_number(walk->boxes, box)];
}

/* Takes any box that may come, as often as there are boxes. */
static void order_at_random(struct scene *s, uint64_t seed)
{
    bool *came = mtlm_calloc(s->walk.n, sizeof(*came));

    for (int i = 0; i < s->walk.n; i++) {
        uint32_t word[4];
        int number;

        mtlm_philox(seed, 0, i, word);
        number = word[0] % s->walk.n;
        while (!may_come(&s->walk, came, number))
            number = (number + 1) % s->walk.n;
        came[number] = true;
        mtlm_order_append(&s->order, &s->boxes, number);
    }
    free(came);
}

static void scene(struct scene *s, const struct follow_case *c)
{
    struct mtlm_rounds rounds = {.most_memory = c->memory};

    *s = (struct scene){.config = small_config(c->tp, c->pp, c->microbatches)};
    s->config.model.num_layers = c->pp * c->virtual_stages;
    s->config.layout.virtual_stages = c->virtual_stages;
    s->config.layout.placement = c->placement;
    s->config.row_parts = c->row_parts;
    for (int k = 0; k < MOST; k++)
        s->one[k] = 1.0 / c->virtual_stages;
    s->boxes = mtlm_program_boxes(&s->config);
    s->boxes.forward = s->boxes.backward = s->boxes.weight = s->boxes.memory =
        s->one;
    s->walk = mtlm_walk_create(&s->boxes);
    s->order = mtlm_order_create(&s->boxes);
    if (c->memory < RANDOM)
        mtlm_rounds_build(&rounds, &s->walk, &s->order);
    else
        order_at_random(s, c->memory);
    s->makespan = mtlm_walk(&s->walk, &s->order);
    assert_true(s->makespan < INFINITY);
    s->config.order = &s->order;
}

static void scene_free(struct scene *s)
{
    mtlm_order_free(&s->order);
    mtlm_walk_free(&s->walk);
}

/* ---- bits ---- */

static void assert_equal_bits(const struct result *a, const struct result *b)
{
    const struct mtlm_program_config *config =
        &interpreter_program(a->in, 0)->config;

    assert_true(a->loss == b->loss);
    assert_true(a->norm == b->norm);
    for (int64_t i = 0; i < mtlm_param_numbers(&config->model); i++) {
        const struct weight w = weight_number(config, i);

        if (a->whole[i]
            && memcmp(a->whole[i], b->whole[i], w.n * sizeof(mtlm_real)) != 0)
            fail_msg("%s differs by %g", w.name,
                     relative_distance(a->whole[i], b->whole[i], w.n));
    }
}

/* Three iterations: rings are reused behind the first one. */
static void test_the_bits_are_those_without_an_order(void **state)
{
    (void) state;
    for (int n = 0; n < CASES; n++) {
        struct scene s;
        struct mtlm_program_config plain;
        struct result one, many;

        scene(&s, &cases[n]);
        plain = s.config;
        plain.order = NULL;
        one = result_of(&plain, NOISE, 3);
        for (int mode = 0; mode <= MTLM_FOLLOW_WINDOWS; mode++) {
            s.config.follow = mode;
            many = result_of(&s.config, NOISE, 3);
            assert_equal_bits(&many, &one);
            result_free(&many);
        }
        result_free(&one);
        scene_free(&s);
    }
}

/* ---- times ---- */

struct span {
    int64_t start, end;
};

/* The boxes of a rank in an iteration, in the order: [n]. */
static struct span *spans_of(const struct mtlm_execution *run,
                             const struct scene *s,
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
            &s->boxes, (struct mtlm_box){e->node->phase, e->node->stage,
                                         e->microbatch, 0})]];
        at->start = e->start_ns < at->start ? e->start_ns : at->start;
        at->end = e->end_ns > at->end ? e->end_ns : at->end;
    }
    return span;
}

/* A box starts when the box before it has ended, and no later than the walk
 * says: the walk knows no slots.  Nodes are finer than boxes, so that a little
 * less is right, too. */
static void test_strict_follows_the_order_and_waits_for_no_slot(void **state)
{
    (void) state;
    for (int n = 0; n < CASES; n++) {
        struct scene s;
        struct small_ranks ranks;
        struct mtlm_execution run;
        double units;

        scene(&s, &cases[n]);
        s.config.follow = MTLM_FOLLOW_STRICT;
        ranks = small_ranks_create(&s.config);
        run = execution_run(&ranks, ITERATIONS);
        for (int r = 0; r < ranks.n; r++)
            for (int e = 0; e < ITERATIONS; e++) {
                struct span *span = spans_of(&run, &s, ranks.program[r], r, e);

                for (int j = 1;
                     j < s.order.n[ranks.program[r]->config.layout.pp_rank];
                     j++)
                    assert_true(span[j].start >= span[j - 1].end);
                free(span);
            }
        mtlm_execution_free(&run);
        run = execution_run(&ranks, 1);
        units = (double) run.makespan_ns / EXECUTION_UNIT_NS
                / s.config.layout.virtual_stages;
        if (units > s.makespan * 1.001 || units < .9 * s.makespan)
            fail_msg("case %d: %g, the walk takes %g", n, units, s.makespan);
        mtlm_execution_free(&run);
        small_ranks_destroy(&ranks);
        scene_free(&s);
    }
}

/* The evaluation of an order is its walk, however many workers there are. */
static void test_the_evaluation_of_an_order_is_its_walk(void **state)
{
    (void) state;
    for (int n = 0; n < CASES; n++) {
        struct scene s;
        struct mtlm_evaluate pipeline;

        scene(&s, &cases[n]);
        pipeline = (struct mtlm_evaluate){.layout = &s.config.layout,
                                          .schedule = s.config.schedule,
                                          .microbatches = cases[n].microbatches,
                                          .forward = s.one,
                                          .backward = s.one,
                                          .weight = s.one,
                                          .pieces = 2};
        for (int workers = 1; workers <= 2; workers++) {
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
        scene_free(&s);
    }
}

/* ---- priorities ---- */

static void test_hints_are_places_in_the_order(void **state)
{
    (void) state;
    for (int n = 0; n < CASES; n++) {
        struct scene s;
        struct small_ranks ranks;

        scene(&s, &cases[n]);
        s.config.follow = MTLM_FOLLOW_HINT;
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
                assert_int_equal(
                    last - 1 - item->priority,
                    s.walk.place[mtlm_box_number(
                        &s.boxes,
                        (struct mtlm_box){item->node->phase, item->node->stage,
                                          item->microbatch, 0})]);
            }
            assert_true(boxes > 0);
        }
        small_ranks_destroy(&ranks);
        scene_free(&s);
    }
}

/* Every edge of slots leads forward in the order, so that the tasks and
 * messages of all ranks make no circle: all of them run, though no box waits
 * for the box before it. */
static void test_hints_have_no_deadlock(void **state)
{
    (void) state;
    for (int n = 0; n < CASES; n++) {
        struct scene s;
        struct small_ranks ranks;
        struct mtlm_execution run;
        int items = 0;

        scene(&s, &cases[n]);
        s.config.follow = MTLM_FOLLOW_HINT;
        ranks = small_ranks_create(&s.config);
        run = execution_run(&ranks, ITERATIONS);
        for (int r = 0; r < ranks.n; r++)
            items += ITERATIONS * ranks.program[r]->train.n;
        assert_int_equal(run.n, items);
        mtlm_execution_free(&run);
        small_ranks_destroy(&ranks);
        scene_free(&s);
    }
}

/* ---- windows ---- */

/* arXiv 2401.10241: ZB-H1 keeps p - k microbatches until B and p until W.
 * arXiv 2405.15362, ZB-V: the memory of p microbatches, in halves, on each
 * rank. */
static void test_windows_of_published_orders(void **state)
{
    static const struct follow_case zb_h1 = {1, 4, 1, .microbatches = 12,
                                             .memory = 4};
    static const struct follow_case zb_v = {
        1, 4, 2, MTLM_PLACEMENT_V, .microbatches = 12, .memory = 4};
    struct mtlm_window window[MOST];
    struct scene s;

    (void) state;
    scene(&s, &zb_h1);
    mtlm_order_window_set(&s.walk, window);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(window[k].w, 4 - k);
        assert_true(window[k].w + window[k].q <= 4);
    }
    scene_free(&s);
    scene(&s, &zb_v);
    mtlm_order_window_set(&s.walk, window);
    for (int r = 0; r < 4; r++)
        assert_true(window[r].w + window[7 - r].w >= 7);
    scene_free(&s);
}

/* Two ways to count slots: along a rank's order, and by the times of a walk. */
static void test_the_memory_of_an_order_is_that_of_its_windows(void **state)
{
    static const struct mtlm_slot_rules rings = {.weight_share = .75};

    (void) state;
    for (int n = 0; n < CASES; n++) {
        struct mtlm_window window[MOST];
        struct scene s;

        scene(&s, &cases[n]);
        mtlm_order_window_set(&s.walk, window);
        for (int r = 0; r < cases[n].pp; r++) {
            double memory = 0;

            for (int c = 0; c < cases[n].virtual_stages; c++) {
                const int k = mtlm_box_stage(&s.boxes, r, c);

                memory +=
                    s.one[k] * (window[k].w + rings.weight_share * window[k].q);
            }
            assert_float_equal(mtlm_order_memory(&s.order, &s.boxes, r, &rings),
                               memory, 1e-9);
        }
        scene_free(&s);
    }
}

static void test_slots_are_the_greatest_distance_of_numbers(void **state)
{
    static const double begin[] = {0, 1, 2, 3}, end[] = {1, 4, 3, 5};
    static const double late[] = {3, 2, 1, 0}, each[] = {4, 3, 2, 1};
    static const double far[] = {0, 5, 6, 1}, away[] = {2, 6, 7, 2};

    (void) state;
    assert_int_equal(mtlm_order_window_slots(begin, end, 4), 3);
    assert_int_equal(mtlm_order_window_slots(late, each, 4), 1);
    /* Microbatches 0 and 3 at once: slots 0 and 3 of four. */
    assert_int_equal(mtlm_order_window_slots(far, away, 4), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bits_are_those_without_an_order),
        cmocka_unit_test(test_strict_follows_the_order_and_waits_for_no_slot),
        cmocka_unit_test(test_the_evaluation_of_an_order_is_its_walk),
        cmocka_unit_test(test_hints_are_places_in_the_order),
        cmocka_unit_test(test_hints_have_no_deadlock),
        cmocka_unit_test(test_windows_of_published_orders),
        cmocka_unit_test(test_the_memory_of_an_order_is_that_of_its_windows),
        cmocka_unit_test(test_slots_are_the_greatest_distance_of_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
