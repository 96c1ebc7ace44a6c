/* Slots that the stages of a rank share: how orders deal them out, their
 * memory, and the programs that have them. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/build/order_build.h"
#include "graph/build/ring.h"
#include "graph/build/ring_order.h"
#include "graph/order/order_memory.h"
#include "graph/order/order_slots.h"
#include "graph/order/order_write.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/work.h"
#include "runtime/base/memory.h"
#include "runtime/base/philox.h"
#include "tests/graph/scene.h"
#include "tests/graph/small.h"

static const double one[3] = {1, 1, 1};
static const struct mtlm_slot_rules pools = {.pooled = true}, rings = {0};

/* ---- dealing ---- */

static bool meet(struct mtlm_slot_life a, struct mtlm_slot_life b)
{
    return a.begin < b.end && b.begin < a.end;
}

/* The most lives at one place. */
static int most_lives(const struct mtlm_slot_life *life, int n, int places)
{
    int most = 0;

    for (int j = 0; j < places; j++) {
        int here = 0;

        for (int i = 0; i < n; i++)
            here += life[i].begin <= j && j < life[i].end;
        most = here > most ? here : most;
    }
    return most;
}

static void test_lives_that_meet_have_different_slots(void **state)
{
    enum { N = 40, PLACES = 60 };
    static const struct mtlm_slot_spare spares[] = {{0, 0}, {1, 0}, {0, N}};

    (void) state;
    for (int seed = 0; seed < 60; seed++) {
        struct mtlm_slot_life life[N];
        int slot[N], slots, need;

        for (int i = 0; i < N; i++) {
            uint32_t word[4];

            mtlm_philox(seed, 0, i, word);
            life[i].begin = word[0] % PLACES;
            life[i].end =
                life[i].begin + 1 + word[1] % (PLACES - life[i].begin);
        }
        need = most_lives(life, N, PLACES) + spares[seed % 3].more;
        slots = mtlm_order_slots_deal(life, N, spares[seed % 3], slot);
        assert_int_equal(slots, fmax(need, spares[seed % 3].least));
        for (int i = 0; i < N; i++) {
            assert_in_range(slot[i], 0, slots - 1);
            for (int j = 0; j < i; j++)
                assert_false(slot[i] == slot[j] && meet(life[i], life[j]));
        }
    }
}

/* A life takes the slot that is free for longest. */
static void test_slots_rest(void **state)
{
    static const struct mtlm_slot_life life[] = {
        {0, 1}, {1, 2}, {2, 3}, {3, 4}};
    static const int want[] = {0, 1, 2, 0};
    int slot[4];

    (void) state;
    assert_int_equal(
        mtlm_order_slots_deal(life, 4, (struct mtlm_slot_spare){2, 0}, slot),
        3);
    assert_memory_equal(slot, want, sizeof(want));
}

/* ---- memory ---- */

static void build(struct scene *s, const char *name, int p, int m, int v)
{
    const struct mtlm_published *published = mtlm_published_find(name);

    scene_create(s, p, m, v, 1, one, 0);
    if (v > 1)
        s->layout.placement = published->placement;
    s->boxes.fused = published->fused;
    scene_update(s);
    assert_true(mtlm_published_build(published, &s->walk, 0, &s->order)
                < INFINITY);
}

static double memory_of(const struct scene *s,
                        const struct mtlm_slot_rules *rules)
{
    double most = 0;

    for (int r = 0; r < s->layout.pp; r++)
        most = fmax(most, mtlm_order_memory(&s->order, &s->boxes, r, rules));
    return most;
}

/* Stages that share slots need what the published order says, and no more. */
static void test_shared_slots_are_the_published_memory(void **state)
{
    static const struct {
        const char *name;
        int p, m, v;
        double rings; /* what rings of each stage need; 0: whatever */
    } cases[] = {{"zb-v", 4, 8, 2, 4.5},       {"zb-v", 8, 32, 2, 0},
                 {"v-half", 4, 8, 2, 3.5},     {"v-half", 8, 32, 2, 0},
                 {"v-min", 4, 8, 2, 2.5},      {"v-min", 8, 32, 2, 0},
                 {"dualpipe-v", 4, 8, 2, 4.5}, {"dualpipe-v", 8, 32, 2, 0},
                 {"interleaved", 4, 16, 2, 0}, {"interleaved", 4, 16, 3, 0},
                 {"interleaved", 8, 32, 4, 0}, {"breadth-first", 4, 8, 2, 8}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct mtlm_published *published =
            mtlm_published_find(cases[i].name);
        const struct mtlm_published_size size = {
            cases[i].p, cases[i].v, cases[i].m, 1, 1, 1};
        struct scene s;

        build(&s, cases[i].name, cases[i].p, cases[i].m, cases[i].v);
        assert_float_equal(memory_of(&s, &pools),
                           mtlm_order_peak(&s.order, &s.boxes), scene_rounding);
        assert_true(memory_of(&s, &pools)
                    <= published->memory(&size) + scene_rounding);
        assert_true(memory_of(&s, &rings)
                    >= memory_of(&s, &pools) - scene_rounding);
        if (cases[i].rings > 0)
            assert_float_equal(memory_of(&s, &rings), cases[i].rings,
                               scene_rounding);
        scene_free(&s);
    }
}

/* One rank, stages of memory 1 and 3, F and F, then B and B: two slots of 1,
 * and the rest of the larger stage has one of its own. */
static void test_stages_share_what_is_equal(void **state)
{
    static const struct mtlm_box box[] = {
        {MTLM_PHASE_FORWARD, 0, 0, 0},  {MTLM_PHASE_FORWARD, 1, 0, 0},
        {MTLM_PHASE_BACKWARD, 1, 0, 0}, {MTLM_PHASE_WEIGHT, 1, 0, 0},
        {MTLM_PHASE_FORWARD, 0, 1, 0},  {MTLM_PHASE_BACKWARD, 0, 0, 0},
        {MTLM_PHASE_WEIGHT, 0, 0, 0},   {MTLM_PHASE_FORWARD, 1, 1, 0},
        {MTLM_PHASE_BACKWARD, 1, 1, 0}, {MTLM_PHASE_WEIGHT, 1, 1, 0},
        {MTLM_PHASE_BACKWARD, 0, 1, 0}, {MTLM_PHASE_WEIGHT, 0, 1, 0}};
    const double most = 3.5;
    const struct mtlm_order_limit limit = {&most, pools};
    struct scene s;
    double memory;

    (void) state;
    scene_create(&s, 1, 2, 2, 1, one, 0);
    s.memory[0] = 1;
    s.memory[1] = 3;
    for (size_t i = 0; i < sizeof(box) / sizeof(box[0]); i++)
        mtlm_order_append(&s.order, &s.boxes,
                          mtlm_box_number(&s.boxes, box[i]));
    assert_float_equal(mtlm_order_memory(&s.order, &s.boxes, 0, &pools), 4,
                       scene_rounding);
    assert_float_equal(mtlm_order_memory(&s.order, &s.boxes, 0, &rings), 5,
                       scene_rounding);
    assert_int_equal(
        mtlm_order_memory_exceeds(&s.order, &s.boxes, 0, &limit, &memory), 1);
    assert_float_equal(memory, 4, scene_rounding);
    scene_free(&s);
}

/* ZB-H1's last rank: B and W in turn.  GPipe with late W: gradients of all
 * microbatches wait, and two of them take no memory. */
static void test_gradients_that_wait_take_memory(void **state)
{
    static const struct mtlm_slot_rules rules = {
        .weight_share = .75, .gradient_share = .25, .pooled = true};
    static const enum mtlm_phase phases[] = {
        MTLM_PHASE_FORWARD, MTLM_PHASE_BACKWARD, MTLM_PHASE_WEIGHT};
    struct scene s;

    (void) state;
    scene_create(&s, 1, 5, 1, 1, one, 0);
    for (int phase = 0; phase < 3; phase++)
        for (int i = 0; i < 5; i++)
            mtlm_order_append_phase(&s.order, &s.boxes, phases[phase], 0, i);
    assert_float_equal(mtlm_order_memory(&s.order, &s.boxes, 0, &rules),
                       5 + (5 - 2) * .25, scene_rounding);
    scene_free(&s);
}

static void test_columns_are_those_of_the_file(void **state)
{
    char action[MTLM_ORDER_WRITE_ACTION];
    struct scene s;

    (void) state;
    scene_create(&s, 1, 2, 1, 1, one, 0);
    for (int i = 0; i < 2; i++)
        for (int phase = 0; phase < 3; phase++)
            mtlm_order_append(&s.order, &s.boxes, 3 * i + phase);
    /* 0F0,0B0,0F1,0B1: B stands for B and W. */
    assert_int_equal(mtlm_order_write_column(&s.boxes, &s.order, 0, 3, action),
                     3);
    assert_string_equal(action, "0F1");
    assert_int_equal(mtlm_order_write_column(&s.boxes, &s.order, 0, 4, action),
                     4);
    assert_string_equal(action, "0B1");
    scene_free(&s);
}

static void test_ascending_orders(void **state)
{
    struct mtlm_order_file_notes notes;
    struct scene s;

    (void) state;
    scene_create(&s, 1, 3, 1, 1, one, 0);
    scene_read(&s, "0F0,0F1,0I0,0F2,0I1,0W0,0I2,0W1,0W2\n", &s.order, &notes);
    assert_true(mtlm_order_ascends(&s.order, &s.boxes));
    s.order.n[0] = 0;
    scene_read(&s, "0F0,0F1,0I0,0F2,0I1,0W1,0I2,0W0,0W2\n", &s.order, &notes);
    assert_false(mtlm_order_ascends(&s.order, &s.boxes));
    scene_free(&s);
}

/* ---- programs ---- */

/* The makespan of a published order on four ranks of a layer each, 8
 * microbatches. */
static double makespan_of(const char *name)
{
    struct mtlm_program_config config = small_config(1, 4, 8);
    double times[4 * 4], makespan;
    struct mtlm_window_model model;
    struct mtlm_boxes boxes;
    struct mtlm_walk walk;
    struct mtlm_box_order order;

    config.schedule = mtlm_schedule_find(name);
    order = mtlm_order_build(mtlm_published_find(name), &config);
    config.order = &order;
    model = mtlm_ring_model(&config, times, times + 3 * 4);
    boxes = mtlm_ring_order_boxes(&config, &model);
    walk = mtlm_walk_create(&boxes);
    makespan = mtlm_walk(&walk, &order);
    mtlm_walk_free(&walk);
    mtlm_order_free(&order);
    return makespan;
}

/* Rings have the slots of a walk in which messages of a fused schedule leave
 * behind W: 1F1B takes (m + p - 1) 3.  ZB-H1 takes 3 m + p - 1. */
static void test_fused_orders_send_behind_w(void **state)
{
    (void) state;
    assert_float_equal(makespan_of("1f1b"), 33, 1e-9);
    assert_float_equal(makespan_of("zb-h1"), 27, 1e-9);
}

/* Four ranks of two stages of one layer in a V. */
static struct mtlm_program_config v_config(const char *name,
                                           struct mtlm_box_order *order)
{
    struct mtlm_program_config config = small_config(1, 4, 8);

    config.model.num_layers = 8;
    config.layout.virtual_stages = 2;
    config.layout.placement = MTLM_PLACEMENT_V;
    config.schedule = mtlm_schedule_find(name);
    *order = mtlm_order_build(mtlm_published_find(name), &config);
    config.order = order;
    return config;
}

/* Bytes of the slots of tensors that F leaves for B and W, without those that
 * a single stage has. */
static double kept_bytes(const struct mtlm_program *program)
{
    double bytes = 0;

    for (int i = 0; i < program->graph->n_tensors; i++) {
        const struct mtlm_tensor *t = program->graph->tensor[i];

        if (t->storage == MTLM_STORE_ACTIVATION && mtlm_tensor_is_owner(t)
            && t->first_use == MTLM_PHASE_FORWARD && t->last_use > t->first_use
            && t->last_use <= MTLM_PHASE_WEIGHT && t->dtype != MTLM_I32)
            bytes += t->slots * mtlm_tensor_bytes(t);
    }
    return bytes;
}

/* ZB-V's ranks 1 and 2, without ends of the model, hold the activations of four
 * microbatches in their two stages, and one slot more of what they receive.  In
 * rings of its own a stage holds more, or what the order may take later. */
static void test_a_rank_holds_the_memory_of_the_order(void **state)
{
    struct mtlm_box_order order;
    struct mtlm_program_config config = v_config("zb-v", &order);
    const struct mtlm_activation_memory memory =
        mtlm_activation_memory(&config);
    struct mtlm_activation_memory mine = memory;

    (void) state;
    for (int follow = 0; follow <= MTLM_FOLLOW_WINDOWS; follow++) {
        struct small_ranks ranks;

        config.follow = follow;
        ranks = small_ranks_create(&config);
        for (int r = 1; r < 3; r++) {
            const double stages =
                kept_bytes(ranks.program[r]) / memory.stage[1];

            if (follow == MTLM_FOLLOW_WINDOWS)
                assert_true(stages > 8.3);
            else
                assert_in_range(lround(1000 * stages), 6900, 8200);
        }
        small_ranks_destroy(&ranks);
    }
    mtlm_activation_memory_free(&mine);
    mtlm_order_free(&order);
}

/* Without deviations, ready passes that start by their places make the
 * published makespan. */
static void test_hints_are_as_short_as_the_order(void **state)
{
    struct mtlm_box_order order;
    struct mtlm_program_config config = v_config("zb-v", &order);
    struct mtlm_stage_times times = mtlm_stage_times_create(8);
    struct mtlm_evaluation e;
    struct mtlm_work work;

    (void) state;
    for (int i = 0; i < 24; i++)
        times.forward[i] = .5;
    config.times = &times;
    config.follow = MTLM_FOLLOW_HINT;
    work = mtlm_work_create(&config);
    assert_true(work.pipeline.pooled);
    e = mtlm_evaluate(&work.pipeline);
    assert_float_equal(e.makespan_s, 25.5, .26);
    mtlm_evaluation_free(&e);
    mtlm_work_free(&work);
    mtlm_stage_times_free(&times);
    mtlm_order_free(&order);
}

/* A rank that could have run microbatches in another order, or several at once,
 * has the rings of its stages. */
static void test_who_shares_slots(void **state)
{
    struct mtlm_box_order order;
    struct mtlm_program_config config = v_config("zb-v", &order);
    int *box;

    (void) state;
    config.follow = MTLM_FOLLOW_HINT;
    assert_true(mtlm_program_pools_slots(&config));
    config.layout.workers = 2;
    assert_false(mtlm_program_pools_slots(&config));
    config.follow = MTLM_FOLLOW_STRICT;
    assert_true(mtlm_program_pools_slots(&config));
    config.follow = MTLM_FOLLOW_WINDOWS;
    assert_false(mtlm_program_pools_slots(&config));
    config.layout.workers = 1;
    config.follow = MTLM_FOLLOW_HINT;
    box = order.box[0]; /* F of stage 0, microbatches 0 and 1 */
    box[0] = box[1];
    box[1] = 0;
    assert_false(mtlm_program_pools_slots(&config));
    mtlm_order_free(&order);
}

/* The order of rounds stays within the limit, slots of gradients included,
 * where it can. */
static void test_orders_of_rounds_fit_their_slots(void **state)
{
    struct mtlm_program_config config = small_config(1, 4, 12);

    (void) state;
    config.schedule = mtlm_schedule_find("zb-1p");
    config.act_mem = 1;
    mtlm_activation_memory_measure(&config);
    for (int slots = 2; slots <= 4; slots++) {
        struct mtlm_box_order order;

        config.act_mem = slots * config.activation.stage[0];
        order = mtlm_order_build(mtlm_published_find("zb-1p"), &config);
        config.order = &order;
        assert_true(mtlm_ring_memory(&config) <= config.act_mem * (1 + 1e-9));
        config.order = NULL;
        mtlm_order_free(&order);
    }
    mtlm_activation_memory_free(&config.activation);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lives_that_meet_have_different_slots),
        cmocka_unit_test(test_slots_rest),
        cmocka_unit_test(test_shared_slots_are_the_published_memory),
        cmocka_unit_test(test_stages_share_what_is_equal),
        cmocka_unit_test(test_gradients_that_wait_take_memory),
        cmocka_unit_test(test_columns_are_those_of_the_file),
        cmocka_unit_test(test_ascending_orders),
        cmocka_unit_test(test_fused_orders_send_behind_w),
        cmocka_unit_test(test_a_rank_holds_the_memory_of_the_order),
        cmocka_unit_test(test_hints_are_as_short_as_the_order),
        cmocka_unit_test(test_who_shares_slots),
        cmocka_unit_test(test_orders_of_rounds_fit_their_slots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
