/* The first microbatch of an iteration sets gradients of weight matrices:
 * whatever they held before does not matter. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/graph/small.h"
#include "tests/graph/weights.h"

enum { ITERATIONS = 3, PER_LAYER = 4 /* weight matrices of a layer */ };

/* Returns how many gradients of the rank are set. */
static int count_set(const struct mtlm_program *program)
{
    int n = 0;

    for (int i = 0; i < program->n_params; i++)
        n += program->param[i].grad_is_set;
    return n;
}

/* Makes NaNs of a gradient of rank, in all versions. */
static void spoil_gradient(struct interpreter *in, int rank,
                           struct mtlm_tensor *grad)
{
    for (int s = 0; s < grad->slots; s++) {
        mtlm_real *x = interpreter_data_of(in, rank, grad, s);

        for (int64_t k = 0; k < mtlm_tensor_elems(grad); k++)
            x[k] = NAN;
    }
}

/* Spoils all gradients that will be set. */
static void spoil(struct interpreter *in, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        const struct mtlm_program *program = interpreter_program(in, r);

        for (int i = 0; i < program->n_params; i++)
            if (program->param[i].grad_is_set)
                spoil_gradient(in, r, program->param[i].grad);
    }
}

/* Returns the weights after some iterations; weights_free() frees them. */
static mtlm_real **train(const struct mtlm_program_config *config, bool spoils,
                         struct interpreter **in)
{
    *in = weights_start(config, 0.02);
    for (int e = 0; e < ITERATIONS; e++) {
        if (spoils)
            spoil(*in, mtlm_layout_ranks(&config->layout));
        interpreter_iteration(*in, e, false);
    }
    return weights_read(*in, 0);
}

static void check_config(const struct mtlm_program_config *config)
{
    const int64_t numbers = mtlm_param_numbers(&config->model);
    struct interpreter *in, *spoiled;
    mtlm_real **want = train(config, false, &in);
    mtlm_real **got = train(config, true, &spoiled);

    for (int64_t i = 0; i < numbers; i++)
        if (weight_exists(config, i))
            assert_memory_equal(got[i], want[i],
                                weight_number(config, i).n * sizeof(**got));
    weights_free(in, want);
    weights_free(spoiled, got);
    interpreter_destroy(in);
    interpreter_destroy(spoiled);
}

static void test_earlier_values_do_not_matter(void **state)
{
    (void) state;
    for (int i = 0; i < small_n_cases; i++) {
        const struct mtlm_program_config config =
            small_case_config(&small_cases[i]);

        check_config(&config);
    }
    for (int i = 0; i < small_n_models; i++) {
        struct mtlm_program_config config =
            small_model_config(&small_models[i], 1, 2, 2);

        check_config(&config);
        config = small_model_config(&small_models[i], 2, 1, 3);
        config.layout.dp = 2;
        check_config(&config);
    }
}

/* Layers computed again, and two versions of weights and gradients. */
static void test_every_way_of_training_sets(void **state)
{
    struct mtlm_program_config config = small_config(1, 2, 3);

    (void) state;
    config.recompute =
        (struct mtlm_recompute){MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 1};
    check_config(&config);
    config = small_config(1, 2, 3);
    config.weight_staleness = 1;
    check_config(&config);
}

/* Four matrices of each of four layers, and the output layer's. */
static void test_every_matrix_is_set(void **state)
{
    struct mtlm_program_config config = small_config(1, 1, 3);
    struct small_ranks ranks = small_ranks_create(&config);

    (void) state;
    assert_int_equal(count_set(ranks.program[0]), 4 * PER_LAYER + 1);
    small_ranks_destroy(&ranks);
}

/* The pieces that a rank steps lie in the memory of the gradients: what clears
 * the gradients keeps the next iteration away from the pieces. */
static void test_gradients_under_pieces_are_cleared(void **state)
{
    struct mtlm_program_config config = small_config(1, 1, 3);
    struct small_ranks ranks;

    (void) state;
    config.layout.dp = 2;
    config.distributed_optimizer = true;
    ranks = small_ranks_create(&config);
    for (int r = 0; r < ranks.n; r++) {
        const struct mtlm_program *program = ranks.program[r];

        for (int i = 0; i < program->n_params; i++)
            assert_true(!program->param[i].grad_is_set
                        || program->param[i].reduced == program->param[i].grad);
    }
    small_ranks_destroy(&ranks);
    check_config(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_earlier_values_do_not_matter),
        cmocka_unit_test(test_every_way_of_training_sets),
        cmocka_unit_test(test_every_matrix_is_set),
        cmocka_unit_test(test_gradients_under_pieces_are_cleared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
