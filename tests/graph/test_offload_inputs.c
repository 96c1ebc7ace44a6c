/* Inputs of recomputed layers on a disk: the bits of a job in memory, one write
 * and one read of each input, and slots in place of inputs. */

#include "config.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/build/offload.h"
#include "graph/predict/plan.h"
#include "runtime/file/offload_file.h"
#include "tests/graph/interpreter.h"
#include "tests/graph/small.h"

enum { ITERATIONS = 3 };

/* A layout, a way to recompute, and what is offloaded. */
struct scene {
    int tp, pp, dp, virtual_stages, layers, microbatches;
    int parts, workers;
    enum mtlm_placement placement;
    struct mtlm_recompute recompute;
    struct mtlm_offload_amount amount;
};

#define UNIFORM(n)                                                             \
    {                                                                          \
        MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, n                         \
    }
#define BLOCK(n)                                                               \
    {                                                                          \
        MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_BLOCK, n                           \
    }

/* Layers are stages of their own; stages have several layers, some of them not
 * recomputed; groups are smaller than an iteration; neighbours share a rank;
 * other state is offloaded or stays. */
static const struct scene scenes[] = {
    {1, 1, 1, 4, 4, 6, 1, 1, 0, UNIFORM(1), {0, 0, 0, INT_MAX}},
    {1, 1, 1, 4, 4, 6, 1, 2, 0, UNIFORM(1), {INT_MAX, INT_MAX, 0, INT_MAX}},
    {1, 1, 1, 6, 6, 7, 2, 1, 0, UNIFORM(1), {INT_MAX, 2, 0, 4}},
    {1, 1, 1, 6, 6, 7, 1, 1, 0, UNIFORM(1), {0, 0, 3, INT_MAX}},
    {1, 1, 1, 6, 6, 5, 1, 1, 0, UNIFORM(1), {INT_MAX, INT_MAX, 1, INT_MAX}},
    {1, 1, 1, 1, 8, 5, 1, 1, 0, UNIFORM(1), {2, 2, 0, INT_MAX}},
    {1, 1, 1, 2, 8, 5, 2, 1, 0, UNIFORM(1), {0, 0, 0, 5}},
    {1, 1, 1, 2, 8, 5, 1, 1, 0, UNIFORM(2), {0, 0, 0, INT_MAX}},
    {1, 1, 1, 2, 8, 6, 1, 1, 0, BLOCK(3), {0, 0, 0, INT_MAX}},
    {1, 2, 1, 4, 8, 6, 1, 1, 0, UNIFORM(1), {INT_MAX, INT_MAX, 0, INT_MAX}},
    {1, 2, 1, 4, 8, 6, 1, 1, 0, UNIFORM(1), {0, 0, 3, INT_MAX}},
    {1, 3, 1, 2, 7, 8, 1, 1, 0, UNIFORM(1), {0, INT_MAX, 0, INT_MAX}},
    {1, 2, 1, 2, 8, 6, 1, 1, MTLM_PLACEMENT_V, UNIFORM(1), {0, 0, 0, 3}},
    {2, 1, 1, 4, 4, 6, 1, 1, 0, UNIFORM(1), {INT_MAX, INT_MAX, 0, INT_MAX}},
    {1, 1, 2, 4, 4, 6, 1, 1, 0, UNIFORM(1), {INT_MAX, INT_MAX, 0, INT_MAX}},
};
enum { SCENES = sizeof(scenes) / sizeof(scenes[0]) };

static struct mtlm_program_config config_of(const struct scene *scene)
{
    struct mtlm_program_config config =
        small_config(scene->tp, scene->pp, scene->microbatches);

    config.model.num_layers = scene->layers;
    config.layout.virtual_stages = scene->virtual_stages;
    config.layout.placement = scene->placement;
    config.layout.dp = scene->dp;
    config.layout.workers = scene->workers;
    config.sequence_parallel = scene->tp > 1;
    config.distributed_optimizer = scene->dp > 1;
    config.row_parts = scene->parts;
    config.recompute = scene->recompute;
    return config;
}

static void set_amount(struct mtlm_program_config *config,
                       const struct mtlm_offload_amount *amount)
{
    config->offload = MTLM_OFFLOAD_ALL;
    config->offload_amount = *amount;
}

/* ---- bits ---- */

/* The items of a kind that move inputs. */
static int count_moves(const struct mtlm_program *program,
                       enum mtlm_op_kind kind)
{
    int n = 0;

    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_node *node = program->train.item[i].node;

        n += node->call.kind == kind
             && node->operand[0]->storage == MTLM_STORE_ACTIVATION;
    }
    return n;
}

static void compare_weights(struct interpreter *memory,
                            struct interpreter *disk, int rank)
{
    const struct mtlm_program *a = interpreter_program(memory, rank);
    const struct mtlm_program *b = interpreter_program(disk, rank);

    assert_true(count_moves(b, MTLM_OP_LOAD) > 0);
    for (int i = 0; i < a->n_params; i++) {
        struct mtlm_tensor *x = a->param[i].weight, *y = b->param[i].weight;

        assert_memory_equal(interpreter_data(memory, rank, x),
                            y->piece >= 0 ? interpreter_on_disk(disk, rank, y)
                                          : interpreter_data(disk, rank, y),
                            mtlm_tensor_bytes(x));
    }
}

static void compare(struct mtlm_program_config config,
                    const struct mtlm_offload_amount *amount)
{
    struct interpreter *memory = interpreter_train(&config, ITERATIONS), *disk;

    set_amount(&config, amount);
    disk = interpreter_train(&config, ITERATIONS);
    for (int r = 0; r < mtlm_layout_ranks(&config.layout); r++)
        compare_weights(memory, disk, r);
    interpreter_destroy(disk);
    interpreter_destroy(memory);
}

static void test_the_bits_are_those_of_memory(void **state)
{
    (void) state;
    for (int i = 0; i < SCENES; i++) {
        struct mtlm_program_config config = config_of(&scenes[i]);

        compare(config, &scenes[i].amount);
        config.value = MTLM_BF16;
        compare(config, &scenes[i].amount);
    }
}

/* Of every kind of model. */
static void test_models_have_their_bits(void **state)
{
    (void) state;
    for (int i = 0; i < small_n_models; i++) {
        const struct small_model *model = &small_models[i];
        struct mtlm_program_config config = small_model_config(model, 1, 1, 5);

        config.layout.virtual_stages = 4;
        config.recompute = scenes[0].recompute;
        compare(config, &scenes[0].amount);
    }
}

/* ---- bytes ---- */

/* Moves of an input of a microbatch in an iteration: a store before a load, at
 * most one each. */
static void check_moves(const struct mtlm_program *program)
{
    const int m = (int) program->config.microbatches;
    const int n = program->offloaded.n_units * m;
    bool *stored = mtlm_calloc(n, sizeof(*stored));
    bool *loaded = mtlm_calloc(n, sizeof(*loaded));

    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_item *item = &program->train.item[i];
        const struct mtlm_tensor *t = item->node->operand[0];
        const enum mtlm_op_kind kind = item->node->call.kind;
        int at;

        if ((kind != MTLM_OP_LOAD && kind != MTLM_OP_STORE)
            || t->storage != MTLM_STORE_ACTIVATION)
            continue;
        assert_in_range(item->microbatch, 0, m - 1);
        at = t->unit * m + item->microbatch;
        assert_false(kind == MTLM_OP_LOAD ? loaded[at] : stored[at]);
        assert_true(kind == MTLM_OP_STORE || stored[at]);
        *(kind == MTLM_OP_LOAD ? &loaded[at] : &stored[at]) = true;
    }
    assert_memory_equal(stored, loaded, n);
    free(stored);
    free(loaded);
}

static void test_an_input_is_written_and_read_once(void **state)
{
    (void) state;
    for (int i = 0; i < SCENES; i++) {
        struct mtlm_program_config config = config_of(&scenes[i]);
        struct small_ranks ranks;

        set_amount(&config, &scenes[i].amount);
        ranks = small_ranks_create(&config);
        for (int r = 0; r < ranks.n; r++)
            check_moves(ranks.program[r]);
        small_ranks_destroy(&ranks);
    }
}

static struct mtlm_plan plan_of(struct mtlm_program_config config,
                                const struct mtlm_offload_amount *amount)
{
    set_amount(&config, amount);
    return small_plan(&config);
}

/* L layers are stages of one rank, and m microbatches a group: m + 3 of their
 * L m inputs have a slot; the others are stored and loaded.  The file has room
 * for all. */
static void test_the_plan_counts_slots_and_traffic(void **state)
{
    enum { L = 6, M = 8 };
    static const struct scene scene = {1, 1, 1, L,          L,  M,
                                       1, 1, 0, UNIFORM(1), {0}};
    static const struct mtlm_offload_amount none = {INT_MAX, INT_MAX, 0, 0};
    static const struct mtlm_offload_amount all = {INT_MAX, INT_MAX, 0,
                                                   INT_MAX};
    const struct mtlm_program_config config = config_of(&scene);
    const double bytes = (double) config.model.seq_length * config.micro_batch
                         * config.model.hidden_size * sizeof(mtlm_real);
    const double padded = mtlm_offload_file_padded((int64_t) bytes);
    const double offloaded = L * M - (M + 3);
    const struct mtlm_plan memory = plan_of(config, &none);
    const struct mtlm_plan disk = plan_of(config, &all);

    (void) state;
    assert_true(disk.file_bytes - memory.file_bytes == L * M * padded);
    assert_true(disk.stored_bytes - memory.stored_bytes == offloaded * padded);
    assert_true(disk.loaded_bytes - memory.loaded_bytes == offloaded * padded);
    assert_true(memory.activation_bytes - disk.activation_bytes
                == offloaded * bytes);
}

/* Few microbatches: slots would take as much memory. */
static void test_few_inputs_stay(void **state)
{
    static const struct scene scene = {1, 1, 1, 2,          2,  1,
                                       1, 1, 0, UNIFORM(1), {0}};
    static const struct mtlm_offload_amount all = {INT_MAX, INT_MAX, 0,
                                                   INT_MAX};
    struct mtlm_program_config config = config_of(&scene);
    struct small_ranks ranks;

    (void) state;
    set_amount(&config, &all);
    ranks = small_ranks_create(&config);
    assert_int_equal(count_moves(ranks.program[0], MTLM_OP_LOAD), 0);
    for (int u = 0; u < ranks.program[0]->offloaded.n_units; u++)
        assert_int_equal(ranks.program[0]->offloaded.unit[u].microbatches, 0);
    small_ranks_destroy(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bits_are_those_of_memory),
        cmocka_unit_test(test_models_have_their_bits),
        cmocka_unit_test(test_an_input_is_written_and_read_once),
        cmocka_unit_test(test_the_plan_counts_slots_and_traffic),
        cmocka_unit_test(test_few_inputs_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
