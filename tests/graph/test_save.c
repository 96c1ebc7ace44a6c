/* What the ranks copy for a checkpoint: together all of the model, each element
 * once, in fp32; a version before, in the type of the weight. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/build/save.h"
#include "graph/predict/plan.h"
#include "tests/graph/small.h"

enum { MOST_PARAMS = 100 };

/* How often each element of each parameter is copied. */
struct seen {
    unsigned char *times[MOST_PARAMS][MTLM_SAVED_COUNT];
    int64_t n[MOST_PARAMS];
};

static void see(struct seen *seen, const struct mtlm_parameter *p, int what)
{
    const struct mtlm_tensor *t = p->saved[what];
    const int64_t cols = mtlm_shape_cols(&p->weight->shape);
    const int64_t first = what != MTLM_SAVED_VALUE || p->master ? p->first : 0;

    assert_true(p->number < MOST_PARAMS);
    assert_int_equal(t->dtype,
                     what == MTLM_SAVED_BEFORE ? p->weight->dtype : MTLM_REAL);
    assert_int_equal(t->storage, MTLM_STORE_SAVED);
    seen->n[p->number] = p->info.rows * p->info.cols;
    if (!seen->times[p->number][what])
        seen->times[p->number][what] = calloc(seen->n[p->number], 1);
    for (int64_t i = 0; i < mtlm_shape_elems(&t->shape); i++) {
        const int64_t row = p->first_row + (first + i) / cols;
        const int64_t col = p->first_col + (first + i) % cols;

        seen->times[p->number][what][row * p->info.cols + col]++;
    }
}

/* A node for each copy, which reads what it is of. */
static void check_nodes(const struct mtlm_program *program, int copies)
{
    assert_int_equal(program->save.n, copies);
    for (int i = 0; i < program->save.n; i++) {
        const struct mtlm_node *node = program->save.item[i].node;
        const size_t n = strlen(node->operand[0]->name);

        assert_int_equal(node->call.kind, MTLM_OP_SAVE);
        assert_int_equal(node->phase, MTLM_PHASE_SAVE);
        assert_memory_equal(node->operand[1]->name, node->operand[0]->name, n);
        assert_string_equal(node->operand[1]->name + n, ".saved");
    }
}

static void look(struct seen *seen, const struct mtlm_program *program)
{
    int copies = 0;

    for (int i = 0; i < program->n_params; i++)
        for (int what = 0; what < MTLM_SAVED_COUNT; what++) {
            const struct mtlm_parameter *p = &program->param[i];

            if (!p->saved[what])
                continue;
            see(seen, p, what);
            copies++;
        }
    check_nodes(program, copies);
}

static void check(const struct mtlm_program_config *config)
{
    struct small_ranks ranks = small_ranks_create(config);
    const int kinds = config->save == MTLM_SAVE_ALL
                          ? MTLM_SAVED_BEFORE + config->weight_staleness
                      : config->save == MTLM_SAVE_WEIGHTS ? 1
                                                          : 0;
    const int64_t params = mtlm_param_numbers(&config->model);
    struct seen seen = {0};

    for (int r = 0; r < ranks.n; r++)
        look(&seen, ranks.program[r]);
    for (int64_t i = 0; i < params; i++)
        for (int what = 0; what < MTLM_SAVED_COUNT; what++) {
            unsigned char *times = seen.times[i][what];

            assert_int_equal(times != NULL, what < kinds);
            for (int64_t k = 0; times && k < seen.n[i]; k++)
                assert_int_equal(times[k], 1);
            free(times);
        }
    small_ranks_destroy(&ranks);
}

static void test_every_element_is_copied_by_one_rank(void **state)
{
    static const int layouts[][4] = {
        {1, 1, 1, 1}, {2, 1, 1, 1}, {1, 2, 2, 1}, {1, 1, 1, 3}, {2, 2, 1, 2}};

    (void) state;
    for (size_t l = 0; l < sizeof(layouts) / sizeof(layouts[0]); l++)
        for (int way = 0; way < 18; way++) {
            struct mtlm_program_config config =
                small_config(layouts[l][0], layouts[l][1], 2);

            config.layout.virtual_stages = layouts[l][2];
            config.layout.dp = layouts[l][3];
            config.distributed_optimizer = way % 3 == 1;
            config.weight_staleness = way % 3 == 2;
            config.value = way / 3 % 2 ? MTLM_BF16 : MTLM_REAL;
            config.save = way / 6;
            check(&config);
        }
}

static struct mtlm_plan plan_of(int save)
{
    struct mtlm_program_config config = small_config(1, 1, 1);

    config.save = save;
    return small_plan(&config);
}

/* Of a GPU they go where they are written from, through no other copy. */
static void test_the_host_has_one_copy(void **state)
{
    const struct mtlm_plan none = plan_of(MTLM_SAVE_NOTHING);
    const struct mtlm_plan all = plan_of(MTLM_SAVE_ALL);

    (void) state;
    assert_true(none.saved_bytes == 0);
    assert_true(all.saved_bytes == all.weight_bytes + all.moment_bytes);
    assert_true(all.staged_bytes == none.staged_bytes);
    assert_true(all.staged_nccl_bytes == none.staged_nccl_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_element_is_copied_by_one_rank),
        cmocka_unit_test(test_the_host_has_one_copy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
