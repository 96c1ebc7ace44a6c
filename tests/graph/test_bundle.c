/* How the optimizer's calls share nodes. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codelets/adam.h"
#include "codelets/status.h"
#include "graph/build/bundle.h"
#include "graph/build/optimizer.h"
#include "graph/build/program_build.h"
#include "tests/graph/small.h"

static int64_t elems(const struct mtlm_tensor *tensor)
{
    return mtlm_shape_elems(&tensor->shape);
}

/* The tensors of a node's calls, one call after the other, as kernels find
 * their data. */
static void tensors_of(const struct mtlm_node *node,
                       const struct mtlm_tensor *tensor[])
{
    void *operand[MTLM_MAX_POINTERS], *spread[MTLM_MAX_POINTERS];
    const int n = mtlm_ops[node->call.kind]->n_operands;
    int calls = 0;

    for (const struct mtlm_call *c = &node->call; c; c = c->next)
        calls++;
    assert_true(calls <= MTLM_MAX_CALLS);
    assert_int_equal(mtlm_node_n_uses(node), mtlm_call_n_operands(&node->call));
    for (int i = 0; i < mtlm_node_n_uses(node); i++)
        operand[i] = mtlm_node_use(node, i).tensor;
    mtlm_call_spread(&node->call, operand, spread);
    for (int i = 0; i < calls * n; i++)
        tensor[i] = spread[i];
}

/* Returns the number of the parameter that has moments and is stepped by this
 * gradient. */
static int find_param(const struct mtlm_program *program,
                      const struct mtlm_tensor *reduced)
{
    for (int i = 0; i < program->n_params; i++)
        if (program->param[i].m
            && mtlm_program_summed(program, &program->param[i])->reduced
                   == reduced)
            return i;
    fail();
    return -1;
}

static void check_step(const struct mtlm_program *program,
                       const struct mtlm_call *call,
                       const struct mtlm_tensor *const tensor[], int *stepped)
{
    const int i = find_param(program, tensor[ADAM_G]);
    const struct mtlm_parameter *p = &program->param[i];
    const bool masters = call->kind == MTLM_OP_ADAM_MASTER;

    stepped[i]++;
    assert_ptr_equal(tensor[ADAM_CONTROL], program->control);
    assert_ptr_equal(tensor[ADAM_M], p->m);
    assert_ptr_equal(tensor[ADAM_V], p->v);
    assert_ptr_equal(tensor[masters ? ADAMM_MASTER : ADAM_WEIGHT],
                     masters ? p->master : p->weight);
    if (masters)
        assert_ptr_equal(tensor[ADAMM_WEIGHT], p->weight);
    assert_int_equal(call->attr.adam.decay, p->info.decay);
    assert_int_equal(call->attr.adam.first, p->first);
    assert_int_equal(call->attr.adam.keeps_g,
                     mtlm_program_summed(program, p)->grad_is_set);
    assert_int_equal(call->value, program->config.value);
}

static void check_sum(const struct mtlm_program *program,
                      const struct mtlm_call *call,
                      const struct mtlm_tensor *const tensor[], int *summed,
                      int *written)
{
    const int64_t slot = call->attr.status.slot;

    assert_ptr_equal(tensor[SQ_STATUS], program->status);
    assert_true(slot >= 0
                && slot < mtlm_optimizer_status_sums(&program->config));
    summed[find_param(program, tensor[SQ_G])]++;
    written[slot]++;
}

/* Every parameter's own tensors and attributes, and a slot for its sum. */
static void check_calls(const struct mtlm_program *program)
{
    int *stepped = mtlm_calloc(program->n_params, sizeof(*stepped));
    int *summed = mtlm_calloc(program->n_params, sizeof(*summed));
    const int64_t slots = mtlm_optimizer_status_sums(&program->config);
    int *written = mtlm_calloc(slots, sizeof(*written));

    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_node *node = program->train.item[i].node;
        const enum mtlm_op_kind kind = node->call.kind;
        const struct mtlm_tensor *tensor[MTLM_MAX_POINTERS], **of = tensor;

        if (kind != MTLM_OP_ADAM && kind != MTLM_OP_ADAM_MASTER
            && kind != MTLM_OP_SQUARE_SUM)
            continue;
        tensors_of(node, tensor);
        for (const struct mtlm_call *c = &node->call; c; c = c->next) {
            if (kind == MTLM_OP_SQUARE_SUM)
                check_sum(program, c, of, summed, written);
            else
                check_step(program, c, of, stepped);
            of += mtlm_ops[kind]->n_operands;
        }
    }
    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *p = &program->param[i];

        assert_int_equal(stepped[i], p->m != NULL);
        assert_int_equal(summed[i], p->counted && p->reduced != NULL);
    }
    for (int i = 0; i < slots; i++)
        assert_in_range(written[i], 0, 1);
    free(stepped), free(summed), free(written);
}

static void test_every_parameter_is_stepped_and_counted_once(void **state)
{
    static const struct {
        int tp, pp, dp;
        int64_t bucket_size;
    } ways[] = {{1, 1, 1, 0}, {2, 2, 1, 1}, {1, 2, 3, 0}, {1, 1, 2, 20000}};

    (void) state;
    for (int m = 0; m < small_n_models; m++)
        for (size_t w = 0; w < sizeof(ways) / sizeof(*ways); w++)
            for (int value = 0; value < 2; value++) {
                struct mtlm_program_config config = small_model_config(
                    &small_models[m], ways[w].tp, ways[w].pp, 2);
                struct small_ranks ranks;

                config.layout.dp = ways[w].dp;
                config.bucket_size = ways[w].bucket_size;
                config.distributed_optimizer = true;
                config.value = value ? MTLM_BF16 : MTLM_REAL;
                ranks = small_ranks_create(&config);
                for (int r = 0; r < ranks.n; r++)
                    check_calls(ranks.program[r]);
                small_ranks_destroy(&ranks);
            }
}

static struct mtlm_program *gpt2_124m(void)
{
    struct mtlm_program_config config = small_config(1, 1, 1);

    config.model.num_layers = 12;
    config.model.num_heads = 12;
    config.model.hidden_size = 768;
    config.model.ffn_hidden_size = 3072;
    config.model.seq_length = config.model.max_positions = 1024;
    config.model.vocab_size = 50257;
    return mtlm_program_build(&config);
}

/* A node takes no further call once it has enough, and few have not. */
static int count_nodes(const struct mtlm_program *program,
                       enum mtlm_op_kind kind, int *calls)
{
    int n = 0, small = 0;

    *calls = 0;
    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_node *node = program->train.item[i].node;
        int64_t all = 0, last = 0;

        if (node->call.kind != kind)
            continue;
        for (const struct mtlm_call *c = &node->call; c; c = c->next) {
            last = mtlm_shape_elems(&c->shape[0]);
            all += last;
            ++*calls;
        }
        assert_true(all - last < program->bundle_elems);
        small += all < program->bundle_elems;
        n++;
    }
    assert_true(small <= program->n_buckets);
    return n;
}

/* GPT-2 has 12 x 12 + 4 parameters. */
static void test_a_large_model_has_few_nodes_of_many_calls(void **state)
{
    struct mtlm_program *program = gpt2_124m();
    int calls;

    (void) state;
    assert_in_range(count_nodes(program, MTLM_OP_ADAM, &calls), 16, 24);
    assert_int_equal(calls, 148);
    assert_in_range(count_nodes(program, MTLM_OP_SQUARE_SUM, &calls), 16, 24);
    assert_int_equal(calls, 148);
    mtlm_program_destroy(program);
}

/* So that several workers share them. */
static void test_a_small_model_has_more_than_one(void **state)
{
    const struct mtlm_program_config config = small_config(1, 1, 1);
    struct mtlm_program *program = mtlm_program_build(&config);
    int64_t sum = 0;
    int calls;

    (void) state;
    for (int i = 0; i < program->n_params; i++)
        sum += program->param[i].m ? elems(program->param[i].m) : 0;
    assert_int_equal(program->bundle_elems, sum / 16);
    assert_in_range(count_nodes(program, MTLM_OP_ADAM, &calls), 10,
                    16 + program->n_buckets);
    assert_int_equal(calls, 4 * 12 + 4);
    mtlm_program_destroy(program);
}

/* The sums over a node's calls; what they share is read once.  Nobody writes
 * gradients that the next iteration sets. */
static void test_a_node_costs_what_its_calls_do(void **state)
{
    struct mtlm_program *program = gpt2_124m();
    double flops = 0, bytes = 0, params = 0, kept = 0;
    int nodes = 0;

    (void) state;
    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *p = &program->param[i];

        params += p->m ? elems(p->m) : 0;
        kept += p->m && mtlm_program_summed(program, p)->grad_is_set
                    ? elems(p->m)
                    : 0;
    }
    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_node *node = program->train.item[i].node;

        if (node->call.kind != MTLM_OP_ADAM)
            continue;
        flops += node->flops;
        bytes += node->bytes;
        nodes++;
    }
    assert_true(flops == 14 * params);
    assert_true(bytes
                == (4 * 2 * params - kept) * sizeof(mtlm_real)
                       + nodes * MTLM_CONTROL_COUNT * sizeof(double));
    mtlm_program_destroy(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_parameter_is_stepped_and_counted_once),
        cmocka_unit_test(test_a_large_model_has_few_nodes_of_many_calls),
        cmocka_unit_test(test_a_small_model_has_more_than_one),
        cmocka_unit_test(test_a_node_costs_what_its_calls_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
