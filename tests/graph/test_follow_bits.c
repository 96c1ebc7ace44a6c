/* Programs that follow an order have the bits of those without one. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "graph/build/order_build.h"
#include "graph/build/stage.h"
#include "tests/graph/follow_scene.h"
#include "tests/graph/weights.h"

#define NOISE 0.1

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
static void assert_bits(struct follow_scene *s)
{
    struct mtlm_program_config plain = s->config;
    struct result one, many;

    plain.order = NULL;
    plain.schedule = small_schedule(NULL);
    one = result_of(&plain, NOISE, 3);
    for (int mode = 0; mode <= MTLM_FOLLOW_WINDOWS; mode++) {
        s->config.follow = mode;
        many = result_of(&s->config, NOISE, 3);
        assert_equal_bits(&many, &one);
        result_free(&many);
    }
    result_free(&one);
}

static const struct mtlm_recompute selective = {.granularity =
                                                    MTLM_RECOMPUTE_SELECTIVE};
static const struct mtlm_recompute one_layer = {MTLM_RECOMPUTE_FULL,
                                                MTLM_RECOMPUTE_BLOCK, 1};

/* With full uniform recomputation, B has the nodes of W of all layers. */
static void test_the_bits_are_those_without_an_order(void **state)
{
    (void) state;
    for (int n = 0; n < FOLLOW_CASES; n++) {
        struct follow_scene s;

        follow_scene_create(&s, &follow_cases[n]);
        assert_bits(&s);
        if (s.lanes > 1) {
            s.config.recompute = (struct mtlm_recompute){
                MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 1};
            assert_bits(&s);
        }
        follow_scene_free(&s);
    }
}

/* Stages of three layers, of which W runs partly with B. */
static void test_the_bits_with_some_W_in_B(void **state)
{
    (void) state;
    for (int n = 0; n < FOLLOW_CASES; n += 3) {
        struct follow_scene s;

        follow_scene_create(&s, &follow_cases[n]);
        s.config.model.num_layers *= 3;
        s.config.sequence_parallel = s.config.layout.tp > 1;
        s.config.recompute = n % 2 == 0 ? selective : one_layer;
        assert_bits(&s);
        follow_scene_free(&s);
    }
}

/* A stage of an embedding or a head alone counts no time: its boxes start and
 * end at one instant. */
static void test_stages_without_layers_keep_their_slots(void **state)
{
    static const struct {
        const char *schedule;
        int virtual_stages;
        enum mtlm_placement placement;
        int64_t stage_layers[4];
    } cases[] = {{"gpipe", 1, MTLM_PLACEMENT_LOOP, {4, 0}},
                 {"gpipe", 1, MTLM_PLACEMENT_LOOP, {0, 4}},
                 {"zb-h1", 1, MTLM_PLACEMENT_LOOP, {4, 0}},
                 {"zb-2p", 1, MTLM_PLACEMENT_LOOP, {4, 0}},
                 {"breadth-first", 2, MTLM_PLACEMENT_LOOP, {2, 1, 1, 0}},
                 {"zb-v", 2, MTLM_PLACEMENT_V, {0, 2, 2, 0}}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct follow_scene s = {.config = small_config(1, 2, 5)};

        s.config.schedule = small_schedule(cases[i].schedule);
        s.config.layout.virtual_stages = cases[i].virtual_stages;
        s.config.layout.placement = cases[i].placement;
        s.config.layout.stage_layers = cases[i].stage_layers;
        s.order =
            mtlm_order_build(mtlm_published_find(cases[i].schedule), &s.config);
        s.config.order = &s.order;
        assert_bits(&s);
        mtlm_order_free(&s.order);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bits_are_those_without_an_order),
        cmocka_unit_test(test_the_bits_with_some_W_in_B),
        cmocka_unit_test(test_stages_without_layers_keep_their_slots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
