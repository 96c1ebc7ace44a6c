/* All ranks together write each element of a checkpoint's tensors once: weights
 * or masters, moments, and the version of the weights before. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/build/save.h"
#include "launch/checkpoint/checkpoint.h"
#include "tests/graph/small.h"

static int64_t elems_of(const struct mtlm_checkpoint_tensor *t)
{
    return t->slice.dim[0] * t->slice.dim[1];
}

/* Returns how many elements of the tensor's name all lists have. */
static int64_t written(const struct mtlm_checkpoint_tensors *list, int n,
                       const struct mtlm_checkpoint_tensor *like)
{
    int64_t sum = 0;

    for (int r = 0; r < n; r++)
        for (int i = 0; i < list[r].n; i++)
            if (strcmp(list[r].tensor[i].name, like->name) == 0)
                sum += list[r].tensor[i].slice.count;
    return sum;
}

static int count_ending(const struct mtlm_checkpoint_tensors *list,
                        const char *ending)
{
    int found = 0;

    for (int i = 0; i < list->n; i++) {
        const char *dot = strrchr(list->tensor[i].name, '.');

        found += dot && strcmp(dot, ending) == 0;
    }
    return found;
}

static void check_written(const struct small_ranks *ranks)
{
    struct mtlm_checkpoint_tensors *list = mtlm_calloc(ranks->n, sizeof(*list));

    for (int r = 0; r < ranks->n; r++)
        mtlm_checkpoint_to_save(ranks->program[r], &list[r]);
    for (int r = 0; r < ranks->n; r++)
        for (int i = 0; i < list[r].n; i++) {
            const struct mtlm_checkpoint_tensor *t = &list[r].tensor[i];

            assert_true(t->slice.begin + t->slice.count <= elems_of(t));
            assert_int_equal(written(list, ranks->n, t), elems_of(t));
        }
    for (int r = 0; r < ranks->n; r++)
        mtlm_checkpoint_tensors_free(&list[r]);
    free(list);
}

/* Each rank holds both versions whole. */
static void check_loaded(const struct mtlm_program *program)
{
    struct mtlm_checkpoint_tensors list;
    int weights = 0;

    mtlm_checkpoint_to_load(program, true, &list);
    for (int i = 0; i < program->n_params; i++)
        weights += !program->param[i].weight->alias_of;
    assert_int_equal(count_ending(&list, ".before"), weights);
    for (int i = 0; i < list.n; i++)
        if (strstr(list.tensor[i].name, ".before"))
            assert_int_equal(list.tensor[i].slice.count,
                             elems_of(&list.tensor[i]));
    mtlm_checkpoint_tensors_free(&list);
}

static void check(int pp, int dp, enum mtlm_dtype value, bool sharded)
{
    struct mtlm_program_config config = small_config(1, pp, 2);
    struct small_ranks ranks;

    config.layout.dp = dp;
    config.value = value;
    config.distributed_optimizer = sharded;
    config.weight_staleness = 1;
    config.save = MTLM_SAVE_ALL;
    ranks = small_ranks_create(&config);
    check_written(&ranks);
    for (int r = 0; r < ranks.n; r++)
        check_loaded(ranks.program[r]);
    small_ranks_destroy(&ranks);
}

static void test_all_elements_are_written_once(void **state)
{
    (void) state;
    for (int dp = 1; dp <= 5; dp++)
        for (int pp = 1; pp <= 2; pp++)
            for (int sharded = 0; sharded < 2; sharded++) {
                check(pp, dp, MTLM_REAL, sharded);
                check(pp, dp, MTLM_BF16, sharded);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_elements_are_written_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
