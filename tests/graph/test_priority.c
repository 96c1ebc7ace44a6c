/* Priorities: the order that they stand for, in as many iterations as a run
 * may have. */

#include "config.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/schedule/schedule.h"
#include "tests/graph/small.h"

/* The tuple that the number stands for: the smaller one goes first. */
struct place {
    int class, first, second;
};

static struct place place(const struct mtlm_priority *p, enum mtlm_phase phase,
                          int i, int c)
{
    const int deepest = p->chunks - 1 - c;
    const bool groups = p->order == &mtlm_priority_by_groups;
    const int n = groups ? p->stages : 1;

    if (i < 0)
        return (struct place){0};
    switch (phase) {
    case MTLM_PHASE_FORWARD:
    case MTLM_PHASE_EVAL:
        return groups ? (struct place){1, i / n, c * n + i % n}
                      : (struct place){1, deepest, i};
    case MTLM_PHASE_BACKWARD:
        return groups ? (struct place){2, i / n, deepest * n + i % n}
                      : (struct place){2, i, c};
    default: /* at once where B and W are one */
        return (struct place){p->fused ? 0 : 3, i + 1, deepest};
    }
}

static int compare(struct place a, struct place b)
{
    return a.class != b.class   ? a.class - b.class
           : a.first != b.first ? a.first - b.first
                                : a.second - b.second;
}

static int sign(int64_t x)
{
    return (x > 0) - (x < 0);
}

struct item {
    int priority;
    struct place place;
};

/* Every combination; returns how many. */
static int all_items(const struct mtlm_priority *p, struct item *item)
{
    static const enum mtlm_phase phases[] = {
        MTLM_PHASE_FORWARD, MTLM_PHASE_BACKWARD, MTLM_PHASE_WEIGHT,
        MTLM_PHASE_EVAL, MTLM_PHASE_OPTIMIZER};
    int n = 0;

    for (int f = 0; f < 5; f++)
        for (int i = -1; i < p->microbatches; i++)
            for (int c = 0; c < p->chunks; c++)
                if (i < 0 || phases[f] != MTLM_PHASE_OPTIMIZER)
                    item[n++] = (struct item){mtlm_priority(p, phases[f], i, c),
                                              place(p, phases[f], i, c)};
    return n;
}

static void check_order(const struct mtlm_priority *p)
{
    struct item *item =
        mtlm_calloc(5 * p->chunks * (p->microbatches + 1), sizeof(*item));
    const int n = all_items(p, item);

    for (int a = 0; a < n; a++) {
        assert_in_range(item[a].priority, 0, mtlm_priority_span(p) - 1);
        for (int b = 0; b < n; b++)
            assert_int_equal(
                sign((int64_t) item[a].priority - item[b].priority),
                -sign(compare(item[a].place, item[b].place)));
    }
    free(item);
}

static void test_within_an_iteration_the_class_decides_then_the_order(
    void **state)
{
    (void) state;
    for (int n = 0; n < MTLM_SCHEDULE_COUNT; n++)
        for (int v = 1; v <= 3; v++)
            for (int m = 1; m <= 9; m++) {
                const struct mtlm_layout layout = {.pp = 4,
                                                   .virtual_stages = v};
                const struct mtlm_priority p =
                    mtlm_schedule_priority(&mtlm_schedules[n], &layout, m);

                check_order(&p);
            }
}

static void test_forward_takes_the_deepest_chunk_and_then_the_oldest(
    void **state)
{
    const struct mtlm_priority p = {
        .chunks = 2, .microbatches = 4, .order = &mtlm_priority_by_depth};

    (void) state;
    assert_true(mtlm_priority(&p, MTLM_PHASE_FORWARD, 3, 1)
                > mtlm_priority(&p, MTLM_PHASE_FORWARD, 0, 0));
    assert_true(mtlm_priority(&p, MTLM_PHASE_BACKWARD, 0, 0)
                > mtlm_priority(&p, MTLM_PHASE_BACKWARD, 1, 1));
    assert_true(mtlm_priority(&p, MTLM_PHASE_WEIGHT, 0, 0)
                > mtlm_priority(&p, MTLM_PHASE_WEIGHT, 1, 1));
    assert_true(mtlm_priority(&p, MTLM_PHASE_WEIGHT, 0, 1)
                > mtlm_priority(&p, MTLM_PHASE_WEIGHT, 0, 0));
}

static const struct mtlm_priority sizes[] = {
    {.chunks = 1, .microbatches = 1, .order = &mtlm_priority_by_depth},
    {.chunks = 1, .microbatches = 8, .order = &mtlm_priority_by_depth},
    {.chunks = 2, .microbatches = 64, .order = &mtlm_priority_by_depth},
    {.chunks = 4, .microbatches = 512, .order = &mtlm_priority_by_depth},
    {.chunks = 8, .microbatches = 4096, .order = &mtlm_priority_by_depth},
    {.chunks = 3, .microbatches = 10007, .order = &mtlm_priority_by_depth},
    {.chunks = 3,
     .microbatches = 10007,
     .order = &mtlm_priority_by_groups,
     .stages = 64}};

static void test_no_iteration_overflows(void **state)
{
    (void) state;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        const int64_t span = mtlm_priority_span(&sizes[s]);
        const int64_t cycle = mtlm_priority_cycle(&sizes[s]);
        const int64_t around[] = {2, cycle - 2, cycle, 2 * cycle, 10000000};

        for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++)
            for (int64_t e = around[i] - 2; e < around[i] + 2; e++) {
                const int64_t base = mtlm_priority_base(&sizes[s], e);
                const int64_t next = mtlm_priority_base(&sizes[s], e + 1);

                assert_true(base >= INT_MIN);
                assert_true(base + span - 1 <= INT_MAX);
                /* Within a cycle all of e goes before all of e + 1. */
                if (e % cycle != cycle - 1)
                    assert_true(base > next + span - 1);
            }
    }
}

static void test_priorities_start_over_after_a_cycle(void **state)
{
    (void) state;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        const int64_t span = mtlm_priority_span(&sizes[s]);
        const int64_t cycle = mtlm_priority_cycle(&sizes[s]);

        assert_int_equal(mtlm_priority_base(&sizes[s], 0) + span - 1, INT_MAX);
        assert_int_equal(mtlm_priority_base(&sizes[s], cycle),
                         mtlm_priority_base(&sizes[s], 0));
        /* The last one of the cycle leaves no room for another. */
        assert_true(mtlm_priority_base(&sizes[s], cycle - 1) - span
                    <= (int64_t) INT_MIN);
    }
}

/* Rolling: the class goes before the iteration, within a class the older
 * iteration goes first, and the optimizer before all. */
static void test_rolling_iterations_are_one_long_iteration(void **state)
{
    (void) state;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        struct mtlm_priority p = sizes[s];
        const int last = p.microbatches - 1, deepest = p.chunks - 1;
        int64_t cycle;

        p.rolling = true;
        cycle = mtlm_priority_cycle(&p);
        assert_true(cycle > 1000);
        for (int64_t e = 0; e < cycle; e += e == 1 ? cycle - 3 : 1) {
            const int64_t base = mtlm_priority_base(&p, e);
            const int64_t next = mtlm_priority_base(&p, e + 1);
            const int64_t end = mtlm_priority_base(&p, cycle - 1);

            for (int f = MTLM_PHASE_FORWARD; f <= MTLM_PHASE_WEIGHT; f++) {
                const int best = p.order == &mtlm_priority_by_groups ? 0
                                 : f == MTLM_PHASE_FORWARD           ? deepest
                                                                     : 0;

                assert_true(mtlm_priority(&p, f, last, best) + base
                                > mtlm_priority(&p, f, 0, best) + next
                            || e + 1 == cycle);
                assert_true(mtlm_priority(&p, MTLM_PHASE_OPTIMIZER, -1, 0) + end
                            > mtlm_priority(&p, f, 0, best)
                                  + mtlm_priority_base(&p, 0));
            }
            assert_true(mtlm_priority(&p, MTLM_PHASE_FORWARD, last, 0) + end
                        > mtlm_priority(&p, MTLM_PHASE_WEIGHT, 0, 0)
                              + mtlm_priority_base(&p, 0));
            assert_in_range(base + (int64_t) INT_MAX, 0, INT_MAX);
        }
    }
}

/* A node beyond the span would go before an older iteration's, or overflow;
 * a validation has more microbatches than an iteration. */
static void test_every_node_of_a_program_is_within_the_span(void **state)
{
    (void) state;
    for (int n = 0; n < small_n_cases; n++) {
        struct mtlm_program_config config = small_case_config(&small_cases[n]);
        struct mtlm_priority priority;
        struct small_ranks ranks;
        int64_t span;

        config.eval_microbatches = 3 * config.microbatches + 1;
        ranks = small_ranks_create(&config);
        priority = mtlm_program_priority(ranks.program[0]);
        span = mtlm_priority_span(&priority);
        for (int r = 0; r < ranks.n; r++) {
            const struct mtlm_items *const all[] = {&ranks.program[r]->init,
                                                    &ranks.program[r]->train,
                                                    &ranks.program[r]->eval};

            for (int j = 0; j < 3; j++)
                for (int i = 0; i < all[j]->n; i++)
                    assert_in_range(all[j]->item[i].priority, 0, span - 1);
        }
        small_ranks_destroy(&ranks);
    }
}

/* The lowest and the highest priority of weight gradients of a microbatch;
 * word: of the word embedding's, or of all others. */
static void weight_span(const struct mtlm_items *train, int microbatch,
                        bool word, int *lowest, int *highest)
{
    *lowest = INT_MAX;
    *highest = INT_MIN;
    for (int i = 0; i < train->n; i++) {
        const struct mtlm_item *item = &train->item[i];
        const bool is_word = item->node->call.kind == MTLM_OP_EMBEDDING_WGRAD;

        if (item->node->phase != MTLM_PHASE_WEIGHT || is_word != word
            || item->microbatch != microbatch)
            continue;
        *lowest = item->priority < *lowest ? item->priority : *lowest;
        *highest = item->priority > *highest ? item->priority : *highest;
    }
}

/* The all-reduce of the tied word embedding is long.  On the first stage the
 * last microbatch's gradient of the embedding must not wait for W of the
 * layers, which would leave nothing to hide the all-reduce. */
static void test_the_tied_embedding_goes_before_other_weights(void **state)
{
    (void) state;
    for (int pp = 1; pp <= 2; pp++) {
        struct mtlm_program_config config = small_config(1, pp, 4);
        struct small_ranks ranks = small_ranks_create(&config);
        const struct mtlm_items *train = &ranks.program[0]->train;

        for (int m = 0; m < 4; m++) {
            int low, high, word_low, word_high;

            weight_span(train, m, false, &low, &high);
            weight_span(train, m, true, &word_low, &word_high);
            if (pp == 2 && m == 3)
                assert_true(word_low > high);
            else
                assert_int_equal(word_high, low);
        }
        small_ranks_destroy(&ranks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_within_an_iteration_the_class_decides_then_the_order),
        cmocka_unit_test(
            test_forward_takes_the_deepest_chunk_and_then_the_oldest),
        cmocka_unit_test(test_no_iteration_overflows),
        cmocka_unit_test(test_priorities_start_over_after_a_cycle),
        cmocka_unit_test(test_rolling_iterations_are_one_long_iteration),
        cmocka_unit_test(test_every_node_of_a_program_is_within_the_span),
        cmocka_unit_test(test_the_tied_embedding_goes_before_other_weights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
