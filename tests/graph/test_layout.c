/* Where ranks and layers are, and what a rank needs for its part. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "graph/predict/plan.h"
#include "tests/graph/small.h"

/* Tensor-parallel ranks are neighbours, stages are far apart. */
static void test_ranks_are_numbered_as_megatron_numbers_them(void **state)
{
    struct mtlm_layout layout = {.tp = 2, .pp = 4, .dp = 3};

    (void) state;
    assert_int_equal(mtlm_layout_ranks(&layout), 24);
    for (int r = 0; r < 24; r++) {
        mtlm_layout_place(&layout, r);
        assert_in_range(layout.tp_rank, 0, 1);
        assert_in_range(layout.dp_rank, 0, 2);
        assert_int_equal(
            layout.tp_rank + 2 * (layout.dp_rank + 3 * layout.pp_rank), r);
    }
    mtlm_layout_place(&layout, 1);
    assert_int_equal(layout.tp_rank, 1);
    assert_int_equal(layout.pp_rank, 0);
    mtlm_layout_place(&layout, 6);
    assert_int_equal(layout.tp_rank, 0);
    assert_int_equal(layout.pp_rank, 1);
}

static void test_virtual_stages_go_round_the_ranks(void **state)
{
    struct mtlm_layout layout = {
        .tp = 2, .pp = 3, .dp = 2, .virtual_stages = 2};

    (void) state;
    assert_int_equal(mtlm_layout_stages(&layout), 6);
    for (int r = 0; r < 12; r++) {
        mtlm_layout_place(&layout, r);
        for (int c = 0; c < 2; c++) {
            const int k = mtlm_layout_stage(&layout, c);

            assert_int_equal(k % 3, layout.pp_rank);
            assert_int_equal(k / 3, c);
            assert_int_equal(mtlm_layout_rank_of_stage(&layout, k), r);
        }
        /* The neighbour stage is on a rank of the same place in its groups. */
        assert_int_equal(mtlm_layout_rank_of_stage(&layout, 0), r % 4);
    }
}

/* Ranks 0 1 2 and back; of three passes, there again. */
static void test_the_v_turns_round_at_the_ends(void **state)
{
    static const int rank[] = {0, 1, 2, 2, 1, 0, 0, 1, 2};
    struct mtlm_layout layout = {.tp = 1,
                                 .pp = 3,
                                 .dp = 1,
                                 .virtual_stages = 3,
                                 .placement = MTLM_PLACEMENT_V};

    (void) state;
    for (int k = 0; k < 9; k++) {
        assert_int_equal(mtlm_layout_rank_of_stage(&layout, k), rank[k]);
        assert_int_equal(mtlm_layout_pp_rank(&layout, k), rank[k]);
        assert_int_equal(mtlm_layout_chunk(&layout, k), k / 3);
        for (int j = 0; j < 9; j++)
            assert_int_equal(mtlm_layout_same_rank(&layout, k, j),
                             rank[k] == rank[j]);
        mtlm_layout_place(&layout, rank[k]);
        assert_int_equal(mtlm_layout_stage(&layout, k / 3), k);
    }
}

/* With each kind of group: how many of the ranks meet in it. */
static void test_ranks_meet_in_their_groups_alone(void **state)
{
    static const struct {
        int v;
        enum mtlm_placement placement;
        int ends; /* ranks that share a word embedding with another */
    } cases[] = {{1, MTLM_PLACEMENT_LOOP, 2},
                 {2, MTLM_PLACEMENT_LOOP, 2},
                 {2, MTLM_PLACEMENT_V, 0},
                 {3, MTLM_PLACEMENT_V, 2}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mtlm_layout a = {.tp = 2,
                                .pp = 3,
                                .dp = 4,
                                .virtual_stages = cases[i].v,
                                .placement = cases[i].placement};
        struct mtlm_layout b = a;

        for (int r = 0; r < 24; r++) {
            int met[MTLM_GROUP_COUNT] = {0}, root[MTLM_GROUP_COUNT];

            mtlm_layout_place(&a, r);
            for (int s = 23; s >= 0; s--) {
                mtlm_layout_place(&b, s);
                for (int g = 0; g < MTLM_GROUP_COUNT; g++)
                    if (mtlm_layout_meet(&a, &b, g)) {
                        met[g]++;
                        root[g] = s;
                    }
            }
            for (int g = 0; g < MTLM_GROUP_COUNT; g++)
                if (g != MTLM_GROUP_EMBEDDING
                    || mtlm_layout_shares_embedding(&a))
                    assert_int_equal(mtlm_layout_root(&a, g), root[g]);
                else
                    assert_int_equal(mtlm_layout_root(&a, g), -1);
            assert_int_equal(met[MTLM_GROUP_TP], 2);
            assert_int_equal(met[MTLM_GROUP_DP], 4);
            assert_int_equal(met[MTLM_GROUP_WORLD], 24);
            if (a.pp_rank != 1)
                assert_int_equal(met[MTLM_GROUP_EMBEDDING], cases[i].ends);
            assert_int_equal(mtlm_layout_shares_embedding(&a),
                             cases[i].ends > 0 && a.pp_rank != 1);
        }
    }
}

static void test_layers_are_dealt_out_without_gaps(void **state)
{
    (void) state;
    for (int pp = 1; pp <= 5; pp++)
        for (int v = 1; v <= 3; v++)
            for (int64_t layers = pp * v; layers < 4 * pp * v + 3; layers++) {
                const struct mtlm_layout layout = {.pp = pp,
                                                   .virtual_stages = v};
                int64_t next = 0, before = layers, first, count;

                for (int k = 0; k < pp * v; k++) {
                    mtlm_layout_layers(&layout, layers, k, &first, &count);
                    assert_int_equal(first, next);
                    assert_int_equal(
                        mtlm_layout_layer_count(&layout, layers, k), count);
                    assert_in_range(count, layers / (pp * v),
                                    (layers - 1) / (pp * v) + 1);
                    /* The earlier stages hold one more. */
                    assert_true(count <= before);
                    next = first + count;
                    before = count;
                }
                assert_int_equal(next, layers);
            }
}

/* Weights, gradients and moments of all ranks, beyond those of one rank: what
 * tensor parallelism does not split, padding, and the last stage's copies of
 * the word embedding. */
static void test_ranks_together_hold_the_model_and_its_copies(void **state)
{
    (void) state;
    for (int i = 0; i < small_n_cases; i++) {
        const struct mtlm_program_config config =
            small_case_config(&small_cases[i]);
        const struct mtlm_model *model = &config.model;
        const int64_t h = model->hidden_size, tp = config.layout.tp;
        const int64_t word = mtlm_model_padded_vocab(model, tp) * h;
        const int64_t split =
            word + model->num_layers * (12 * h * h + 3 * h + 4 * h); /* fc1's
                                                                      * bias */
        const int64_t whole =
            model->num_layers * 6 * h + (model->max_positions + 2) * h;
        const double bytes = sizeof(mtlm_real) * (split + tp * whole);
        const int last = mtlm_layout_pp_rank(
            &config.layout, mtlm_layout_stages(&config.layout) - 1);
        const double copy = last > 0 ? sizeof(mtlm_real) * word : 0;
        struct small_ranks ranks = small_ranks_create(&config);
        double weights = 0, gradients = 0, moments = 0;

        for (int r = 0; r < ranks.n; r++) {
            const struct mtlm_plan plan = mtlm_plan(ranks.program[r], 0);

            weights += plan.weight_bytes;
            gradients += plan.gradient_bytes;
            moments += plan.moment_bytes;
            assert_int_equal(plan.tasks, ranks.program[r]->train.n);
            assert_true(plan.total_bytes
                        > plan.weight_bytes + plan.gradient_bytes
                              + plan.moment_bytes + plan.activation_bytes);
        }
        assert_true(weights == bytes + copy);
        assert_true(moments == 2 * weights);
        /* The output layer's gradient is apart, on one rank too. */
        assert_true(gradients == bytes + sizeof(mtlm_real) * word);
        small_ranks_destroy(&ranks);
    }
}

/* The window bounds them. */
static void test_activations_do_not_grow_with_the_microbatches(void **state)
{
    const struct mtlm_program_config few = small_config(1, 4, 4);
    const struct mtlm_program_config many = small_config(1, 4, 40);
    struct small_ranks a = small_ranks_create(&few);
    struct small_ranks b = small_ranks_create(&many);

    (void) state;
    for (int r = 0; r < 4; r++) {
        const struct mtlm_plan x = mtlm_plan(a.program[r], 0);
        const struct mtlm_plan y = mtlm_plan(b.program[r], 0);

        assert_true(x.activation_bytes == y.activation_bytes);
        assert_true(y.flops > 9 * x.flops);
    }
    small_ranks_destroy(&b);
    small_ranks_destroy(&a);
}

static void test_memory_that_does_not_suffice_is_refused(void **state)
{
    const double gib = 1024.0 * 1024 * 1024;
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_plan_check(6 * gib, 6 * gib, &err), 0);
    assert_int_equal(mtlm_plan_check(6 * gib, 5 * gib, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_RESOURCE);
    assert_non_null(strstr(err.text, "training needs 6.00 GiB"));
    assert_non_null(strstr(err.text, "has 5.00 GiB available"));
}

static void test_more_elements_than_starpu_and_mpi_count_are_refused(
    void **state)
{
    struct mtlm_plan plan = {.largest = (int64_t) 1 << 32,
                             .largest_name = "x",
                             .longest_name = "send"};
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_plan_check_counts(&plan, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_RESOURCE);
    assert_non_null(strstr(err.text, "x has 4294967296 elements"));
    plan.largest = (int64_t) 1 << 31;
    assert_int_equal(mtlm_plan_check_counts(&plan, &err), 0);
    plan.longest = plan.largest;
    assert_int_equal(mtlm_plan_check_counts(&plan, &err), -1);
    assert_string_equal(err.text, "send of 2147483648 elements: a message can "
                                  "have 2147483647; a smaller "
                                  "--micro-batch-size would do");
}

/* Before the graph is built: never more than it will need. */
static void test_the_first_estimate_is_a_lower_bound(void **state)
{
    (void) state;
    for (int i = 0; i < small_n_cases; i++) {
        const struct mtlm_program_config config =
            small_case_config(&small_cases[i]);
        struct small_ranks ranks = small_ranks_create(&config);
        double most = 0;

        for (int r = 0; r < ranks.n; r++) {
            const struct mtlm_plan plan = mtlm_plan(ranks.program[r], 0);

            most = plan.total_bytes > most ? plan.total_bytes : most;
        }
        assert_true(mtlm_plan_lower_bound(&config, false) <= most);
        assert_true(mtlm_plan_lower_bound(&config, false) > most / 100);
        small_ranks_destroy(&ranks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_are_numbered_as_megatron_numbers_them),
        cmocka_unit_test(test_virtual_stages_go_round_the_ranks),
        cmocka_unit_test(test_the_v_turns_round_at_the_ends),
        cmocka_unit_test(test_ranks_meet_in_their_groups_alone),
        cmocka_unit_test(test_layers_are_dealt_out_without_gaps),
        cmocka_unit_test(test_ranks_together_hold_the_model_and_its_copies),
        cmocka_unit_test(test_activations_do_not_grow_with_the_microbatches),
        cmocka_unit_test(test_memory_that_does_not_suffice_is_refused),
        cmocka_unit_test(
            test_more_elements_than_starpu_and_mpi_count_are_refused),
        cmocka_unit_test(test_the_first_estimate_is_a_lower_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
