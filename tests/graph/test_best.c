/* The search for the best order: never above published orders of equal memory,
 * sound, within the memory, the same every time. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/order/best.h"
#include "graph/order/dispatch.h"
#include "graph/order/order_memory.h"
#include "graph/order/published.h"
#include "tests/graph/scene.h"

static double search(struct scene *s, double memory)
{
    const struct mtlm_best best = {
        .most_memory = memory, .slots.pooled = true, .effort = .1};

    return mtlm_best_order(&best, &s->walk, &s->order);
}

/* The least makespan of the published orders within the memory. */
static double best_published(struct scene *s, double memory)
{
    double least = INFINITY;

    for (int i = 0; i < MTLM_PUBLISHED_COUNT; i++)
        if (!mtlm_published_lacks(&mtlm_published[i], &s->boxes))
            least =
                fmin(least, mtlm_published_build(&mtlm_published[i], &s->walk,
                                                 memory, &s->order));
    return least;
}

static const double one[3] = {1, 1, 1};

/* ---- bars ---- */

static void test_the_best_order_is_never_above_a_published_one(void **state)
{
    static const double times[][4] = {
        {1, 1, 1, 0}, {1, 1.3, .8, .5}, {1, 1.55, 1, .03}};
    static const double memories[] = {2, 4, 7};

    (void) state;
    for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++)
        for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++)
            for (int v = 1; v <= 2; v++) {
                struct scene s;
                double published, found;

                scene_create(&s, 4, 8, v, 2, times[t], times[t][3]);
                scene_slow_down(&s, 1);
                published = best_published(&s, memories[i]);
                found = search(&s, memories[i]);
                assert_true(found <= published * (1 + 1e-9));
                scene_assert_sound(&s, memories[i]);
                assert_float_equal(mtlm_walk(&s.walk, &s.order), found,
                                   scene_rounding);
                scene_free(&s);
            }
}

/* A setting, and what the zero-bubble authors' schedulers give
 * (sail-sg/zero-bubble-pipeline-parallelism, revision 39f2c18: zb.py, zbv.py,
 * zbv_greedy.py), each W in one piece. */
static const struct authors {
    int p, m;
    double times[4];
    int slow; /* a rank of 0.8 times the speed; -1: none */
    double memory, makespan;
} authors[] = {
    {4, 8, {1, 1, 1, .1}, 1, 4, 30.6},
    {4, 16, {1, 1.3, .8, .1}, 1, 4, 62.85},
    {4, 16, {1, 1.3, .8, .5}, -1, 2, 104.1},
    {4, 16, {1, 1.55, 1, .03}, -1, 3, 63.525},
    {7, 21, {1, 1.474, .82, .08}, 3, 13, 88.207},
    {8, 32, {1, 1.3, .8, .1}, 1, 5, 136.675},
};

static void test_the_best_order_reaches_those_of_the_authors(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(authors) / sizeof(authors[0]); i++) {
        const struct authors *a = &authors[i];
        struct scene s;

        scene_create(&s, a->p, a->m, 2, 4, a->times, a->times[3]);
        if (a->slow >= 0)
            scene_slow_down(&s, a->slow);
        assert_true(search(&s, a->memory) <= a->makespan * 1.005);
        scene_assert_sound(&s, a->memory);
        scene_free(&s);
    }
}

/* V-min is the best published order; its time of a microbatch follows from the
 * building block, not from the memory. */
static void test_the_search_finds_shorter_orders(void **state)
{
    struct scene s;

    (void) state;
    scene_create(&s, 4, 8, 2, 4, (const double[]){1, 1.3, .8}, .5);
    assert_true(search(&s, 2) < .9 * best_published(&s, 2));
    scene_free(&s);
}

/* ---- limits ---- */

static void test_the_same_boxes_give_the_same_order(void **state)
{
    struct mtlm_box_order first;
    struct scene s;

    (void) state;
    scene_create(&s, 3, 6, 2, 2, (const double[]){1, 1.2, .7}, .2);
    first = mtlm_order_create(&s.boxes);
    search(&s, 3);
    mtlm_order_copy(&first, &s.order);
    search(&s, 3);
    for (int r = 0; r < 3; r++)
        assert_memory_equal(first.box[r], s.order.box[r],
                            first.n[r] * sizeof(int));
    mtlm_order_free(&first);
    scene_free(&s);
}

/* No published order of two virtual stages, placement loop, keeps so little. */
static void test_one_microbatch_at_a_time_needs_least_memory(void **state)
{
    struct scene s;

    (void) state;
    scene_create(&s, 4, 6, 2, 1, one, 0);
    s.layout.placement = MTLM_PLACEMENT_LOOP;
    scene_update(&s);
    assert_true(best_published(&s, 1) == INFINITY);
    assert_true(search(&s, 1) < INFINITY);
    scene_assert_sound(&s, 1);
    assert_true(search(&s, .99) == INFINITY);
    scene_free(&s);
}

static void test_the_search_ends_at_the_bound(void **state)
{
    const struct mtlm_best best = {
        .most_memory = 4, .slots.pooled = true, .enough = 25.5, .effort = 1};
    struct scene s;

    (void) state;
    scene_create(&s, 4, 8, 2, 4, one, 0);
    assert_float_equal(mtlm_best_order(&best, &s.walk, &s.order), 25.5,
                       scene_rounding);
    scene_free(&s);
}

static void assert_slots(struct scene *s, double memory,
                         const struct mtlm_slot_rules *slots)
{
    for (int r = 0; r < s->order.ranks; r++)
        assert_true(mtlm_order_memory(&s->order, &s->boxes, r, slots)
                    <= memory + scene_rounding);
}

/* In rings of its own, a stage keeps its slots.  The limit is then harder, and
 * other orders are best. */
static void test_rings_keep_the_limit_too(void **state)
{
    struct mtlm_best best = {
        .most_memory = 4, .slots.pooled = true, .effort = .1};
    struct scene s;
    double published, shared, ringed;

    (void) state;
    scene_create(&s, 4, 12, 2, 2, (const double[]){1, 1.3, .8}, .1);
    published = best_published(&s, 3);
    shared = mtlm_best_order(&best, &s.walk, &s.order);
    assert_slots(&s, 4, &best.slots);
    best.slots.pooled = false;
    assert_true(mtlm_order_memory(&s.order, &s.boxes, 0, &best.slots) > 4.01);
    ringed = mtlm_best_order(&best, &s.walk, &s.order);
    assert_true(ringed > shared);
    assert_true(ringed < published);
    scene_assert_sound(&s, 4);
    assert_slots(&s, 4, &best.slots);
    best.slots.weight_share = .5;
    assert_true(mtlm_best_order(&best, &s.walk, &s.order) < ringed);
    assert_slots(&s, 4, &best.slots);
    scene_free(&s);
}

/* Gradients that wait for W take memory, so that other orders are best. */
static void test_gradients_keep_the_limit_too(void **state)
{
    struct mtlm_best best = {
        .most_memory = 3,
        .slots = {.weight_share = .8, .gradient_share = .4, .pooled = true},
        .effort = .1};
    struct scene s;

    (void) state;
    scene_create(&s, 4, 12, 1, 2, (const double[]){1, 1.3, .8}, .1);
    assert_true(mtlm_best_order(&best, &s.walk, &s.order) < INFINITY);
    assert_slots(&s, 3, &best.slots);
    scene_free(&s);
}

/* ---- wished starts ---- */

/* Wishes that are starts of ZB-H1 give ZB-H1's makespan; wishes that run F of
 * the second stage first never get there with the memory of one microbatch. */
static void test_wishes_decide_the_order(void **state)
{
    static const double delay[4] = {0};
    struct mtlm_dispatch dispatch = {
        .delay = delay, .most_memory = 4, .slots.pooled = true};
    double *wish, published;
    struct scene s;

    (void) state;
    scene_create(&s, 4, 8, 1, 1, one, 0);
    published = mtlm_published_build(mtlm_published_find("zb-h1"), &s.walk, 0,
                                     &s.order);
    dispatch.wish = wish =
        calloc(mtlm_dispatch_wishes(&s.boxes), sizeof(*wish));
    for (int i = 0; i < s.walk.n; i++) {
        const struct mtlm_box box = mtlm_box_at(&s.boxes, i);

        if (box.phase != MTLM_PHASE_WEIGHT)
            wish[mtlm_dispatch_wish(&s.boxes, box)] = s.walk.start[i];
    }
    assert_float_equal(mtlm_dispatch_build(&dispatch, &s.walk, &s.order),
                       published, scene_rounding);
    scene_assert_sound(&s, 4);
    dispatch.most_memory = .5;
    assert_true(mtlm_dispatch_build(&dispatch, &s.walk, &s.order) == INFINITY);
    free(wish);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_best_order_is_never_above_a_published_one),
        cmocka_unit_test(test_the_best_order_reaches_those_of_the_authors),
        cmocka_unit_test(test_the_search_finds_shorter_orders),
        cmocka_unit_test(test_the_same_boxes_give_the_same_order),
        cmocka_unit_test(test_one_microbatch_at_a_time_needs_least_memory),
        cmocka_unit_test(test_the_search_ends_at_the_bound),
        cmocka_unit_test(test_rings_keep_the_limit_too),
        cmocka_unit_test(test_gradients_keep_the_limit_too),
        cmocka_unit_test(test_wishes_decide_the_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
