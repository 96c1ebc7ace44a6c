/* What is computed twice instead of kept: the results stay the same bit by
 * bit, nothing is called again that no gradient needs. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/build/ring.h"
#include "graph/predict/plan.h"
#include "tests/graph/small.h"
#include "tests/graph/weights.h"

#define NOISE 0.1

static const struct {
    const char *name;
    struct mtlm_recompute recompute;
} ways[] = {
    {"selective", {.granularity = MTLM_RECOMPUTE_SELECTIVE}},
    {"every layer", {MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 1}},
    {"groups of 3", {MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 3}},
    {"one layer of a stage", {MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_BLOCK, 1}},
    {"whole stages", {MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 9}},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* Weights after two iterations and the loss of a validation. */
struct trained {
    struct result result;
    double valid;
};

static struct trained train(const struct mtlm_program_config *config)
{
    struct trained t = {.result = result_of(config, NOISE, 2)};
    struct interpreter *in = t.result.in;

    t.valid = interpreter_validation(in);
    return t;
}

static const struct {
    struct mtlm_layout layout;
    const char *schedule;
    bool sequence_parallel, distributed_optimizer;
} layouts[] = {
    {.layout = {.tp = 1, .pp = 1, .dp = 1, .virtual_stages = 1}},
    {.layout = {.tp = 2, .pp = 1, .dp = 1, .virtual_stages = 1}},
    {.layout = {.tp = 1, .pp = 2, .dp = 1, .virtual_stages = 1}},
    {.layout = {.tp = 1, .pp = 1, .dp = 1, .virtual_stages = 2}},
    {.layout = {.tp = 2, .pp = 2, .dp = 1, .virtual_stages = 2}},
    {.layout = {.tp = 1, .pp = 2, .dp = 1, .virtual_stages = 1},
     .schedule = "1f1b"},
    {.layout = {.tp = 1, .pp = 2, .dp = 1, .virtual_stages = 2},
     .schedule = "interleaved"},
    {.layout = {.tp = 2,
                .pp = 2,
                .dp = 1,
                .virtual_stages = 2,
                .placement = MTLM_PLACEMENT_V},
     .schedule = "zb-v",
     .sequence_parallel = true},
    {.layout = {.tp = 2, .pp = 1, .dp = 2, .virtual_stages = 1},
     .sequence_parallel = true,
     .distributed_optimizer = true},
};
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

static void compare_ways(const struct small_model *model, int i)
{
    struct mtlm_program_config config = small_model_config(model, 1, 1, 3);
    struct trained kept;

    config.layout = layouts[i].layout;
    config.layout.workers = 1;
    config.schedule = small_schedule(layouts[i].schedule);
    config.sequence_parallel = layouts[i].sequence_parallel;
    config.distributed_optimizer = layouts[i].distributed_optimizer;
    if (config.sequence_parallel && config.row_parts == 5)
        config.row_parts = 3; /* of an even number of rows */
    kept = train(&config);
    for (int w = 0; w < WAYS; w++) {
        struct trained again;

        config.recompute = ways[w].recompute;
        again = train(&config);
        print_message("# %s\n", ways[w].name);
        assert_true(again.valid == kept.valid);
        assert_close(&again.result, &kept.result, 0);
        result_free(&again.result);
    }
    result_free(&kept.result);
}

static void test_recomputation_changes_no_bit(void **state)
{
    (void) state;
    for (int m = 0; m < small_n_models; m++)
        for (int i = 0; i < LAYOUTS; i++)
            compare_ways(&small_models[m], i);
}

static int count_again(const struct mtlm_program *program,
                       enum mtlm_op_kind kind)
{
    int n = 0;

    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_node *node = program->train.item[i].node;

        n += node->recomputes
             && (kind == MTLM_OP_COUNT || node->call.kind == kind);
    }
    return n;
}

/* Of a layer all but the MLP's second product, its sum and what it is added
 * to, which only the next layer reads: that keeps its input. */
static void test_no_more_is_called_again_than_is_needed(void **state)
{
    (void) state;
    for (int tp = 1; tp <= 2; tp++)
        for (int parts = 1; parts <= 3; parts++) {
            struct mtlm_program_config config = small_config(tp, 2, 5);
            const int more = parts * (parts - 1) / 2, m = 5;
            struct small_ranks ranks;

            config.row_parts = parts;
            config.recompute = (struct mtlm_recompute){
                MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 1};
            ranks = small_ranks_create(&config);
            for (int r = 0; r < ranks.n; r++) {
                const struct mtlm_program *p = ranks.program[r];
                const int layers = p->stage[0].n_layers;

                assert_int_equal(count_again(p, MTLM_OP_COUNT),
                                 m * layers * (parts * (7 + (tp > 1)) + more));
                assert_int_equal(count_again(p, MTLM_OP_LINEAR_FWD),
                                 m * layers * parts);
                assert_int_equal(count_again(p, MTLM_OP_LINEAR_GELU_FWD),
                                 m * layers * parts);
                assert_int_equal(count_again(p, MTLM_OP_ALL_REDUCE),
                                 tp > 1 ? m * layers * parts : 0);
            }
            small_ranks_destroy(&ranks);
        }
}

/* As published code: all nodes of a layer, though no gradient reads the last
 * product and its sum. */
static void test_whole_layers_are_called_again_on_request(void **state)
{
    struct mtlm_program_config config = small_config(2, 1, 2);
    struct small_ranks ranks;

    (void) state;
    config.recompute =
        (struct mtlm_recompute){MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 1};
    config.recompute_whole = true;
    ranks = small_ranks_create(&config);
    for (int r = 0; r < ranks.n; r++) {
        /* Nine nodes and two sums of each of four layers. */
        assert_int_equal(count_again(ranks.program[r], MTLM_OP_COUNT),
                         2 * 4 * (9 + 2));
        assert_int_equal(count_again(ranks.program[r], MTLM_OP_ALL_REDUCE),
                         2 * 4 * 2);
    }
    small_ranks_destroy(&ranks);
    /* Selective recomputation stays as it is. */
    config.recompute.granularity = MTLM_RECOMPUTE_SELECTIVE;
    ranks = small_ranks_create(&config);
    assert_int_equal(count_again(ranks.program[0], MTLM_OP_COUNT), 2 * 4);
    small_ranks_destroy(&ranks);
}

/* Two layers of a group: the first one's output is the second one's input. */
static void test_groups_are_called_again_as_a_whole(void **state)
{
    struct mtlm_program_config config = small_config(1, 1, 1);
    struct small_ranks ranks;

    (void) state;
    config.recompute =
        (struct mtlm_recompute){MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 3};
    ranks = small_ranks_create(&config);
    /* Layers 0, 1, 2 | 3: of the first two all nine nodes. */
    assert_int_equal(count_again(ranks.program[0], MTLM_OP_COUNT),
                     9 + 9 + 7 + 7);
    small_ranks_destroy(&ranks);
    config.recompute.method = MTLM_RECOMPUTE_BLOCK;
    ranks = small_ranks_create(&config);
    assert_int_equal(count_again(ranks.program[0], MTLM_OP_COUNT), 3 * 7);
    small_ranks_destroy(&ranks);
}

static void test_selective_is_attention_alone(void **state)
{
    struct mtlm_program_config config = small_config(2, 1, 2);
    struct small_ranks ranks;

    (void) state;
    config.row_parts = 3;
    config.recompute.granularity = MTLM_RECOMPUTE_SELECTIVE;
    ranks = small_ranks_create(&config);
    assert_int_equal(count_again(ranks.program[0], MTLM_OP_ATTENTION_FWD),
                     2 * 4 * 3);
    assert_int_equal(count_again(ranks.program[0], MTLM_OP_ATTENTION_MORE_FWD),
                     2 * 4 * 3);
    assert_int_equal(count_again(ranks.program[0], MTLM_OP_COUNT), 2 * 4 * 6);
    small_ranks_destroy(&ranks);
}

/* Queries meet keys and mix values a second time: 2 B s^2 h each (arXiv
 * 2205.05198, appendix A). */
static void test_selective_costs_two_products_of_attention(void **state)
{
    struct mtlm_program_config config = small_config(2, 2, 3);
    const struct mtlm_model *model = &config.model;
    const double samples = 3 * config.micro_batch;
    struct small_ranks ranks;
    double again = 0, without = 0, with = 0;

    (void) state;
    ranks = small_ranks_create(&config);
    for (int r = 0; r < ranks.n; r++)
        without += mtlm_plan(ranks.program[r], 0).flops;
    small_ranks_destroy(&ranks);
    config.recompute.granularity = MTLM_RECOMPUTE_SELECTIVE;
    ranks = small_ranks_create(&config);
    for (int r = 0; r < ranks.n; r++) {
        const struct mtlm_plan plan = mtlm_plan(ranks.program[r], 0);

        again += plan.recompute_flops;
        with += plan.flops;
    }
    small_ranks_destroy(&ranks);
    assert_true(again
                == samples * model->num_layers * 4 * model->seq_length
                       * model->seq_length * model->hidden_size);
    assert_true(with == without + again);
}

/* ---- order ---- */

static bool reads_what_B_overwrites(const struct mtlm_node *node)
{
    for (int i = 0; i < mtlm_node_n_uses(node); i++) {
        const struct mtlm_tensor *t = mtlm_node_use(node, i).tensor;

        if (t->pool && t->first_use == MTLM_PHASE_BACKWARD)
            return true;
    }
    return false;
}

/* Weight gradients that B waits for go with B, all others behind it; returns
 * how many there are of a microbatch. */
static int bound_weight_gradients(struct mtlm_recompute recompute)
{
    struct mtlm_program_config config = small_config(1, 1, 3);
    struct small_ranks ranks;
    const struct mtlm_items *train;
    int priority[3] = {0}, bound = 0;

    config.model.num_layers = 12;
    config.recompute = recompute;
    ranks = small_ranks_create(&config);
    train = &ranks.program[0]->train;
    for (int i = 0; i < train->n; i++)
        if (train->item[i].node->phase == MTLM_PHASE_BACKWARD)
            priority[train->item[i].microbatch] = train->item[i].priority;
    for (int i = 0; i < train->n; i++) {
        const struct mtlm_item *item = &train->item[i];
        const bool with_B = item->node->phase == MTLM_PHASE_WEIGHT
                            && reads_what_B_overwrites(item->node);

        if (with_B)
            assert_int_equal(item->priority, priority[item->microbatch]);
        else if (item->node->phase == MTLM_PHASE_WEIGHT)
            assert_true(item->priority < priority[2]);
        bound += with_B && item->microbatch == 0;
    }
    small_ranks_destroy(&ranks);
    return bound;
}

/* Of a layer's four weight gradients the projection's reads what attention is
 * called again for. */
static void test_what_B_waits_for_goes_with_it(void **state)
{
    (void) state;
    assert_int_equal(bound_weight_gradients((struct mtlm_recompute){
                         .granularity = MTLM_RECOMPUTE_NONE}),
                     0);
    assert_int_equal(bound_weight_gradients((struct mtlm_recompute){
                         .granularity = MTLM_RECOMPUTE_SELECTIVE}),
                     12);
    assert_int_equal(bound_weight_gradients((struct mtlm_recompute){
                         MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 1}),
                     12 * 4);
    assert_int_equal(bound_weight_gradients((struct mtlm_recompute){
                         MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_BLOCK, 5}),
                     5 * 4);
}

/* B and W of layers that are called again are one, of three times F: a
 * microbatch stays on the first of p stages for p (1 + 3) of 4, times alpha. */
static void test_windows_count_what_is_called_again(void **state)
{
    static const int kept[] = {4, 3, 2, 1}, again[] = {6, 5, 3, 2};
    struct mtlm_program_config config = small_config(1, 4, 12);

    (void) state;
    for (int way = 0; way < 3; way++) {
        struct mtlm_window *window;

        if (way > 0)
            config.recompute = (struct mtlm_recompute){
                MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 1};
        if (way == 2) /* the published ones */
            config.schedule = mtlm_schedule_find("1f1b");
        window = mtlm_ring_windows(&config);
        for (int k = 0; k < 4; k++)
            assert_int_equal(window[k].w, way == 1 ? again[k] : kept[k]);
        free(window);
    }
}

/* ---- memory ---- */

/* Bytes of all slots of rank 0 of a model of so many layers. */
static double activation_bytes(struct mtlm_program_config config,
                               int64_t num_layers)
{
    config.model.num_layers = num_layers;
    return small_plan(&config).activation_bytes;
}

/* What one more layer takes is the input that is kept of its group, in each
 * slot of the window: everything else shares its memory with the other
 * layers'. */
static void test_a_layer_takes_its_input_alone(void **state)
{
    static const struct {
        int tp, workers, parts, group;
    } cases[] = {{1, 1, 1, 1}, {2, 1, 1, 1}, {1, 3, 1, 1},
                 {1, 1, 3, 1}, {2, 2, 2, 2}, {1, 1, 1, 4}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mtlm_program_config config = small_config(cases[i].tp, 1, 7);
        const double input = (double) config.model.seq_length
                             * config.micro_batch * config.model.hidden_size
                             * sizeof(mtlm_real);
        struct mtlm_window *window;
        double more;

        config.layout.workers = cases[i].workers;
        config.row_parts = cases[i].parts;
        config.recompute = (struct mtlm_recompute){
            MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, cases[i].group};
        more = activation_bytes(config, 24) - activation_bytes(config, 12);
        window = mtlm_ring_windows(&config);
        assert_true(more == 12 / cases[i].group * input * window[0].w);
        free(window);
    }
}

/* The mix of the values [s, b, h / t] and what softmax was divided by
 * [heads / t, s, b] are not kept. */
static void test_selective_keeps_neither_output_of_attention(void **state)
{
    (void) state;
    for (int tp = 1; tp <= 2; tp++)
        for (int parts = 1; parts <= 3; parts++) {
            struct mtlm_program_config config = small_config(tp, 1, 3);
            const struct mtlm_model *model = &config.model;
            const double outputs =
                sizeof(mtlm_real) * model->seq_length * config.micro_batch
                * (model->hidden_size + model->num_heads) / tp;
            double kept, selective;

            config.row_parts = parts;
            kept = small_kept_bytes(config, 8) - small_kept_bytes(config, 4);
            config.recompute.granularity = MTLM_RECOMPUTE_SELECTIVE;
            selective =
                small_kept_bytes(config, 8) - small_kept_bytes(config, 4);
            assert_true(kept - selective == 4 * outputs);
        }
}

/* Of ranks that hold one microbatch at a time, without peers: less for less
 * that is kept. */
static void test_recomputation_saves_memory(void **state)
{
    struct mtlm_program_config config = small_config(1, 1, 7);
    double kept, selective, full;

    (void) state;
    kept = activation_bytes(config, 24);
    config.recompute.granularity = MTLM_RECOMPUTE_SELECTIVE;
    selective = activation_bytes(config, 24);
    config.recompute =
        (struct mtlm_recompute){MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 1};
    full = activation_bytes(config, 24);
    print_message("# kept %.0f, selective %.0f, full %.0f bytes\n", kept,
                  selective, full);
    assert_true(selective < kept);
    assert_true(full < kept / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recomputation_changes_no_bit),
        cmocka_unit_test(test_no_more_is_called_again_than_is_needed),
        cmocka_unit_test(test_whole_layers_are_called_again_on_request),
        cmocka_unit_test(test_groups_are_called_again_as_a_whole),
        cmocka_unit_test(test_selective_is_attention_alone),
        cmocka_unit_test(test_selective_costs_two_products_of_attention),
        cmocka_unit_test(test_what_B_waits_for_goes_with_it),
        cmocka_unit_test(test_windows_count_what_is_called_again),
        cmocka_unit_test(test_a_layer_takes_its_input_alone),
        cmocka_unit_test(test_selective_keeps_neither_output_of_attention),
        cmocka_unit_test(test_recomputation_saves_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
