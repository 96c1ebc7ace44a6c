/* Two versions of the weights: no pass waits for the optimizer of the iteration
 * before, the pipeline has no bubble, and the memory of weights and gradients
 * doubles. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/build/dependencies.h"
#include "graph/predict/evaluate_program.h"
#include "tests/graph/small.h"

/* ---- what waits for what ---- */

/* The tasks of three iterations on one rank: whether each needs, along all
 * dependencies, a node of the optimizer of the iteration before or of the one
 * before that. */
struct needs {
    bool one, two;
    int iteration;
    bool optimizer;
};

static void check_waits(const struct mtlm_program *program)
{
    const struct mtlm_items *items = &program->train;
    const int n = 3 * items->n, stale = program->config.weight_staleness;
    struct mtlm_dependencies *d = mtlm_dependencies_create(program->graph);
    struct needs *task = mtlm_calloc(n, sizeof(*task));
    int waits = 0;

    for (int i = 0; i < n; i++) {
        const struct mtlm_item *item = &items->item[i % items->n];
        const int e = i / items->n, m = (int) program->config.microbatches;
        const struct mtlm_submission at = {
            item->microbatch < 0 ? e : e * m + item->microbatch, e, item->lane};
        const struct mtlm_predecessors before =
            mtlm_dependencies_add(d, item->node, &at, i);

        task[i] = (struct needs){.iteration = e,
                                 .optimizer =
                                     item->node->phase == MTLM_PHASE_OPTIMIZER};
        for (int k = 0; k < before.n; k++) {
            const struct needs *p = &task[before.task[k]];
            const int ago = e - p->iteration;

            task[i].one |= (p->optimizer && ago == 1) || (p->one && ago == 0);
            task[i].two |= (p->optimizer && ago == 2) || (p->two && ago == 0)
                           || (p->one && ago == 1);
        }
        if (e < 2 || task[i].optimizer)
            continue;
        assert_true(!stale || !task[i].one);
        waits += stale ? task[i].two : task[i].one;
    }
    assert_true(waits > items->n / 2);
    mtlm_dependencies_destroy(d);
    free(task);
}

static void test_passes_wait_for_the_step_before_the_last_one(void **state)
{
    (void) state;
    for (int stale = 0; stale < 2; stale++)
        for (int c = 0; c < 6; c++) {
            const bool replicas = c == 2 || c > 3;
            struct mtlm_program_config config =
                small_config(1 + (c == 1), 1 + (c > 0), 4);
            struct small_ranks ranks;

            config.layout.dp = 1 + replicas;
            config.weight_staleness = stale;
            config.distributed_optimizer = c > 3;
            config.value = c == 3 || c == 5 ? MTLM_BF16 : MTLM_REAL;
            ranks = small_ranks_create(&config);
            for (int r = 0; r < ranks.n; r++)
                check_waits(ranks.program[r]);
            small_ranks_destroy(&ranks);
        }
}

/* ---- the bubble ---- */

static int count_tasks(const struct mtlm_list *list, enum mtlm_phase phase)
{
    int n = 0;

    for (int i = 0; i < list->n; i++)
        n += list->node[i]->phase == phase
             && mtlm_ops[list->node[i]->call.kind]->op_class
                    == MTLM_CLASS_COMPUTE;
    return n;
}

/* F, B and W of a stage take a second each. */
static double seconds(void *arg, const struct mtlm_program *program,
                      const struct mtlm_item *item, int iteration)
{
    const enum mtlm_phase phase = item->node->phase;
    const struct mtlm_stage *stage = &program->stage[mtlm_layout_chunk(
        &program->config.layout, item->node->stage)];

    (void) arg;
    (void) iteration;
    if (item->microbatch < 0
        || mtlm_ops[item->node->call.kind]->op_class != MTLM_CLASS_COMPUTE)
        return 0;
    return 1.0
           / (count_tasks(&stage->forward, phase)
              + count_tasks(&stage->backward, phase)
              + count_tasks(&stage->weight, phase));
}

/* Returns the idle share of rank 0 from the end of iteration 3 to that of
 * iteration 7, of 9 iterations. */
static double bubble_of(const struct mtlm_program_config *config)
{
    struct small_ranks ranks = small_ranks_create(config);
    const struct mtlm_evaluate_program job = {
        .program = (const struct mtlm_program *const *) ranks.program,
        .n = ranks.n,
        .iterations = 9,
        .seconds = seconds};
    struct mtlm_execution run = mtlm_evaluate_program(&job);
    int64_t end[9] = {0};

    for (int i = 0; i < run.n; i++)
        if (run.node[i].program == 0
            && run.node[i].node->phase == MTLM_PHASE_OPTIMIZER
            && run.node[i].end_ns > end[run.node[i].iteration])
            end[run.node[i].iteration] = run.node[i].end_ns;
    mtlm_execution_free(&run);
    small_ranks_destroy(&ranks);
    return 1 - 4 * 3e9 * config->microbatches / (end[7] - end[3]);
}

static void test_the_steady_state_has_no_bubble(void **state)
{
    static const char *const schedules[] = {"window", "1f1b", "zb-h1"};

    (void) state;
    for (int s = 0; s < 3; s++)
        for (int stale = 0; stale < 2; stale++) {
            struct mtlm_program_config config = small_config(1, 4, 8);
            double bubble;

            config.schedule = small_schedule(schedules[s]);
            config.weight_staleness = stale;
            bubble = bubble_of(&config);
            print_message("# %s, staleness %d: bubble %.2f %%\n", schedules[s],
                          stale, 100 * bubble);
            assert_true(stale ? bubble < 0.01 : bubble > 0.1);
        }
}

/* ---- memory ---- */

static double bytes_of(const struct mtlm_program *program,
                       enum mtlm_storage storage)
{
    double bytes = 0;

    for (int i = 0; i < program->graph->n_tensors; i++) {
        const struct mtlm_tensor *t = program->graph->tensor[i];

        if (t->storage == storage && mtlm_tensor_is_owner(t))
            bytes += t->slots * mtlm_tensor_bytes(t);
    }
    return bytes;
}

/* Versions lie behind each other, so that a message carries one of them. */
static void check_places(const struct mtlm_program *program)
{
    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *p = &program->param[i];
        const struct mtlm_tensor *const t[] = {p->weight, p->grad, p->reduced};

        for (int k = 0; k < 3; k++) {
            if (!t[k] || t[k]->alias_of)
                continue;
            assert_int_equal(t[k]->slots, 2);
            assert_true(t[k]->stride
                        >= t[k]->offset + (int64_t) mtlm_tensor_bytes(t[k]));
            assert_true(program->graph->block[t[k]->block]
                        == 2 * (size_t) t[k]->stride);
        }
    }
}

static void check_memory(bool sharded)
{
    struct mtlm_program_config config = small_config(2, 2, 2);
    struct small_ranks one, two;

    config.layout.dp = 2;
    config.distributed_optimizer = sharded;
    one = small_ranks_create(&config);
    config.weight_staleness = 1;
    two = small_ranks_create(&config);
    for (int r = 0; r < one.n; r++) {
        const struct mtlm_program *a = one.program[r], *b = two.program[r];

        assert_true(bytes_of(b, MTLM_STORE_PARAM)
                    == 2 * bytes_of(a, MTLM_STORE_PARAM));
        assert_true(bytes_of(b, MTLM_STORE_GRAD)
                    == 2 * bytes_of(a, MTLM_STORE_GRAD));
        assert_true(bytes_of(b, MTLM_STORE_MOMENT)
                    == bytes_of(a, MTLM_STORE_MOMENT));
        assert_true(bytes_of(b, MTLM_STORE_ACTIVATION)
                    == bytes_of(a, MTLM_STORE_ACTIVATION));
        check_places(b);
    }
    small_ranks_destroy(&one);
    small_ranks_destroy(&two);
}

static void test_weights_and_gradients_take_twice_the_memory(void **state)
{
    (void) state;
    check_memory(false);
    check_memory(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes_wait_for_the_step_before_the_last_one),
        cmocka_unit_test(test_the_steady_state_has_no_bubble),
        cmocka_unit_test(test_weights_and_gradients_take_twice_the_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
