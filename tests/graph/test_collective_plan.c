/* Orders of collectives that are evaluated before the run. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/run/collective_plan.h"
#include "runtime/base/memory.h"
#include "tests/graph/small.h"

/* The groups of the collectives, by their numbers in program order. */
static enum mtlm_group *groups_of(const struct mtlm_program *program, int n)
{
    enum mtlm_group *group = mtlm_calloc(n, sizeof(*group));
    int i = 0;

    for (int k = 0; k < program->train.n; k++) {
        const struct mtlm_node *node = program->train.item[k].node;

        if (mtlm_ops[node->call.kind]->op_class != MTLM_CLASS_COLLECTIVE)
            continue;
        assert_in_range(i, 0, n - 1);
        group[i++] = node->call.attr.collective.group;
    }
    assert_int_equal(i, n);
    return group;
}

static void check_permutation(const int *order, int n)
{
    bool *seen = mtlm_calloc(n, sizeof(*seen));

    for (int i = 0; i < n; i++) {
        assert_in_range(order[i], 0, n - 1);
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
    }
    free(seen);
}

/* Where a collective stands in an order. */
static int place(const int *order, int n, int number)
{
    for (int i = 0; i < n; i++)
        if (order[i] == number)
            return i;
    return -1;
}

/* Those of one microbatch depend on each other one by one, and those across
 * pipelines have one place each in the order of all ranks, here the
 * program's. */
static void check_chains(const struct mtlm_collective_plan *plan,
                         const enum mtlm_group *group)
{
    int *last = mtlm_calloc(plan->n + 1, sizeof(*last));

    memset(last, -1, (plan->n + 1) * sizeof(*last));
    for (int i = 0; i < plan->n; i++) {
        const int number = plan->order[i];
        int *before = group[number] == MTLM_GROUP_WORLD
                          ? &last[0]
                          : &last[1 + plan->microbatch[number]];

        if (plan->microbatch[number] < 0 && group[number] == MTLM_GROUP_TP)
            continue;
        if (plan->microbatch[number] >= 0 || group[number] == MTLM_GROUP_WORLD)
            assert_true(number > *before);
        *before = number;
    }
    free(last);
}

/* An iteration of fewer microbatches has the others' collectives in the same
 * order. */
static void check_fewer(const struct mtlm_collective_plan *plan, int64_t m)
{
    int *order = mtlm_calloc(plan->n, sizeof(*order)), *number;
    const int n = mtlm_collective_plan_of(plan, m, order);
    int posted = 0;

    check_permutation(order, n);
    number = mtlm_calloc(plan->n, sizeof(*number));
    for (int i = 0; i < plan->n; i++)
        if (plan->microbatch[i] < m)
            number[posted++] = i;
    assert_int_equal(posted, n);
    for (int i = 1; i < n; i++)
        assert_true(place(plan->order, plan->n, number[order[i - 1]])
                    < place(plan->order, plan->n, number[order[i]]));
    free(number);
    free(order);
}

static bool in_program_order(const struct mtlm_collective_plan *plan)
{
    for (int i = 0; i < plan->n; i++)
        if (plan->order[i] != i)
            return false;
    return true;
}

static void check_case(const struct small_case *c, bool serial, int *other)
{
    const struct mtlm_program_config config = small_case_config(c);
    struct small_ranks ranks = small_ranks_create(&config);
    struct mtlm_collective_plan *plan = mtlm_calloc(ranks.n, sizeof(*plan));

    for (int r = 0; r < ranks.n; r++) {
        enum mtlm_group *group;

        mtlm_collective_plan_create(&plan[r], ranks.program[r], NULL, serial);
        group = groups_of(ranks.program[r], plan[r].n);
        check_permutation(plan[r].order, plan[r].n);
        if (c->row_parts <= 1)
            check_chains(&plan[r], group);
        for (int64_t m = 1; m <= config.microbatches; m++)
            check_fewer(&plan[r], m);
        *other += c->tp > 1 && !in_program_order(&plan[r]);
        /* The ranks of a tensor-parallel group have one plan. */
        if (r % c->tp) {
            assert_int_equal(plan[r].n, plan[r - 1].n);
            assert_memory_equal(plan[r].order, plan[r - 1].order,
                                plan[r].n * sizeof(*plan[r].order));
        }
        free(group);
    }
    for (int r = 0; r < ranks.n; r++)
        mtlm_collective_plan_destroy(&plan[r]);
    free(plan);
    small_ranks_destroy(&ranks);
}

static void test_plans_hold_everything_in_a_possible_order(void **state)
{
    int other = 0;

    (void) state;
    for (int n = 0; n < small_n_cases; n++)
        for (int serial = 0; serial <= 1; serial++)
            check_case(&small_cases[n], serial, &other);
    /* Microbatches overtake each other, or a plan would be of no use. */
    assert_true(other > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans_hold_everything_in_a_possible_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
