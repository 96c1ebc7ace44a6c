/* Packed weights: which nodes read them, when they are packed, where the rule
 * leaves weights alone; and that no bit of a training changes. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/pack.h"
#include "graph/build/packing.h"
#include "graph/build/program_build.h"
#include "tests/bf16_skip.h"
#include "tests/graph/interpreter.h"
#include "tests/graph/small.h"

/* Weights of multiples of 64, without padding once packed. */
static struct mtlm_program_config wide(int tp, int pp, int64_t microbatches)
{
    struct mtlm_program_config config = small_config(tp, pp, microbatches);

    config.model.hidden_size = 64;
    config.model.ffn_hidden_size = 256;
    config.model.vocab_multiple = 64;
    config.value = MTLM_BF16;
    config.packing = MTLM_PACKING_YES;
    return config;
}

/* Returns the number of pack nodes of a config's first rank. */
static int count_packs(const struct mtlm_program_config *config)
{
    struct small_ranks ranks = small_ranks_create(config);
    const int n = small_count(&ranks.program[0]->train, MTLM_OP_PACK);

    assert_int_equal(n > 0, mtlm_packing_is_used(ranks.program[0]));
    small_ranks_destroy(&ranks);
    return n;
}

/* A pack node before its readers; what it writes, by tensor number. */
static void check_items(const struct mtlm_program *program)
{
    const struct mtlm_node *writer[4096] = {0};
    int readers = 0;

    assert_true(program->graph->n_tensors <= 4096);
    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_node *node = program->train.item[i].node;
        const enum mtlm_pack reads = mtlm_pack_reads(node->call.kind);
        const struct mtlm_node *pack;

        if (node->call.kind == MTLM_OP_PACK) {
            assert_int_equal(program->train.item[i].microbatch, -1);
            assert_null(writer[node->operand[PACK_PACKED]->id]);
            writer[node->operand[PACK_PACKED]->id] = node;
            assert_null(writer[node->operand[PACK_WEIGHT]->id]);
            continue;
        }
        for (int k = 0; k < mtlm_node_n_uses(node); k++)
            if (k != PACK_READER_WEIGHT || !reads)
                assert_null(writer[mtlm_node_use(node, k).tensor->id]);
        if (!reads)
            continue;
        pack = writer[node->operand[PACK_READER_WEIGHT]->id];
        assert_non_null(pack);
        assert_true(node->call.packed);
        assert_int_equal(pack->call.attr.pack.gradient,
                         reads == MTLM_PACK_GRADIENT);
        readers++;
    }
    assert_true(readers > 0);
}

/* Each product of a training reads a packed weight of its kind, which is
 * packed once before; nothing else does. */
static void test_products_read_packed_weights(void **state)
{
    struct mtlm_program_config config = wide(1, 2, 3);
    struct small_ranks ranks;

    (void) state;
    need_bf16_instructions();
    config.layout.virtual_stages = 2;
    ranks = small_ranks_create(&config);
    for (int r = 0; r < ranks.n; r++)
        check_items(ranks.program[r]);
    /* Four weights of two layers, twice; the output layer on the last rank. */
    assert_int_equal(small_count(&ranks.program[0]->train, MTLM_OP_PACK), 16);
    assert_int_equal(small_count(&ranks.program[1]->train, MTLM_OP_PACK), 18);
    small_ranks_destroy(&ranks);
}

/* A validation, the first initialisation and a checkpoint know nothing. */
static void test_other_items_read_plain_weights(void **state)
{
    struct mtlm_program_config config = wide(1, 1, 2);
    struct small_ranks ranks;

    (void) state;
    need_bf16_instructions();
    config.save = MTLM_SAVE_ALL;
    ranks = small_ranks_create(&config);
    for (int i = 0; i < ranks.program[0]->eval.n; i++)
        assert_false(ranks.program[0]->eval.item[i].node->call.packed);
    assert_int_equal(small_count(&ranks.program[0]->init, MTLM_OP_PACK), 0);
    assert_int_equal(small_count(&ranks.program[0]->save, MTLM_OP_PACK), 0);
    small_ranks_destroy(&ranks);
}

enum { WEIGHTS = 17 }; /* 4 layers of 4 weights, and the output layer */

/* Samples of `length` tokens; auto packs that many times. */
static void check_auto(int64_t length, int64_t microbatches, int row_parts,
                       int packs)
{
    struct mtlm_program_config config = wide(1, 1, microbatches);

    config.micro_batch = 1;
    config.model.seq_length = config.model.max_positions = length;
    config.row_parts = row_parts;
    assert_int_equal(count_packs(&config), 2 * WEIGHTS);
    config.packing = MTLM_PACKING_AUTO;
    assert_int_equal(count_packs(&config), packs);
    config.packing = MTLM_PACKING_NO;
    assert_int_equal(count_packs(&config), 0);
}

/* Weights are packed where their readers have rows enough. */
static void test_auto_counts_rows(void **state)
{
    (void) state;
    need_bf16_instructions();
    if (mtlm_bf16_product_by_amx()) {
        check_auto(128, 3, 1, 0);
        check_auto(128, 4, 1, WEIGHTS);
        check_auto(512, 5, 1, WEIGHTS);
        check_auto(512, 6, 1, 2 * WEIGHTS);
    } else {
        check_auto(64, 3, 1, 0);
        check_auto(64, 4, 1, WEIGHTS);
        check_auto(512, 2, 1, WEIGHTS);
        check_auto(512, 3, 1, 2 * WEIGHTS);
    }
    /* One reader never gains; parts of a sample are readers, too. */
    check_auto(3072, 1, 1, 0);
    check_auto(3072, 1, 2, 2 * WEIGHTS);
}

static void test_hindrances(void **state)
{
    struct mtlm_program_config config = wide(1, 1, 16);

    (void) state;
    config.value = MTLM_REAL;
    assert_non_null(mtlm_packing_hindrance(&config));
    assert_int_equal(count_packs(&config), 0);
    config = wide(1, 1, 16);
    config.weight_staleness = 1;
    assert_non_null(mtlm_packing_hindrance(&config));
    assert_int_equal(count_packs(&config), 0);
    config = wide(1, 1, 16);
    config.offload = MTLM_OFFLOAD_OPTIMIZER;
    assert_non_null(mtlm_packing_hindrance(&config));
    assert_int_equal(count_packs(&config), 0);
    config = wide(1, 1, 16);
    config.model.hidden_size = 48; /* packed weights would have padding */
    config.model.ffn_hidden_size = 192;
    assert_int_equal(mtlm_packing_hindrance(&config) == NULL,
                     mtlm_bf16_product_here());
    config.model.num_layers = 1;
    assert_true(count_packs(&config) < 10);
}

enum { ITERATIONS = 3 };

/* Iterations with packed weights and with plain ones. */
static void check_bits(struct mtlm_program_config config)
{
    struct interpreter *packed, *plain;
    const int ranks = mtlm_layout_ranks(&config.layout);

    assert_true(count_packs(&config) > 0);
    packed = interpreter_train(&config, ITERATIONS);
    config.packing = MTLM_PACKING_NO;
    plain = interpreter_train(&config, ITERATIONS);
    for (int r = 0; r < ranks; r++) {
        const struct mtlm_program *a = interpreter_program(packed, r);
        const struct mtlm_program *b = interpreter_program(plain, r);

        for (int i = 0; i < a->n_params; i++)
            assert_memory_equal(interpreter_data(packed, r, a->param[i].weight),
                                interpreter_data(plain, r, b->param[i].weight),
                                (size_t) mtlm_tensor_bytes(a->param[i].weight));
    }
    interpreter_destroy(packed);
    interpreter_destroy(plain);
}

static void test_no_bit_changes(void **state)
{
    struct mtlm_program_config config;

    (void) state;
    need_bf16_instructions();
    check_bits(wide(1, 1, 2));
    check_bits(wide(2, 2, 2));
    config = wide(1, 2, 2);
    config.row_parts = 3;
    config.layout.dp = 2;
    config.distributed_optimizer = true;
    check_bits(config);
    config = wide(2, 1, 2);
    config.sequence_parallel = true;
    config.recompute.granularity = MTLM_RECOMPUTE_FULL;
    config.recompute.num_layers = 1;
    check_bits(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_read_packed_weights),
        cmocka_unit_test(test_other_items_read_plain_weights),
        cmocka_unit_test(test_auto_counts_rows),
        cmocka_unit_test(test_hindrances),
        cmocka_unit_test(test_no_bit_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
