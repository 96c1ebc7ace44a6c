/* The programs of all ranks, as plain data: how many nodes and collectives, how
 * many floating-point operations. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "graph/build/optimizer.h"
#include "graph/build/program_build.h"
#include "tests/graph/small.h"

static int count_phase(const struct mtlm_items *items, enum mtlm_phase phase)
{
    int n = 0;

    for (int i = 0; i < items->n; i++)
        n += items->item[i].node->phase == phase;
    return n;
}

static int count_calls(const struct mtlm_items *items, enum mtlm_phase phase)
{
    int n = 0;

    for (int i = 0; i < items->n; i++)
        for (const struct mtlm_call *c = &items->item[i].node->call;
             c && items->item[i].node->phase == phase; c = c->next)
            n++;
    return n;
}

/* ---- counts ---- */

/* Whether a message passes from stage k to the next. */
static int has_peer(const struct mtlm_program *program, int k)
{
    return !small_neighbours(&program->config.layout, k);
}

/* Nodes of one microbatch on a stage, each of whose parts meets the keys of
 * those before it.  t: 1 where tensor-parallel ranks meet, else 0. */
static int forward_nodes(const struct mtlm_program *program,
                         const struct mtlm_stage *stage, int t, int parts)
{
    const int layer = 9 + 2 * t; /* attention of five, MLP of four */
    /* Or a receive and a send, or nothing. */
    const int top = stage->first ? 3 + t : has_peer(program, stage->stage - 1);
    const int bottom =
        stage->last ? 6 + 3 * t : has_peer(program, stage->stage);
    const int more = parts * (parts - 1) / 2;

    return 1 /* lengths */ + parts * (top + bottom)
           + (parts * layer + more) * stage->n_layers;
}

/* Several parts add to the gradient of queries, keys and values: it begins
 * with zeros. */
static int backward_nodes(const struct mtlm_program *program,
                          const struct mtlm_stage *stage, int t, int parts)
{
    const int layer = 9 + 2 * t + (parts > 1);
    const int more = parts * (parts - 1) / 2;

    const int top = stage->first ? 1 : has_peer(program, stage->stage - 1);

    return parts
               * (top + (stage->last ? 3 + t : has_peer(program, stage->stage)))
           + (parts * layer + more) * stage->n_layers;
}

static int weight_nodes(const struct mtlm_stage *stage,
                        const struct small_case *c)
{
    return small_weight_parts(c) * (4 * stage->n_layers + stage->last)
           + small_parts(c) * stage->first;
}

/* Gradients tied, status filled, control, Adam: calls, of which nodes hold
 * several (test_bundle.c). */
static int tail_calls(const struct mtlm_program *program)
{
    const struct mtlm_layout *layout = &program->config.layout;
    const struct mtlm_stage *stage = program->stage;
    const bool first = stage[0].first;
    const bool last = stage[layout->virtual_stages - 1].last;
    int layers = 0, weights, replicated;

    for (int c = 0; c < layout->virtual_stages; c++)
        layers += stage[c].n_layers;
    /* Tensors with memory of their own; the ones that every tensor-parallel
     * rank has, of which one rank counts the squares. */
    weights = 12 * layers + 2 * first + 2 * last + (last && !first);
    replicated = 6 * layers + first + 2 * last;
    return (first || last) + 1
           + (weights - (last && !first)
              - (layout->tp_rank > 0 ? replicated : 0))
           + last + 1 + (mtlm_layout_ranks(layout) > 1) + 1 + weights;
}

static void check_counts(const struct small_case *c, struct small_ranks *ranks)
{
    const int t = c->tp > 1, m = c->microbatches;

    for (int r = 0; r < ranks->n; r++) {
        const struct mtlm_program *program = ranks->program[r];
        const struct mtlm_items *train = &program->train;
        int f = 0, b = 0, w = 0;

        for (int v = 0; v < c->virtual_stages; v++) {
            f += forward_nodes(program, &program->stage[v], t, small_parts(c));
            b += backward_nodes(program, &program->stage[v], t, small_parts(c));
            w += weight_nodes(&program->stage[v], c);
        }
        assert_int_equal(count_phase(train, MTLM_PHASE_FORWARD), m * f);
        assert_int_equal(count_phase(train, MTLM_PHASE_BACKWARD), m * b);
        assert_int_equal(count_phase(train, MTLM_PHASE_WEIGHT), m * w);
        assert_int_equal(count_calls(train, MTLM_PHASE_OPTIMIZER),
                         tail_calls(program));
        assert_int_equal(train->n,
                         m * (f + b + w)
                             + count_phase(train, MTLM_PHASE_OPTIMIZER));
        assert_int_equal(small_count(train, MTLM_OP_TP_COPY), 0);
    }
}

static void test_nodes_are_as_many_as_the_formula_says(void **state)
{
    (void) state;
    small_for_each_case(check_counts);
}

/* A part of a block meets its peers twice forward and twice backward;
 * vocabulary and embedding add four. */
static void check_meetings(const struct small_case *c,
                           struct small_ranks *ranks)
{
    for (int r = 0; r < ranks->n; r++) {
        const struct mtlm_program *program = ranks->program[r];
        int want = 0, got = 0;

        for (int v = 0; v < c->virtual_stages; v++)
            want += 4 * program->stage[v].n_layers + program->stage[v].first
                    + 3 * program->stage[v].last;
        for (int i = 0; i < program->train.n; i++) {
            const struct mtlm_node *node = program->train.item[i].node;

            got += node->call.kind == MTLM_OP_ALL_REDUCE
                   && node->lane == MTLM_LANE_TP;
        }
        assert_int_equal(
            got, c->tp > 1 ? c->microbatches * small_parts(c) * want : 0);
    }
}

static void test_two_ranks_meet_four_times_per_layer(void **state)
{
    (void) state;
    small_for_each_case(check_meetings);
}

/* ---- floating-point operations ---- */

static bool is_matrix_product(enum mtlm_op_kind kind)
{
    return strncmp(mtlm_ops[kind]->name, "linear", 6) == 0
           || strncmp(mtlm_ops[kind]->name, "gelu_linear", 11) == 0
           || strncmp(mtlm_ops[kind]->name, "attention", 9) == 0;
}

/* What the published formula leaves out, per iteration and over all ranks:
 * layernorms 8 + 14, bias-dropout-add 3 + 2, position and embedding 2 + 2 + 1
 * per element and rank, cross-entropy 9 + 9 per logit; and, with the products
 * that it is part of, GELU 10 + 15 per element. */
static double small_flops(const struct mtlm_program_config *config)
{
    const struct mtlm_model *model = &config->model;
    const int tp = config->layout.tp;
    const double tokens =
        (double) config->micro_batch * config->microbatches * model->seq_length;
    const double l = model->num_layers;

    return tokens
           * (tp * model->hidden_size * (22 * (2 * l + 1) + 5 * 2 * l + 5)
              + 18.0 * mtlm_model_padded_vocab(model, tp));
}

static double gelu_flops(const struct mtlm_program_config *config)
{
    const struct mtlm_model *model = &config->model;

    return 25.0 * config->micro_batch * config->microbatches * model->seq_length
           * model->num_layers * model->ffn_hidden_size;
}

static void check_flops(const struct small_case *c, struct small_ranks *ranks)
{
    const struct mtlm_program_config *config = &ranks->program[0]->config;
    struct mtlm_model padded = config->model;
    double products = 0, others = 0, want;

    for (int r = 0; r < ranks->n; r++) {
        const struct mtlm_items *train = &ranks->program[r]->train;

        for (int i = 0; i < train->n; i++) {
            const struct mtlm_node *node = train->item[i].node;

            if (node->phase == MTLM_PHASE_OPTIMIZER)
                continue;
            *(is_matrix_product(node->call.kind) ? &products : &others) +=
                node->flops;
        }
    }
    /* The formula has the vocabulary as padded for one rank. */
    padded.vocab_size = mtlm_model_padded_vocab(&config->model, c->tp);
    want = mtlm_model_flops(&padded, config->micro_batch * config->microbatches)
           + gelu_flops(config);
    assert_true(fabs(products / want - 1) < 1e-12);
    assert_true(fabs(others / small_flops(config) - 1) < 1e-12);
}

static void test_flops_are_the_formulas_and_the_small_operations(void **state)
{
    (void) state;
    small_for_each_case(check_flops);
}

/* ---- validation ---- */

/* Whether a node of the list uses the tensor. */
static bool uses(const struct mtlm_items *items,
                 const struct mtlm_tensor *tensor)
{
    for (int i = 0; i < items->n; i++)
        for (int k = 0; k < mtlm_node_n_uses(items->item[i].node); k++)
            if (mtlm_node_use(items->item[i].node, k).tensor == tensor)
                return true;
    return false;
}

static void test_logits_for_reports_are_those_of_the_validation(void **state)
{
    struct mtlm_program_config config = small_config(1, 1, 2);
    struct mtlm_program *program;

    (void) state;
    config.eval_microbatches = 2;
    program = mtlm_program_build(&config);
    assert_non_null(program->eval_logits.part[0]);
    assert_true(uses(&program->eval, program->eval_logits.part[0]));
    assert_false(uses(&program->train, program->eval_logits.part[0]));
    mtlm_program_destroy(program);
}

static void test_a_graph_that_is_not_there_can_be_destroyed(void **state)
{
    (void) state;
    mtlm_graph_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_are_as_many_as_the_formula_says),
        cmocka_unit_test(test_two_ranks_meet_four_times_per_layer),
        cmocka_unit_test(test_flops_are_the_formulas_and_the_small_operations),
        cmocka_unit_test(test_logits_for_reports_are_those_of_the_validation),
        cmocka_unit_test(test_a_graph_that_is_not_there_can_be_destroyed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
