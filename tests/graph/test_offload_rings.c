/* Rings of a job whose layers are offloaded: messages of a large group never
 * fill their slots for good, and a group takes few slots. */

#include "config.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/build/offload.h"
#include "graph/predict/evaluate_program.h"
#include "tests/graph/small.h"

/* Many microbatches go through many stages, and weights have few slots. */
struct scene {
    int pp, virtual_stages, layers, microbatches, group, workers;
    enum mtlm_placement placement;
};

static const struct scene scenes[] = {
    {1, 8, 8, 24, 0, 1, 0},
    {2, 8, 16, 80, 0, 1, 0},
    {3, 5, 15, 80, 50, 2, 0},
    {2, 2, 16, 40, 0, 1, MTLM_PLACEMENT_V},
};
enum { SCENES = sizeof(scenes) / sizeof(scenes[0]) };

static struct small_ranks create(const struct scene *scene)
{
    struct mtlm_program_config config =
        small_config(1, scene->pp, scene->microbatches);

    config.model.num_layers = scene->layers;
    config.layout.virtual_stages = scene->virtual_stages;
    config.layout.placement = scene->placement;
    config.layout.workers = scene->workers;
    config.eval_microbatches = scene->microbatches;
    config.recompute =
        (struct mtlm_recompute){MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 1};
    config.offload = MTLM_OFFLOAD_ALL;
    config.offload_amount = (struct mtlm_offload_amount){
        .gradients = INT_MAX, .weights = INT_MAX, .group = scene->group};
    return small_ranks_create(&config);
}

static double seconds(void *arg, const struct mtlm_program *program,
                      const struct mtlm_item *item, int iteration)
{
    (void) arg;
    (void) program;
    (void) iteration;
    return mtlm_ops[item->node->call.kind]->op_class == MTLM_CLASS_COMPUTE
               ? 1e-6
               : 0;
}

/* The evaluation asserts that all nodes end. */
static void evaluate(const struct small_ranks *ranks)
{
    const struct mtlm_evaluate_program job = {
        .program = (const struct mtlm_program *const *) ranks->program,
        .n = ranks->n,
        .iterations = 2,
        .seconds = seconds};
    struct mtlm_execution run = mtlm_evaluate_program(&job);

    assert_true(run.makespan_ns > 0);
    mtlm_execution_free(&run);
}

/* Validations in place of iterations. */
static void swap_items(const struct small_ranks *ranks)
{
    for (int r = 0; r < ranks->n; r++) {
        struct mtlm_program *program = ranks->program[r];
        const struct mtlm_items train = program->train;

        program->train = program->eval;
        program->eval = train;
    }
}

static void test_large_groups_make_no_deadlock(void **state)
{
    (void) state;
    for (int i = 0; i < SCENES; i++) {
        struct small_ranks ranks = create(&scenes[i]);

        evaluate(&ranks);
        swap_items(&ranks);
        evaluate(&ranks);
        small_ranks_destroy(&ranks);
    }
}

/* In the last stage B follows F at once: logits have few slots. */
static void test_logits_of_few_microbatches_stay(void **state)
{
    struct small_ranks ranks = create(&scenes[0]);
    const struct mtlm_graph *graph = ranks.program[0]->graph;
    int logits = 0;

    (void) state;
    for (int i = 0; i < graph->n_tensors; i++) {
        const struct mtlm_tensor *t = graph->tensor[i];

        if (t->storage != MTLM_STORE_ACTIVATION
            || t->first_use != MTLM_PHASE_FORWARD
            || t->last_use == MTLM_PHASE_FORWARD || t->shape.rank != 3
            || t->shape.dim[2] != 60) /* the padded vocabulary */
            continue;
        logits++;
        assert_in_range(mtlm_tensor_slot(t, 0).owner->slots, 1, 3);
    }
    assert_int_equal(logits, 1);
    small_ranks_destroy(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_groups_make_no_deadlock),
        cmocka_unit_test(test_logits_of_few_microbatches_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
