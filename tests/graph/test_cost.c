/* Modelled durations, against the formulas that they are said to follow. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codelets/control_slots.h"
#include "graph/build/program_build.h"
#include "graph/run/synthetic.h"
#include "tests/graph/small.h"

static void near(double have, double want, double tolerance)
{
    if (fabs(have - want) > tolerance * fabs(want))
        fail_msg("%.9g, not %.9g", have, want);
}

/* ---- messages ---- */

/* Seconds of the first node of that operation. */
static double first(const struct mtlm_cost *cost,
                    const struct mtlm_items *items, enum mtlm_op_kind kind)
{
    for (int i = 0; i < items->n; i++)
        if (items->item[i].node->call.kind == kind)
            return mtlm_cost_seconds(cost, items->item[i].node);
    fail_msg("there is no %s", mtlm_ops[kind]->name);
    return 0;
}

/* 4 pipeline ranks of 2, two pipeline ranks on a host: rank 2 sends to rank 4
 * on the next one, and receives from rank 0 on its own. */
static void test_messages_take_the_link_that_they_go_over(void **state)
{
    struct mtlm_cluster c = {.timed = true,
                             .element_bytes = 2,
                             .devices = 4,
                             .host = {1e-6, 1e9},
                             .network = {5e-6, 1e8}};
    struct mtlm_program_config config = small_config(2, 4, 2);
    const double bytes = 2.0 * 12 * 2 * 32; /* [s, b, h] */
    struct mtlm_program *program;
    struct mtlm_cost cost;

    (void) state;
    mtlm_layout_place(&config.layout, 2);
    program = mtlm_program_build(&config);
    cost = mtlm_cost_create(&c, program);
    near(first(&cost, &program->train, MTLM_OP_SEND), 5e-6 + bytes / 1e8,
         1e-12);
    near(first(&cost, &program->train, MTLM_OP_RECV), 1e-6 + bytes / 1e9,
         1e-12);
    near(first(&cost, &program->train, MTLM_OP_ALL_REDUCE), 2e-6 + bytes / 1e9,
         1e-12);
    c.devices = 1; /* the group is split */
    cost = mtlm_cost_create(&c, program);
    near(first(&cost, &program->train, MTLM_OP_ALL_REDUCE), 10e-6 + bytes / 1e8,
         1e-12);
    mtlm_program_destroy(program);
}

/* ---- loads and stores ---- */

/* Two tensor-parallel ranks of a host move as much; on hosts of their own, each
 * has a disk. */
static void test_transfers_share_the_disk_of_a_host(void **state)
{
    struct mtlm_cluster c = {
        .timed = true, .element_bytes = 4, .disk = {2e6, 1e6}};
    struct mtlm_program_config config = small_config(2, 1, 2);
    struct mtlm_program *program;
    struct mtlm_cost cost;

    (void) state;
    config.offload = MTLM_OFFLOAD_OPTIMIZER;
    program = mtlm_program_build(&config);
    for (c.devices = 0; c.devices < 3; c.devices++) {
        double loaded = 0, stored = 0;

        cost = mtlm_cost_create(&c, program);
        for (int i = 0; i < program->train.n; i++) {
            const struct mtlm_node *node = program->train.item[i].node;

            if (node->call.kind == MTLM_OP_LOAD)
                loaded += mtlm_cost_seconds(&cost, node);
            if (node->call.kind == MTLM_OP_STORE)
                stored += mtlm_cost_seconds(&cost, node);
        }
        near(loaded * 2e6,
             program->offloaded.loaded_bytes * (c.devices == 1 ? 1 : 2), 1e-9);
        near(stored * 1e6,
             program->offloaded.stored_bytes * (c.devices == 1 ? 1 : 2), 1e-9);
        assert_true(loaded > 0 && stored > 0);
    }
    mtlm_program_destroy(program);
}

/* ---- computation ---- */

static double sum(const struct mtlm_cost *cost, const struct mtlm_list *list)
{
    double seconds = 0;

    for (int i = 0; i < list->n; i++)
        if (list->node[i]->lane == MTLM_LANE_COMPUTE)
            seconds += mtlm_cost_seconds(cost, list->node[i]);
    return seconds;
}

/* However the model is laid out: the stages of a microbatch take the given
 * times together, and each its share of the layers. */
static void test_stages_take_the_times_that_are_given(void **state)
{
    static const struct {
        int tp, pp, virtual_stages, row_parts;
    } cases[] = {{1, 1, 1, 0}, {1, 2, 1, 0}, {2, 2, 1, 3}, {1, 2, 2, 0},
                 {4, 1, 1, 0}, {1, 3, 1, 0}, {1, 4, 1, 2}};
    const struct mtlm_cluster c = {.timed = true,
                                   .element_bytes = 2,
                                   .forward_s = 0.5,
                                   .backward_s = 0.75,
                                   .weight_s = 0.25};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mtlm_program_config config =
            small_config(cases[i].tp, cases[i].pp, 2);
        struct small_ranks ranks;

        config.layout.virtual_stages = cases[i].virtual_stages;
        config.row_parts = cases[i].row_parts;
        ranks = small_ranks_create(&config);
        for (int r = 0; r < ranks.n; r++) {
            const struct mtlm_program *p = ranks.program[r];
            const struct mtlm_cost cost = mtlm_cost_create(&c, p);

            for (int k = 0; k < cases[i].virtual_stages; k++) {
                const struct mtlm_stage *s = &p->stage[k];
                const double share = s->n_layers * cases[i].pp / 4.0;

                near(sum(&cost, &s->forward), 0.5 * share, 1e-9);
                near(sum(&cost, &s->backward), 0.75 * share, 1e-9);
                near(sum(&cost, &s->weight), 0.25 * share, 1e-9);
                near(sum(&cost, &s->eval), 0.5 * share, 1e-9);
            }
            assert_true(sum(&cost, &p->init_list) == 0);
            assert_true(sum(&cost, &p->tail_list) == 0);
        }
        small_ranks_destroy(&ranks);
    }
}

/* GPT-3 175B, a layer on 8 ranks of one sample: 24 b s h^2 (1 + s / 6h) FLOPs
 * forward (arXiv 2104.04473, appendix) at 200 TFLOP/s, and two all-reduces of
 * 2 b s h bytes at 230 GB/s. */
static void test_a_layer_of_gpt3_takes_what_its_flops_take(void **state)
{
    const double s = 2048, h = 12288, layer = 24 * s * h * h * (1 + s / 6 / h);
    const struct mtlm_cluster c = {.flops_per_s = 200e12,
                                   .efficiency = 1,
                                   .bytes_per_s = 1e18,
                                   .memory_efficiency = 1,
                                   .element_bytes = 2,
                                   .host = {0, 230e9}};
    struct mtlm_program_config config = small_config(8, 1, 1);
    struct mtlm_program *program;
    struct mtlm_cost cost;
    double forward = 0, reduce = 0;

    (void) state;
    config.model.num_layers = 1;
    config.model.hidden_size = h;
    config.model.ffn_hidden_size = 4 * h;
    config.model.num_heads = 96;
    config.model.seq_length = config.model.max_positions = s;
    config.micro_batch = 1;
    config.row_parts = 1;
    config.outline = true;
    program = mtlm_program_build(&config);
    cost = mtlm_cost_create(&c, program);
    for (int i = 0; i < program->stage[0].forward.n; i++) {
        const struct mtlm_node *node = program->stage[0].forward.node[i];

        if (node->layer == 0)
            *(node->lane == MTLM_LANE_TP ? &reduce : &forward) +=
                mtlm_cost_seconds(&cost, node);
    }
    /* Causal attention counts all of the formula's scores; layernorm, GELU and
     * the rest, which the formula leaves out, take no time worth mentioning. */
    near(forward, layer / 8 / 200e12, 0.02);
    near(reduce, 2 * 2 * 7 / 8.0 * 2 * s * h / 230e9, 1e-9);
    mtlm_program_destroy(program);
}

/* Elementwise operations wait for memory, and every node has its launch. */
static void test_the_device_is_as_fast_as_the_slower_of_two(void **state)
{
    const struct mtlm_cluster c = {.flops_per_s = 1e12,
                                   .efficiency = 0.5,
                                   .bytes_per_s = 1e9,
                                   .memory_efficiency = 0.25,
                                   .element_bytes = 2,
                                   .launch_s = 1e-6};
    const struct mtlm_cluster fast = {.flops_per_s = 1e9,
                                      .efficiency = 0.5,
                                      .bytes_per_s = 1e12,
                                      .memory_efficiency = 0.25,
                                      .element_bytes = 2,
                                      .launch_s = 1e-6};
    const struct mtlm_program_config config = small_config(1, 1, 1);
    struct mtlm_program *program = mtlm_program_build(&config);
    const double rows = 12 * 2, h = 32;
    struct mtlm_cost cost = mtlm_cost_create(&c, program);

    (void) state;
    /* x, gamma, beta, y; mean and rstd */
    near(first(&cost, &program->train, MTLM_OP_LAYERNORM_FWD),
         1e-6 + (2 * rows * h + 2 * h + 2 * rows) * 2 / 0.25e9, 1e-9);
    cost = mtlm_cost_create(&fast, program);
    /* The product with the QKV weight comes first. */
    near(first(&cost, &program->train, MTLM_OP_LINEAR_BIAS_FWD),
         1e-6 + (2 * rows * h * 3 * h + rows * 3 * h) / 0.5e9, 0.02);
    /* What the host does is no work of the device. */
    assert_true(first(&cost, &program->train, MTLM_OP_BATCH) == 0);
    mtlm_program_destroy(program);
}

/* Attention that writes its scores, 4 heads of 2 samples and 12 x 12 rows:
 * kernels for 2 and 4 products, softmax and dropout; elements that each moves,
 * and a mask of a byte, with dropout and without. */
static void test_scores_that_are_written_take_time(void **state)
{
    static const struct {
        enum mtlm_attention_backend backend;
        double dropout, forward, backward;
        int kernels[2];
    } cases[] = {{MTLM_ATTENTION_AUTO, 0.1, 0, 0, {1, 1}},
                 {MTLM_ATTENTION_FLASH, 0.1, 0, 0, {1, 1}},
                 {MTLM_ATTENTION_FUSED, 0.1, 0, 0, {1, 1}},
                 {MTLM_ATTENTION_UNFUSED, 0.1, 6 * 2 + 1, 9 * 2 + 1, {4, 6}},
                 {MTLM_ATTENTION_LOCAL, 0, 4 * 2, 7 * 2, {3, 5}}};
    const struct mtlm_cluster c = {.flops_per_s = 1e18,
                                   .efficiency = 1,
                                   .bytes_per_s = 1e9,
                                   .memory_efficiency = 0.5,
                                   .element_bytes = 2,
                                   .launch_s = 1e-6};
    const double scores = 4 * 2 * 12 * 12, rows = 12 * 2, h = 32;
    const double lse = 4 * 2 * 12, lengths = 2 * 4; /* elements, bytes */

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mtlm_program_config config = small_config(1, 1, 1);
        struct mtlm_program *program;
        struct mtlm_cost cost;

        config.row_parts = 1;
        config.attention_backend = cases[i].backend;
        config.model.attention_dropout = cases[i].dropout;
        program = mtlm_program_build(&config);
        cost = mtlm_cost_create(&c, program);
        near(first(&cost, &program->train, MTLM_OP_ATTENTION_FWD),
             cases[i].kernels[0] * 1e-6
                 + (2 * (4 * rows * h + lse) + lengths
                    + cases[i].forward * scores)
                       / 0.5e9,
             1e-9);
        near(first(&cost, &program->train, MTLM_OP_ATTENTION_BWD),
             cases[i].kernels[1] * 1e-6
                 + (2 * (8 * rows * h + lse) + lengths
                    + cases[i].backward * scores)
                       / 0.5e9,
             1e-9);
        mtlm_program_destroy(program);
    }
}

/* A 16-bit program says itself how large everything is. */
static void test_16_bit_programs_have_their_own_bytes(void **state)
{
    const struct mtlm_cluster c = {.flops_per_s = 1e15,
                                   .efficiency = 1,
                                   .bytes_per_s = 1e9,
                                   .memory_efficiency = 1,
                                   .element_bytes = 8,
                                   .host = {1e-6, 1e9},
                                   .network = {1e-6, 1e9}};
    struct mtlm_program_config config = small_config(1, 2, 1);
    const double rows = 12 * 2, h = 32;
    struct mtlm_program *program;
    struct mtlm_cost cost;

    (void) state;
    config.value = MTLM_BF16;
    program = mtlm_program_build(&config);
    cost = mtlm_cost_create(&c, program);
    near(first(&cost, &program->train, MTLM_OP_SEND), 1e-6 + 2 * rows * h / 1e9,
         1e-9);
    near(first(&cost, &program->train, MTLM_OP_LAYERNORM_FWD),
         (2 * (2 * rows * h + 2 * h) + 4 * 2 * rows) / 1e9, 1e-9);
    /* The word embedding's: gradient, master and moments read and written, so
     * is the weight; the control is read. */
    near(first(&cost, &program->train, MTLM_OP_ADAM_MASTER),
         (2 * (4 * 4 + 2) * 60 * h + 8. * MTLM_CONTROL_COUNT) / 1e9, 1e-9);
    mtlm_program_destroy(program);
}

/* ---- what a synthetic run makes of them ---- */

/* Every item of a pass has the factor that the evaluator draws for the pass. */
static void test_tasks_draw_the_noise_of_their_pass(void **state)
{
    const struct mtlm_cluster c = {
        .timed = true, .forward_s = 1, .backward_s = 1, .weight_s = 1};
    const struct mtlm_noise noise = {.sigma = 0.2, .chance = 0.1, .times = 3};
    const struct mtlm_noise_draws draws = {
        .noise = &noise, .seed = 7, .iteration = 3};
    const struct mtlm_program_config config = small_config(1, 1, 1);
    struct mtlm_program *program = mtlm_program_build(&config);
    struct mtlm_synthetic s = {.cost = mtlm_cost_create(&c, program),
                               .noise = noise,
                               .speed = 1,
                               .stretch = 1,
                               .seed = 7};
    int n = 0;

    (void) state;
    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_item *item = &program->train.item[i];
        const struct mtlm_node *node = item->node;
        const double ns = 1e9 * mtlm_cost_seconds(&s.cost, node);

        if (node->phase > MTLM_PHASE_WEIGHT || ns < 1000
            || mtlm_ops[node->call.kind]->op_class != MTLM_CLASS_COMPUTE)
            continue;
        n++;
        near(mtlm_synthetic_ns(&s, item, 3) / ns,
             mtlm_noise_factor(&draws, &config.layout, node->phase, node->stage,
                               item->microbatch),
             1e-3);
        s.noise = (struct mtlm_noise){0};
        assert_int_equal(mtlm_synthetic_ns(&s, item, 3), llrint(ns));
        s.speed = 0.8;
        s.stretch = 20;
        near(mtlm_synthetic_ns(&s, item, 3), 20 * ns / 0.8, 1e-3);
        s.noise = (struct mtlm_noise){.rank = {{0, 1.5}}, .ranks = 1};
        near(mtlm_synthetic_ns(&s, item, 3), 30 * ns / 0.8, 1e-3);
        s.speed = s.stretch = 1;
        s.noise = noise;
    }
    assert_true(n > 20);
    mtlm_program_destroy(program);
}

/* Replicas and tensor-parallel peers draw apart. */
static void test_replicas_draw_apart(void **state)
{
    const struct mtlm_cluster c = {
        .timed = true, .forward_s = 1, .backward_s = 1, .weight_s = 1};
    struct mtlm_program_config config = small_config(2, 1, 2);
    struct small_ranks ranks;
    int64_t ns[4];

    (void) state;
    config.layout.dp = 2;
    ranks = small_ranks_create(&config);
    assert_int_equal(ranks.n, 4);
    for (int r = 0; r < ranks.n; r++) {
        const struct mtlm_synthetic s = {
            .cost = mtlm_cost_create(&c, ranks.program[r]),
            .noise.sigma = 0.2,
            .speed = 1,
            .stretch = 1,
            .rank = r};
        const struct mtlm_items *items = &ranks.program[r]->train;

        ns[r] = 0;
        for (int i = 0; i < items->n && ns[r] == 0; i++)
            if (items->item[i].node->phase == MTLM_PHASE_FORWARD)
                ns[r] = mtlm_synthetic_ns(&s, &items->item[i], 0);
        assert_true(ns[r] > 0);
        for (int other = 0; other < r; other++)
            assert_int_not_equal(ns[r], ns[other]);
    }
    small_ranks_destroy(&ranks);
}

/* Steering goes on, with numbers that are there; nothing else is computed. */
static void test_only_steering_is_computed(void **state)
{
    const struct mtlm_program_config config = small_config(1, 2, 2);
    struct small_ranks ranks = small_ranks_create(&config);
    int computed = 0;

    (void) state;
    for (int r = 0; r < ranks.n; r++) {
        const struct mtlm_items *items = &ranks.program[r]->train;

        for (int i = 0; i < items->n; i++) {
            const struct mtlm_node *node = items->item[i].node;

            if (!mtlm_synthetic_computes(node))
                continue;
            computed++;
            assert_int_equal(node->phase, MTLM_PHASE_OPTIMIZER);
            for (int k = 0; k < mtlm_node_n_uses(node); k++)
                assert_int_equal(mtlm_node_use(node, k).tensor->storage,
                                 MTLM_STORE_GLOBAL);
        }
    }
    /* zero, flags, all-reduce, control on both; publish on the last */
    assert_int_equal(computed, 2 * 4 + 1);
    small_ranks_destroy(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_take_the_link_that_they_go_over),
        cmocka_unit_test(test_transfers_share_the_disk_of_a_host),
        cmocka_unit_test(test_stages_take_the_times_that_are_given),
        cmocka_unit_test(test_a_layer_of_gpt3_takes_what_its_flops_take),
        cmocka_unit_test(test_the_device_is_as_fast_as_the_slower_of_two),
        cmocka_unit_test(test_scores_that_are_written_take_time),
        cmocka_unit_test(test_16_bit_programs_have_their_own_bytes),
        cmocka_unit_test(test_tasks_draw_the_noise_of_their_pass),
        cmocka_unit_test(test_replicas_draw_apart),
        cmocka_unit_test(test_only_steering_is_computed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
