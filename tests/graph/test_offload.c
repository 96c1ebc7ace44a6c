/* State on a disk: the same bits as in memory, loads that wait for their slot
 * alone, and copies for checkpoints. */

#include "config.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/build/dependencies.h"
#include "graph/build/offload.h"
#include "graph/predict/plan.h"
#include "runtime/file/offload_file.h"
#include "tests/graph/small.h"
#include "tests/graph/weights.h"

enum { ITERATIONS = 4 };

/* Every layout with every way to step parameters. */
static const int layouts[][4] = {
    {1, 1, 1, 1}, {2, 1, 1, 1}, {1, 2, 2, 1}, {1, 1, 1, 2}, {2, 2, 1, 2}};
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]), WAYS = 6 };

static struct mtlm_program_config config_of(int layout, int way)
{
    const int *l = layouts[layout];
    struct mtlm_program_config config = small_config(l[0], l[1], 2);

    config.layout.virtual_stages = l[2];
    config.layout.dp = l[3];
    config.distributed_optimizer = way % 3 == 1;
    config.weight_staleness = way % 3 == 2;
    config.value = way / 3 ? MTLM_BF16 : MTLM_REAL;
    config.params_norm = true;
    config.save = MTLM_SAVE_ALL;
    config.bucket_size = 20000; /* several buckets */
    return config;
}

/* How much goes to the disk. */
struct amount {
    enum mtlm_offload offload;
    struct mtlm_offload_amount all;
};
static const struct amount nothing = {MTLM_OFFLOAD_NONE, {0}};
static const struct amount optimizer = {MTLM_OFFLOAD_OPTIMIZER, {0}};
static const struct amount amounts[] = {
    {MTLM_OFFLOAD_OPTIMIZER, {0}},
    {MTLM_OFFLOAD_ALL, {INT_MAX, 0, 0, 0}},
    {MTLM_OFFLOAD_ALL, {INT_MAX, INT_MAX, 1, 0}},
    {MTLM_OFFLOAD_ALL, {2, 3, 0, 0}}};
enum { AMOUNTS = sizeof(amounts) / sizeof(amounts[0]) };

static void set_amount(struct mtlm_program_config *config,
                       const struct amount *amount)
{
    config->offload = amount->offload;
    config->offload_amount = amount->all;
}

static struct interpreter *train(struct mtlm_program_config config,
                                 const struct amount *amount)
{
    set_amount(&config, amount);
    return interpreter_train(&config, ITERATIONS);
}

static void assert_same(struct interpreter *a, struct interpreter *b, int rank,
                        struct mtlm_tensor *x, struct mtlm_tensor *y)
{
    assert_memory_equal(interpreter_data(a, rank, x),
                        interpreter_data(b, rank, y), mtlm_tensor_bytes(x));
}

static void assert_on_disk(struct interpreter *memory, struct interpreter *disk,
                           int rank, struct mtlm_tensor *x,
                           const struct mtlm_tensor *y)
{
    assert_true(y->piece >= 0);
    assert_memory_equal(interpreter_data(memory, rank, x),
                        interpreter_on_disk(disk, rank, y),
                        mtlm_tensor_bytes(x));
}

/* y may live on the disk or in memory. */
static void compare_state(struct interpreter *memory, struct interpreter *disk,
                          int rank, struct mtlm_tensor *x,
                          struct mtlm_tensor *y)
{
    if (y->piece >= 0)
        assert_on_disk(memory, disk, rank, x, y);
    else
        assert_same(memory, disk, rank, x, y);
}

static void compare_rank(struct interpreter *memory, struct interpreter *disk,
                         int rank)
{
    const struct mtlm_program *a = interpreter_program(memory, rank);
    const struct mtlm_program *b = interpreter_program(disk, rank);

    assert_true(b->offloaded.n_units > MTLM_OFFLOAD_SLOTS);
    assert_int_equal(a->n_params, b->n_params);
    for (int i = 0; i < a->n_params; i++) {
        const struct mtlm_parameter *x = &a->param[i], *y = &b->param[i];

        compare_state(memory, disk, rank, x->weight, y->weight);
        if (x->grad && !x->grad_is_set) /* else nobody reads what is left */
            compare_state(memory, disk, rank, x->grad, y->grad);
        assert_int_equal(x->m != NULL, y->m != NULL);
        if (!x->m)
            continue;
        compare_state(memory, disk, rank, x->m, y->m);
        compare_state(memory, disk, rank, x->v, y->v);
        if (x->master)
            compare_state(memory, disk, rank, x->master, y->master);
        for (int s = 0; s < MTLM_SAVED_COUNT; s++) {
            assert_int_equal(x->saved[s] != NULL, y->saved[s] != NULL);
            if (x->saved[s] && mtlm_tensor_is_on_disk(y->saved[s]))
                assert_on_disk(memory, disk, rank, x->saved[s], y->saved[s]);
            else if (x->saved[s])
                assert_same(memory, disk, rank, x->saved[s], y->saved[s]);
        }
    }
    assert_same(memory, disk, rank, a->params_norm, b->params_norm);
    assert_same(memory, disk, rank, a->control, b->control);
}

/* Compares runs with a job in memory.  A checkpoint's copies are those of the
 * moment, whatever follows. */
static void compare_amounts(const struct mtlm_program_config *config)
{
    struct interpreter *memory = train(*config, &nothing);
    const int amounts_of = config->weight_staleness ? 1 : AMOUNTS;

    interpreter_save(memory, ITERATIONS - 1);
    for (int a = 0; a < amounts_of; a++) {
        struct interpreter *disk = train(*config, &amounts[a]);

        interpreter_save(disk, ITERATIONS - 1);
        for (int r = 0; r < mtlm_layout_ranks(&config->layout); r++)
            compare_rank(memory, disk, r);
        interpreter_destroy(disk);
    }
    interpreter_destroy(memory);
}

static void test_the_bits_are_those_of_memory(void **state)
{
    (void) state;
    for (int l = 0; l < LAYOUTS; l++)
        for (int way = 0; way < WAYS; way++) {
            const struct mtlm_program_config config = config_of(l, way);

            compare_amounts(&config);
        }
}

/* ---- gradients ---- */

/* Stops before the step, which clears gradients. */
static struct interpreter *sum_gradients(
    const struct mtlm_program_config *config, const struct amount *amount)
{
    struct interpreter *in = train(*config, amount);

    interpreter_iteration(in, ITERATIONS, true);
    return in;
}

/* Returns how many shards the rank has on the disk. */
static int compare_shards(struct interpreter *memory, struct interpreter *disk,
                          int rank)
{
    const struct mtlm_program *a = interpreter_program(memory, rank);
    const struct mtlm_program *b = interpreter_program(disk, rank);
    int n = 0;

    for (int i = 0; i < a->n_params; i++) {
        const struct mtlm_parameter *x = &a->param[i], *y = &b->param[i];

        assert_int_equal(x->reduced != NULL, y->reduced != NULL);
        if (!x->reduced)
            continue;
        assert_int_equal(y->reduced->piece >= 0, y->grad->piece >= 0);
        compare_state(memory, disk, rank, x->reduced, y->reduced);
        n += y->reduced->piece >= 0;
    }
    return n;
}

/* A shard is a view of gradients that lie on the disk; its slot in memory holds
 * other gradients by then. */
static void test_shards_of_gradients_are_on_the_disk(void **state)
{
    (void) state;
    for (int l = 0; l < LAYOUTS; l++) {
        const struct mtlm_program_config config = config_of(l, 1);
        struct interpreter *memory, *disk;

        if (config.layout.dp == 1)
            continue;
        memory = sum_gradients(&config, &nothing);
        disk = sum_gradients(&config, &amounts[1]);
        for (int r = 0; r < mtlm_layout_ranks(&config.layout); r++)
            assert_true(compare_shards(memory, disk, r) > 0);
        interpreter_destroy(disk);
        interpreter_destroy(memory);
    }
}

/* ---- order ---- */

static bool is_disk(const struct mtlm_node *node)
{
    return mtlm_ops[node->call.kind]->op_class == MTLM_CLASS_DISK;
}

/* Returns whether a node touches the memory of a unit's slot. */
static bool meet(const struct mtlm_node *node, const struct mtlm_unit *unit)
{
    for (int i = 0; i < mtlm_node_n_uses(node); i++) {
        const struct mtlm_tensor *t = mtlm_node_use(node, i).tensor;
        const int64_t size = unit->slot->shape.dim[0] * sizeof(mtlm_real);

        if (t == unit->slot
            || (t->view && t->block == unit->slot->block
                && t->offset >= unit->slot->offset
                && t->offset < unit->slot->offset + size))
            return true;
    }
    return false;
}

static const struct mtlm_unit *unit_of(const struct mtlm_program *program,
                                       const struct mtlm_node *node)
{
    const struct mtlm_offloaded *o = &program->offloaded;

    for (int u = 0; u < o->n_units && is_disk(node); u++)
        if (node->call.attr.disk.first == o->unit[u].piece
            || node->call.attr.disk.first == o->unit[u].saved_piece)
            return &o->unit[u];
    return NULL;
}

/* Submits the start, two iterations and a save.  All that touched the slot's
 * memory before precedes a load.  Loads of moments wait for loads and stores
 * only; those of weights and gradients, for the passes that used the slot. */
static void check_order(const struct mtlm_program *program)
{
    const bool alone = program->config.offload == MTLM_OFFLOAD_OPTIMIZER;
    const struct mtlm_items *lists[] = {&program->init, &program->train,
                                        &program->save, &program->train};
    struct mtlm_dependencies *d = mtlm_dependencies_create(program->graph);
    const struct mtlm_node **node;
    bool **before; /* [task][task]: comes before */
    int n = 0, capacity = 0, loads = 0;

    for (int l = 0; l < 4; l++)
        capacity += lists[l]->n;
    node = mtlm_calloc(capacity, sizeof(*node));
    before = mtlm_calloc(capacity, sizeof(*before));
    for (int l = 0; l < 4; l++)
        for (int i = 0; i < lists[l]->n; i++, n++) {
            const struct mtlm_item *item = &lists[l]->item[i];
            const struct mtlm_submission at = {
                item->microbatch < 0 ? l : l * 2 + item->microbatch, l,
                item->lane};
            const struct mtlm_predecessors p =
                mtlm_dependencies_add(d, item->node, &at, n);
            const struct mtlm_unit *unit = unit_of(program, item->node);

            node[n] = item->node;
            before[n] = mtlm_calloc(n + 1, sizeof(**before));
            for (int k = 0; k < p.n; k++) {
                before[n][p.task[k]] = true;
                for (int j = 0; j < p.task[k]; j++)
                    before[n][j] |= before[p.task[k]][j];
            }
            if (item->node->call.kind != MTLM_OP_LOAD)
                continue;
            loads++;
            assert_non_null(unit);
            for (int k = 0; k < p.n && alone; k++)
                assert_true(is_disk(node[p.task[k]]));
            for (int j = 0; j < n; j++)
                assert_true(before[n][j] || !meet(node[j], unit));
        }
    assert_true(loads >= 2 * program->offloaded.n_units);
    for (int i = 0; i < n; i++)
        free(before[i]);
    free(before);
    free(node);
    mtlm_dependencies_destroy(d);
}

static void check_orders(struct mtlm_program_config config)
{
    const int n = config.weight_staleness ? 1 : AMOUNTS;

    config.params_norm = false; /* its loads wait for sums */
    for (int a = 0; a < n; a++) {
        struct small_ranks ranks;

        set_amount(&config, &amounts[a]);
        ranks = small_ranks_create(&config);
        for (int r = 0; r < ranks.n; r++)
            check_order(ranks.program[r]);
        small_ranks_destroy(&ranks);
    }
}

static void test_loads_wait_for_their_slot(void **state)
{
    (void) state;
    for (int l = 0; l < LAYOUTS; l++)
        for (int way = 0; way < WAYS; way++)
            check_orders(config_of(l, way));
}

/* ---- validations ---- */

static double validate(struct mtlm_program_config config,
                       const struct amount *amount)
{
    struct interpreter *in = train(config, amount);
    const double loss = interpreter_validation(in);

    interpreter_destroy(in);
    return loss;
}

/* Recomputed layers, each a stage of its own, and validations of several
 * groups. */
static void test_validations_have_the_same_loss(void **state)
{
    static const struct amount grouped = {MTLM_OFFLOAD_ALL,
                                          {INT_MAX, INT_MAX, 2, 0}};
    struct mtlm_program_config config = small_config(1, 1, 5);
    double memory;

    (void) state;
    config.layout.virtual_stages = 2;
    config.layout.workers = 2;
    config.eval_microbatches = 7;
    config.recompute =
        (struct mtlm_recompute){MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 1};
    memory = validate(config, &nothing);
    assert_true(memory > 0);
    for (int a = 0; a < AMOUNTS; a++)
        assert_true(validate(config, &amounts[a]) == memory);
    assert_true(validate(config, &grouped) == memory);
}

/* ---- the plan ---- */

static struct mtlm_plan plan_of(struct mtlm_program_config config,
                                const struct amount *amount)
{
    set_amount(&config, amount);
    return small_plan(&config);
}

/* Returns the padded bytes of both moments of a parameter of one rank. */
static double moments_of(const struct mtlm_program_config *config,
                         int64_t number)
{
    const struct weight w = weight_number(config, number);

    return weight_exists(config, number)
               ? 2.0
                     * mtlm_offload_file_padded(w.info.rows * w.info.cols
                                                * sizeof(mtlm_real))
               : 0;
}

/* Returns what slots of the size of that parameter take, with all larger ones
 * in memory; *moved: the moments that are not in memory. */
static double memory_with(const struct mtlm_program_config *config,
                          int64_t largest, double *moved)
{
    const double slot = moments_of(config, largest);
    double bytes = MTLM_OFFLOAD_SLOTS * slot;

    *moved = 0;
    for (int64_t i = 0; i < mtlm_param_numbers(&config->model); i++)
        *(moments_of(config, i) > slot ? &bytes : moved) +=
            moments_of(config, i);
    return bytes;
}

/* Memory has slots, and larger parameters where this takes less; the disk moves
 * every other moment once each way. */
static void test_the_plan_counts_slots_and_traffic(void **state)
{
    struct mtlm_program_config config = small_config(1, 1, 2);
    double least = INFINITY, moved = 0;
    struct mtlm_plan memory, disk, saving;

    (void) state;
    for (int64_t i = 0; i < mtlm_param_numbers(&config.model); i++) {
        double offloaded, bytes;

        if (!weight_exists(&config, i))
            continue;
        bytes = memory_with(&config, i, &offloaded);
        if (bytes < least) {
            least = bytes;
            moved = offloaded;
        }
    }
    memory = plan_of(config, &nothing);
    disk = plan_of(config, &optimizer);
    assert_true(memory.file_bytes == 0 && memory.loaded_bytes == 0
                && memory.stored_bytes == 0);
    /* Blocks of the disk do not pad what stays in memory. */
    assert_true(disk.moment_bytes <= least);
    assert_true(disk.moment_bytes > least - 8.0 * MTLM_OFFLOAD_ALIGN);
    assert_true(disk.moment_bytes < memory.moment_bytes);
    assert_true(disk.loaded_bytes == moved);
    assert_true(disk.stored_bytes == moved);
    assert_true(disk.file_bytes == moved);
    assert_true(disk.weight_bytes == memory.weight_bytes);
    assert_true(disk.gradient_bytes == memory.gradient_bytes);
    config.save = MTLM_SAVE_ALL;
    saving = plan_of(config, &optimizer);
    assert_true(saving.file_bytes == 2 * disk.file_bytes);
    assert_true(saving.loaded_bytes == disk.loaded_bytes);
    config.eval_only = true;
    config.save = MTLM_SAVE_NOTHING;
    config.eval_microbatches = 2;
    disk = plan_of(config, &optimizer);
    assert_true(disk.file_bytes == 0 && disk.moment_bytes == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bits_are_those_of_memory),
        cmocka_unit_test(test_shards_of_gradients_are_on_the_disk),
        cmocka_unit_test(test_loads_wait_for_their_slot),
        cmocka_unit_test(test_validations_have_the_same_loss),
        cmocka_unit_test(test_the_plan_counts_slots_and_traffic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
