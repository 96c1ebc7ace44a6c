/* Every order in which a program may run is correct: in program order and in
 * the order that windows and priorities lead to, a node finds what was
 * written for its microbatch, and rings hold no more than they should. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/graph/execution.h"
#include "tests/graph/small.h"

/* ---- what slots hold ---- */

enum { NOTHING = -1, MOST_LAYERS = 12 };

/* For which use of its tensor a slot was last written: [tensor][slot]. */
static int64_t **holds_create(const struct mtlm_graph *graph)
{
    int64_t **holds = mtlm_calloc(graph->n_tensors, sizeof(*holds));

    for (int i = 0; i < graph->n_tensors; i++) {
        const int slots = graph->tensor[i]->slots;

        assert_true(slots >= 1);
        holds[i] = mtlm_calloc(slots, sizeof(**holds));
        for (int s = 0; s < slots; s++)
            holds[i][s] = NOTHING;
    }
    return holds;
}

static void holds_free(const struct mtlm_graph *graph, int64_t **holds)
{
    for (int i = 0; i < graph->n_tensors; i++)
        free(holds[i]);
    free(holds);
}

/* The node is use number `use` of its tensors. */
static void run_node(const struct mtlm_node *node, int64_t use, int64_t **holds)
{
    const struct mtlm_op *op = mtlm_ops[node->call.kind];

    for (int i = 0; i < op->n_operands; i++) {
        const struct mtlm_tensor *t = mtlm_tensor_owner(node->operand[i]);
        int64_t *held = &holds[t->id][use % t->slots];
        /* A receive only writes. */
        const bool reads =
            op->access[i] != MTLM_W && node->call.kind != MTLM_OP_RECV;

        if (reads && *held == NOTHING)
            fail_msg("%s reads %s, which nothing has written", op->name,
                     t->name);
        if (reads && t->storage == MTLM_STORE_ACTIVATION && *held != use)
            fail_msg("%s of microbatch %d finds that of %d in %s", op->name,
                     (int) use, (int) *held, t->name);
        if (op->access[i] != MTLM_R)
            *held = use;
    }
}

static void run_items(const struct mtlm_items *items, int64_t iteration,
                      int64_t microbatches, int64_t **holds)
{
    for (int i = 0; i < items->n; i++)
        run_node(items->item[i].node,
                 items->item[i].microbatch < 0
                     ? iteration
                     : iteration * microbatches + items->item[i].microbatch,
                 holds);
}

static void test_in_program_order_all_is_written_before_it_is_read(void **state)
{
    (void) state;
    for (int n = 0; n < small_n_cases; n++) {
        const struct mtlm_program_config config =
            small_case_config(&small_cases[n]);
        struct small_ranks ranks = small_ranks_create(&config);

        for (int r = 0; r < ranks.n; r++) {
            const struct mtlm_program *program = ranks.program[r];
            int64_t **holds = holds_create(program->graph);

            run_items(&program->init, 0, 1, holds);
            for (int e = 0; e < 3; e++) {
                run_items(&program->train, e, config.microbatches, holds);
                run_items(&program->eval, 0, mtlm_program_piece(&config),
                          holds);
            }
            holds_free(program->graph, holds);
        }
        small_ranks_destroy(&ranks);
    }
}

/* ---- the order that arises ---- */

enum { ITERATIONS = 2 }; /* one submitted behind the other */

static void replay(const struct mtlm_execution *run,
                   const struct small_ranks *ranks)
{
    int64_t ***holds = mtlm_calloc(ranks->n, sizeof(*holds));

    for (int r = 0; r < ranks->n; r++) {
        holds[r] = holds_create(ranks->program[r]->graph);
        run_items(&ranks->program[r]->init, 0, 1, holds[r]);
    }
    for (int i = 0; i < run->n; i++) {
        const struct mtlm_executed *e = &run->node[i];

        run_node(e->node, e->use, holds[e->program]);
    }
    for (int r = 0; r < ranks->n; r++)
        holds_free(ranks->program[r]->graph, holds[r]);
    free(holds);
}

/* The first computation of a microbatch in a stage's layers, forward or
 * backward, or the last one. */
static const struct mtlm_node *end_of_layers(const struct mtlm_list *list,
                                             bool last)
{
    const struct mtlm_node *found = NULL;

    for (int i = 0; i < list->n && (last || !found); i++)
        if (list->node[i]->layer >= 0
            && list->node[i]->lane == MTLM_LANE_COMPUTE
            && mtlm_ops[list->node[i]->call.kind]->op_class != MTLM_CLASS_ALIAS)
            found = list->node[i];
    return found;
}

/* Microbatches whose forward has begun and whose backward has not come to
 * its last node: the window bounds them, and is used. */
static void check_window(const struct mtlm_execution *run,
                         const struct mtlm_program *program, int rank,
                         const struct mtlm_stage *stage)
{
    const struct mtlm_window window = program->window[stage->stage];
    const struct mtlm_node *first = end_of_layers(&stage->forward, false);
    const struct mtlm_node *last = end_of_layers(&stage->backward, true);
    int now = 0, most = 0, done = 0;

    for (int i = 0; i < run->n; i++) {
        if (run->node[i].program != rank)
            continue;
        now += run->node[i].node == first;
        now -= run->node[i].node == last;
        done += run->node[i].node == last;
        most = now > most ? now : most;
    }
    assert_int_equal(done, ITERATIONS * program->config.microbatches);
    assert_int_equal(now, 0);
    assert_in_range(most, 1, window.w);
    /* Others may leave room for what they do not come to. */
    if (program->config.schedule == small_schedule(NULL))
        assert_int_equal(most, window.w);
}

static void test_in_the_order_that_arises_each_finds_its_microbatch(
    void **state)
{
    (void) state;
    for (int n = 0; n < small_n_cases; n++) {
        const struct mtlm_program_config config =
            small_case_config(&small_cases[n]);
        struct small_ranks ranks = small_ranks_create(&config);
        struct mtlm_execution run = execution_run(&ranks, ITERATIONS);

        replay(&run, &ranks);
        for (int r = 0; r < ranks.n; r++)
            for (int c = 0; c < config.layout.virtual_stages; c++)
                check_window(&run, ranks.program[r], r,
                             &ranks.program[r]->stage[c]);
        mtlm_execution_free(&run);
        small_ranks_destroy(&ranks);
    }
}

/* F and B of a stage in the order in which they begin, "FFBFB...". */
static void letters(const struct mtlm_execution *run, int rank,
                    const struct mtlm_stage *stage, char *text)
{
    const struct mtlm_node *f = end_of_layers(&stage->forward, false);
    const struct mtlm_node *b = end_of_layers(&stage->backward, false);

    for (int i = 0; i < run->n; i++)
        if (run->node[i].program == rank
            && (run->node[i].node == f || run->node[i].node == b))
            *text++ = run->node[i].node == f ? 'F' : 'B';
    *text = 0;
}

/* p - k forward, then one backward and one forward in turn. */
static void one_forward_one_backward(int warm_up, int m, char *text)
{
    int f = 0, b = 0;

    while (f < warm_up)
        text[f++] = 'F';
    while (b < m) {
        text[f + b] = 'B', b++;
        if (f < m)
            text[f + b] = 'F', f++;
    }
    text[2 * m] = 0;
}

static void test_stages_arrive_at_one_forward_one_backward(void **state)
{
    (void) state;
    for (int pp = 1; pp <= 4; pp *= 2)
        for (int tp = 1; tp <= 2; tp++) {
            const struct mtlm_program_config config = small_config(tp, pp, 8);
            struct small_ranks ranks = small_ranks_create(&config);
            struct mtlm_execution run = execution_run(&ranks, 1);
            const double makespan =
                (double) run.makespan_ns / EXECUTION_UNIT_NS;

            /* The lower bound, but for nodes that do not fit together. */
            assert_true(makespan >= 3 * 8 + pp - 1 - 0.02);
            assert_true(makespan < 1.02 * (3 * 8 + pp - 1));
            for (int r = 0; r < ranks.n; r++) {
                char got[17], want[17];

                one_forward_one_backward(pp - r / tp, 8, want);
                letters(&run, r, ranks.program[r]->stage, got);
                assert_string_equal(got, want);
            }
            mtlm_execution_free(&run);
            small_ranks_destroy(&ranks);
        }
}

/* ---- B and W ---- */

/* Returns how many calls of the node write the tensor. */
static int count_writes(const struct mtlm_node *node,
                        const struct mtlm_tensor *t)
{
    bool written = false;
    int calls = 0;

    for (int i = 0; i < mtlm_ops[node->call.kind]->n_operands; i++)
        written = written
                  || (mtlm_ops[node->call.kind]->access[i] != MTLM_R
                      && mtlm_tensor_owner(node->operand[i]) == t);
    for (const struct mtlm_call *c = &node->call; written && c; c = c->next)
        calls++;
    return calls;
}

/* The W nodes of a stage, by layer. */
struct weight_nodes {
    int of_layer[MOST_LAYERS], outside;
};

/* W only adds to gradients of weights, so that it may wait. */
static void check_weight_node(const struct mtlm_node *node,
                              struct weight_nodes *found)
{
    const struct mtlm_op *op = mtlm_ops[node->call.kind];

    assert_int_equal(node->phase, MTLM_PHASE_WEIGHT);
    for (int j = 0; j < op->n_operands; j++)
        if (op->access[j] != MTLM_R) {
            assert_int_equal(op->access[j], MTLM_RW);
            assert_int_equal(node->operand[j]->storage, MTLM_STORE_GRAD);
        }
    *(node->layer >= 0 ? &found->of_layer[node->layer] : &found->outside) += 1;
}

/* Each layer has four W nodes of its own for each part of a sample.  A fused
 * schedule has them in the list of B. */
static void check_weight_nodes(const struct mtlm_program_config *config,
                               const struct mtlm_stage *stage,
                               const struct small_case *c)
{
    const int matrices = small_weight_parts(c);
    const bool fused = config->schedule->fused;
    struct weight_nodes found = {{0}, 0};

    for (int i = 0; i < stage->weight.n; i++)
        if (stage->weight.node[i]->call.kind != MTLM_OP_SEND || !fused)
            check_weight_node(stage->weight.node[i], &found);
    for (int i = 0; i < stage->backward.n; i++) {
        const struct mtlm_node *node = stage->backward.node[i];

        if (strstr(mtlm_ops[node->call.kind]->name, "wgrad")) {
            assert_true(fused);
            check_weight_node(node, &found);
        } else {
            assert_int_equal(node->phase, MTLM_PHASE_BACKWARD);
        }
    }
    for (int l = 0; l < MOST_LAYERS; l++)
        assert_int_equal(found.of_layer[l],
                         l >= stage->first_layer
                                 && l < stage->first_layer + stage->n_layers
                             ? 4 * matrices
                             : 0);
    assert_int_equal(found.outside,
                     small_parts(c) * stage->first + matrices * stage->last);
}

static void test_gradients_of_weights_stand_apart_layer_by_layer(void **state)
{
    (void) state;
    for (int n = 0; n < small_n_cases; n++) {
        const struct mtlm_program_config config =
            small_case_config(&small_cases[n]);
        struct small_ranks ranks = small_ranks_create(&config);

        for (int r = 0; r < ranks.n; r++)
            for (int c = 0; c < config.layout.virtual_stages; c++)
                check_weight_nodes(&config, &ranks.program[r]->stage[c],
                                   &small_cases[n]);
        small_ranks_destroy(&ranks);
    }
}

static void test_every_gradient_is_added_to_once_per_part(void **state)
{
    (void) state;
    for (int n = 0; n < small_n_cases; n++) {
        const struct mtlm_program_config config =
            small_case_config(&small_cases[n]);
        struct small_ranks ranks = small_ranks_create(&config);

        for (int r = 0; r < ranks.n; r++)
            for (int i = 0; i < ranks.program[r]->n_params; i++) {
                const struct mtlm_items *train = &ranks.program[r]->train;
                int written = 0;

                for (int j = 0; j < train->n; j++)
                    if (train->item[j].microbatch >= 0)
                        written +=
                            count_writes(train->item[j].node,
                                         ranks.program[r]->param[i].grad);
                assert_int_equal(written, config.microbatches
                                              * small_parts(&small_cases[n]));
            }
        small_ranks_destroy(&ranks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_in_program_order_all_is_written_before_it_is_read),
        cmocka_unit_test(
            test_in_the_order_that_arises_each_finds_its_microbatch),
        cmocka_unit_test(test_stages_arrive_at_one_forward_one_backward),
        cmocka_unit_test(test_gradients_of_weights_stand_apart_layer_by_layer),
        cmocka_unit_test(test_every_gradient_is_added_to_once_per_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
