/* Gradients of weights of all row parts in one node: where parts are joined,
 * and that no bit depends on it. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/linear.h"
#include "tests/graph/interpreter.h"
#include "tests/graph/small.h"

enum { PARTS = 3, ITERATIONS = 3 };

static struct mtlm_program_config cut(int tp, int pp)
{
    struct mtlm_program_config config = small_config(tp, pp, 2);

    config.row_parts = PARTS;
    return config;
}

static int count_calls(const struct mtlm_node *node)
{
    int n = 0;

    for (const struct mtlm_call *call = &node->call; call; call = call->next)
        n++;
    return n;
}

/* Asserts that each gradient of a layer's matrix has so many nodes, with a call
 * of each part together. */
static void check_nodes(const struct mtlm_program_config *config, int nodes)
{
    struct small_ranks ranks = small_ranks_create(config);
    const struct mtlm_graph *graph = ranks.program[0]->graph;
    int n = 0, calls = 0;

    for (int i = 0; i < graph->all.n; i++) {
        const struct mtlm_node *node = graph->all.node[i];

        if ((node->call.kind != MTLM_OP_LINEAR_WGRAD
             && node->call.kind != MTLM_OP_LINEAR_BIAS_WGRAD)
            || node->layer != 0)
            continue;
        n++;
        calls += count_calls(node);
    }
    assert_int_equal(n, 4 * nodes);
    assert_int_equal(calls, 4 * PARTS);
    small_ranks_destroy(&ranks);
}

static void test_ranks_that_never_wait_join_parts(void **state)
{
    struct mtlm_program_config config = cut(1, 1);

    (void) state;
    check_nodes(&config, 1);
    config.layout.dp = 2;
    check_nodes(&config, 1);
    config = cut(1, 2);
    check_nodes(&config, PARTS);
    config = cut(2, 1);
    check_nodes(&config, PARTS);
    /* Recomputed tensors live until B of their layer. */
    config = cut(1, 1);
    config.recompute.granularity = MTLM_RECOMPUTE_FULL;
    config.recompute.num_layers = 1;
    check_nodes(&config, PARTS);
}

/* Asserts that rank 0 of both has the same moment of p, which the gradients'
 * last bits change. */
static void check_moment(struct interpreter *in, struct interpreter *other,
                         const struct mtlm_parameter *p)
{
    const struct mtlm_program *program = interpreter_program(in, 0);
    int found = 0;

    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *q = &program->param[i];

        if (!q->m || strcmp(q->weight->name, p->weight->name) != 0)
            continue;
        assert_memory_equal(interpreter_data(in, 0, q->m),
                            interpreter_data(other, 0, p->m),
                            (size_t) mtlm_tensor_bytes(p->m));
        found++;
    }
    assert_int_equal(found, 1);
}

/* One stage joins parts, two stages do not. */
static void check_bits(enum mtlm_dtype value)
{
    struct mtlm_program_config one = cut(1, 1), two = cut(1, 2);
    struct interpreter *joined, *apart;
    const struct mtlm_program *program;

    one.value = two.value = value;
    joined = interpreter_train(&one, ITERATIONS);
    apart = interpreter_train(&two, ITERATIONS);
    program = interpreter_program(apart, 0);
    for (int i = 0; i < program->n_params; i++)
        check_moment(joined, apart, &program->param[i]);
    interpreter_destroy(joined);
    interpreter_destroy(apart);
}

static void test_no_bit_changes(void **state)
{
    (void) state;
    check_bits(MTLM_REAL);
    check_bits(MTLM_BF16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_that_never_wait_join_parts),
        cmocka_unit_test(test_no_bit_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
