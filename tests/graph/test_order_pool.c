/* Programs whose stages share slots: their memory, and who has them. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/build/order_build.h"
#include "graph/build/ring.h"
#include "graph/build/ring_order.h"
#include "graph/order/walk.h"
#include "graph/predict/activation_memory.h"
#include "graph/predict/work.h"
#include "tests/graph/small.h"

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

/* Bytes of the slots of tensors that outlive a pass. */
static double kept_bytes(const struct mtlm_program *program)
{
    double bytes = 0;

    for (int i = 0; i < program->graph->n_tensors; i++) {
        const struct mtlm_tensor *t = program->graph->tensor[i];

        if (t->storage == MTLM_STORE_ACTIVATION && mtlm_tensor_is_owner(t)
            && t->first_use < t->last_use && t->last_use <= MTLM_PHASE_WEIGHT
            && t->dtype != MTLM_I32)
            bytes += t->slots * mtlm_tensor_bytes(t);
    }
    return bytes;
}

/* ZB-V's ranks 1 and 2, without ends of the model, hold the activations of four
 * microbatches in their two stages, one more for the B that runs, and one of
 * what they receive.  In rings of their own, stages hold more, and gradients
 * that wait have slots of their own. */
static void test_a_rank_holds_the_memory_of_the_order(void **state)
{
    struct mtlm_box_order order;
    struct mtlm_program_config config = v_config("zb-v", &order);
    struct mtlm_activation_memory memory = mtlm_activation_memory(&config);

    (void) state;
    assert_in_range(lround(1000 * memory.exchanged_share), 400,
                    lround(1000 * memory.gradient_share));
    for (int follow = 0; follow <= MTLM_FOLLOW_WINDOWS; follow++) {
        struct small_ranks ranks;

        config.follow = follow;
        ranks = small_ranks_create(&config);
        for (int r = 1; r < 3; r++) {
            const double stages =
                kept_bytes(ranks.program[r]) / memory.stage[1];

            if (follow == MTLM_FOLLOW_WINDOWS)
                assert_true(stages > 10.5);
            else
                assert_in_range(lround(1000 * stages), 7000, 9000);
        }
        small_ranks_destroy(&ranks);
    }
    mtlm_activation_memory_free(&memory);
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
    assert_true(mtlm_program_is_ordered(&config));
    config.layout.workers = 2;
    assert_false(mtlm_program_is_ordered(&config));
    config.follow = MTLM_FOLLOW_STRICT;
    assert_true(mtlm_program_is_ordered(&config));
    config.follow = MTLM_FOLLOW_WINDOWS;
    assert_false(mtlm_program_is_ordered(&config));
    config.layout.workers = 1;
    config.follow = MTLM_FOLLOW_HINT;
    box = order.box[0]; /* F of stage 0, microbatches 0 and 1 */
    box[0] = box[1];
    box[1] = 0;
    assert_false(mtlm_program_is_ordered(&config));
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

/* Asserts that the schedule has a whole order of the pipeline. */
static void assert_ordered(struct mtlm_program_config *config, const char *name)
{
    const int passes =
        3 * config->layout.virtual_stages * (int) config->microbatches;
    struct mtlm_box_order order;

    config->schedule = mtlm_schedule_find(name);
    order = mtlm_order_build(mtlm_published_find(name), config);
    for (int r = 0; r < 4; r++)
        assert_int_equal(order.n[r], passes);
    mtlm_order_free(&order);
}

/* A stage without layers keeps nothing of a microbatch. */
static void test_a_stage_without_layers_has_an_order(void **state)
{
    static const int64_t layers[] = {0, 2, 2, 0};
    struct mtlm_program_config config = small_config(1, 4, 8);

    (void) state;
    config.layout.stage_layers = layers;
    assert_ordered(&config, "zb-1p");
    assert_ordered(&config, "zb-2p");
}

/* The formula of a schedule's memory is of equal stages. */
static void test_unequal_stages_have_an_order(void **state)
{
    static const int64_t layers[] = {1, 4, 1, 1, 1, 1, 1, 1};
    struct mtlm_stage_times times = mtlm_stage_times_create(8);
    struct mtlm_program_config config = small_config(1, 4, 64);

    (void) state;
    config.model.num_layers = 11;
    config.layout.virtual_stages = 2;
    config.layout.placement = MTLM_PLACEMENT_V;
    config.layout.stage_layers = layers;
    for (int i = 0; i < 24; i++)
        times.forward[i] = i % 8 == 3 ? 2 : .01;
    config.times = &times;
    assert_ordered(&config, "zb-v");
    mtlm_stage_times_free(&times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fused_orders_send_behind_w),
        cmocka_unit_test(test_a_rank_holds_the_memory_of_the_order),
        cmocka_unit_test(test_hints_are_as_short_as_the_order),
        cmocka_unit_test(test_who_shares_slots),
        cmocka_unit_test(test_orders_of_rounds_fit_their_slots),
        cmocka_unit_test(test_a_stage_without_layers_has_an_order),
        cmocka_unit_test(test_unequal_stages_have_an_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
