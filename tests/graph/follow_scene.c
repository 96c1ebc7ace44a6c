/* Programs that follow an order, for tests. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/order/rounds.h"
#include "runtime/base/philox.h"
#include "tests/graph/follow_scene.h"

enum { RANDOM = FOLLOW_RANDOM };

const struct follow_case follow_cases[FOLLOW_CASES] = {
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
    {1, 1, 1, .microbatches = 6, .memory = RANDOM + 8, .lanes = 2},
    {1, 2, 1, .microbatches = 8, .memory = 3, .lanes = 2},
    {1, 4, 2, MTLM_PLACEMENT_V, .microbatches = 7, .memory = RANDOM + 9,
     .lanes = 3},
    {2, 2, 3, .microbatches = 6, .memory = RANDOM + 10, .lanes = 2},
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
static void order_at_random(struct follow_scene *s, uint64_t seed)
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

static void choose_lanes(struct follow_scene *s, uint64_t seed)
{
    mtlm_order_add_lanes(&s->order, &s->boxes);
    for (int i = 0; i < s->walk.n; i++) {
        uint32_t word[4];

        mtlm_philox(seed, 1, i, word);
        s->order.lane[i] = word[0] % s->lanes;
    }
}

void follow_scene_create(struct follow_scene *s, const struct follow_case *c)
{
    struct mtlm_rounds rounds = {.most_memory = c->memory};

    *s = (struct follow_scene){.config =
                                   small_config(c->tp, c->pp, c->microbatches)};
    s->config.model.num_layers = c->pp * c->virtual_stages;
    s->config.layout.virtual_stages = c->virtual_stages;
    s->config.layout.placement = c->placement;
    s->config.row_parts = c->row_parts;
    for (int k = 0; k < FOLLOW_MOST; k++)
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
    s->lanes = c->lanes > 0 ? c->lanes : 1;
    s->config.layout.workers = s->lanes;
    if (s->lanes > 1)
        choose_lanes(s, c->memory);
    s->makespan = mtlm_walk(&s->walk, &s->order);
    assert_true(s->makespan < INFINITY);
    s->config.order = &s->order;
}

void follow_scene_free(struct follow_scene *s)
{
    mtlm_order_free(&s->order);
    mtlm_walk_free(&s->walk);
}
