/* However the model is spread over ranks and the batch over microbatches, the
 * training is the same: in double precision, through the interpreter. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/control_slots.h"
#include "tests/graph/small.h"
#include "tests/graph/weights.h"

#define CLOSE 1e-12
#define NOISE 0.1

static const mtlm_real *weight_data(const struct result *result, int rank,
                                    const struct mtlm_parameter *p)
{
    return interpreter_data(result->in, rank, p->weight);
}

/* What several ranks hold stays the same on all of them: what tensor
 * parallelism does not split, and the tied word embedding. */
static void assert_copies_agree(const struct result *result, int ranks)
{
    for (int a = 0; a < ranks; a++)
        for (int b = 0; b < ranks; b++) {
            const struct mtlm_program *x = interpreter_program(result->in, a);
            const struct mtlm_program *y = interpreter_program(result->in, b);

            for (int i = 0; i < x->n_params; i++)
                for (int j = 0; j < y->n_params; j++) {
                    const struct mtlm_parameter *p = &x->param[i];
                    const struct mtlm_parameter *q = &y->param[j];

                    if (p->number == q->number && p->first_row == q->first_row
                        && p->first_col == q->first_col)
                        assert_memory_equal(weight_data(result, a, p),
                                            weight_data(result, b, q),
                                            mtlm_tensor_bytes(p->weight));
                }
        }
}

/* A result on whose ranks all that several hold is the same. */
static struct result agreed(const struct mtlm_program_config *config,
                            int iterations)
{
    const struct result result = result_of(config, NOISE, iterations);

    for (int r = 1; r < mtlm_layout_ranks(&config->layout); r++) {
        assert_true(weights_control(result.in, r, MTLM_CONTROL_LOSS)
                    == result.loss);
        assert_true(weights_control(result.in, r, MTLM_CONTROL_NORM)
                    == result.norm);
    }
    assert_copies_agree(&result, mtlm_layout_ranks(&config->layout));
    return result;
}

static const struct mtlm_program_config *config_of(const struct result *result)
{
    return &interpreter_program(result->in, 0)->config;
}

static void assert_equal_bits(const struct result *a, const struct result *b)
{
    const int64_t numbers = mtlm_param_numbers(&config_of(a)->model);

    assert_true(a->loss == b->loss);
    assert_true(a->norm == b->norm);
    for (int64_t i = 0; i < numbers; i++) {
        const struct weight w = weight_number(config_of(a), i);

        if (a->whole[i]
            && memcmp(a->whole[i], b->whole[i], w.n * sizeof(mtlm_real)) != 0)
            fail_msg("%s differs by %g", w.name,
                     relative_distance(a->whole[i], b->whole[i], w.n));
    }
}

static const struct {
    int pp, virtual_stages;
    enum mtlm_placement placement;
    const char *schedule;
    const int64_t *stage_layers;
} pipelines[] = {
    {2, .virtual_stages = 1},
    {4, .virtual_stages = 1},
    {2, .virtual_stages = 2},
    {1, .virtual_stages = 4},
    {2, 2, .placement = MTLM_PLACEMENT_V},
    {1, 3, .placement = MTLM_PLACEMENT_V},
    {2, 1, .schedule = "1f1b"},
    {2, 2, .schedule = "interleaved"},
    {4, 1, .schedule = "gpipe"},
    {2, 1, .schedule = "zb-h1"},
    {1, 1, .schedule = "gpipe"}, /* slots of layers are shared */
    {3, 1, .stage_layers = (const int64_t[]){1, 2, 1}},
    /* The last stage has a head alone. */
    {2, 1, .stage_layers = (const int64_t[]){4, 0}},
    {2, 1, .schedule = "1f1b", .stage_layers = (const int64_t[]){4, 0}}};

/* Pipelines against one stage, for tp ranks per stage. */
static void compare_pipelines(const struct small_model *model, int tp,
                              int iterations)
{
    struct mtlm_program_config config = small_model_config(model, tp, 1, 5);
    struct result one = agreed(&config, iterations);

    for (size_t i = 0; i < sizeof(pipelines) / sizeof(pipelines[0]); i++) {
        struct result many;

        config.layout.pp = pipelines[i].pp;
        config.layout.virtual_stages = pipelines[i].virtual_stages;
        config.layout.placement = pipelines[i].placement;
        config.layout.stage_layers = pipelines[i].stage_layers;
        config.schedule = small_schedule(pipelines[i].schedule);
        many = agreed(&config, iterations);
        assert_equal_bits(&many, &one);
        result_free(&many);
    }
    result_free(&one);
}

static void test_pipelines_have_one_ranks_gradients_bit_by_bit(void **state)
{
    (void) state;
    for (int i = 0; i < small_n_models; i++) {
        compare_pipelines(&small_models[i], 1, 1);
        compare_pipelines(&small_models[i], 2, 1);
    }
}

static void test_pipelines_train_as_one_rank_bit_by_bit(void **state)
{
    (void) state;
    for (int i = 0; i < small_n_models; i++) {
        compare_pipelines(&small_models[i], 1, 4);
        compare_pipelines(&small_models[i], 2, 4);
    }
}

static void test_tensor_parallel_ranks_have_one_ranks_gradients(void **state)
{
    (void) state;
    for (int i = 0; i < small_n_models; i++) {
        struct mtlm_program_config config =
            small_model_config(&small_models[i], 1, 1, 3);
        struct result one = agreed(&config, 1);

        for (config.layout.tp = 2; config.layout.tp <= 4;
             config.layout.tp *= 2) {
            struct result many = agreed(&config, 1);

            assert_close(&many, &one, CLOSE);
            result_free(&many);
        }
        result_free(&one);
    }
}

/* Of T x P x D ranks, how the batch is shared among the replicas. */
static const struct sharing {
    int tp, pp, virtual_stages, dp;
    bool distributed;
    int64_t bucket_size;
} sharings[] = {
    {1, 1, 1, 2, false, 0}, {1, 1, 1, 4, false, 1},    {1, 2, 1, 2, false, 1},
    {1, 2, 2, 2, false, 0}, {2, 1, 1, 2, false, 0},    {2, 2, 1, 2, false, 0},
    {1, 1, 1, 2, true, 0},  {1, 1, 1, 4, true, 0},     {1, 1, 1, 4, true, 1},
    {1, 2, 1, 2, true, 1},  {1, 4, 1, 2, true, 0},     {2, 1, 1, 2, true, 1},
    {1, 2, 2, 4, true, 1},  {2, 2, 1, 4, true, 20000},
};
enum { N_SHARINGS = sizeof(sharings) / sizeof(sharings[0]) };

/* Four microbatches in all. */
static struct mtlm_program_config shared(struct mtlm_program_config config,
                                         const struct sharing *sharing)
{
    config.layout.tp = sharing->tp;
    config.layout.pp = sharing->pp;
    config.layout.virtual_stages = sharing->virtual_stages;
    config.layout.dp = sharing->dp;
    config.microbatches = 4 / sharing->dp;
    config.distributed_optimizer = sharing->distributed;
    config.bucket_size = sharing->bucket_size;
    return config;
}

static void compare_sharings(const struct mtlm_program_config *base,
                             int iterations, double bound)
{
    static const struct sharing alone = {1, 1, 1, 1, false, 0};
    struct mtlm_program_config config = shared(*base, &alone);
    struct result one = agreed(&config, iterations);

    for (int i = 0; i < N_SHARINGS; i++) {
        struct result many;

        config = shared(*base, &sharings[i]);
        print_message("# tensor %d x pipeline %d x data %d%s:\n",
                      sharings[i].tp, sharings[i].pp, sharings[i].dp,
                      sharings[i].distributed ? ", distributed optimizer" : "");
        many = agreed(&config, iterations);
        assert_close(&many, &one, bound);
        result_free(&many);
    }
    result_free(&one);
}

static void test_data_parallel_ranks_have_one_ranks_gradients(void **state)
{
    (void) state;
    for (int i = 0; i < small_n_models; i++) {
        const struct mtlm_program_config config =
            small_model_config(&small_models[i], 1, 1, 1);

        compare_sharings(&config, 1, CLOSE);
    }
}

static void test_data_parallel_ranks_train_as_one_rank(void **state)
{
    const struct mtlm_program_config config = small_config(1, 1, 1);

    (void) state;
    compare_sharings(&config, 5, 1e-9);
}

/* Without clipping nothing depends on the order in which squares are added
 * up. */
static void test_the_distributed_optimizer_changes_no_bit(void **state)
{
    struct mtlm_program_config base = small_config(1, 1, 1);

    (void) state;
    base.clip = 0;
    for (int i = 0; i < N_SHARINGS; i++) {
        struct mtlm_program_config config = shared(base, &sharings[i]);
        struct result with, without;

        if (!config.distributed_optimizer)
            continue;
        with = agreed(&config, 4);
        config.distributed_optimizer = false;
        without = agreed(&config, 4);
        assert_true(fabs(with.norm / without.norm - 1) < CLOSE);
        with.norm = without.norm;
        assert_equal_bits(&with, &without);
        result_free(&with);
        result_free(&without);
    }
}

/* Adam divides by the size of a gradient: what is rounding in the key bias's
 * stays small only because of epsilon. */
static void test_tensor_parallel_ranks_train_as_one_rank(void **state)
{
    struct mtlm_program_config config = small_config(1, 1, 3);
    struct result one = agreed(&config, 5), many;

    (void) state;
    config.layout.tp = 2;
    many = agreed(&config, 5);
    assert_close(&many, &one, 1e-9);
    result_free(&many);
    result_free(&one);
}

/* The cut of samples into parts changes the order of sums alone. */
static void test_parts_are_the_whole(void **state)
{
    static const int parts[] = {2, 5, 8};

    (void) state;
    for (int i = 0; i < small_n_models; i++) {
        struct mtlm_program_config config =
            small_model_config(&small_models[i], 1, 1, 2);
        struct result one;

        config.row_parts = 1;
        one = agreed(&config, 1);
        for (int j = 0; j < 3; j++) {
            struct result many;

            config.row_parts = parts[j];
            many = agreed(&config, 1);
            assert_close(&many, &one, CLOSE);
            result_free(&many);
        }
        result_free(&one);
    }
}

/* The squares of all gradients, each counted once. */
static void test_the_norm_is_that_of_all_gradients(void **state)
{
    (void) state;
    for (int tp = 1; tp <= 2; tp++)
        for (int pp = 1; pp <= 4; pp *= 2) {
            const struct mtlm_program_config config = small_config(tp, pp, 2);
            struct result result = agreed(&config, 1);
            double sum = 0;

            for (int64_t i = 0; i < mtlm_param_numbers(&config.model); i++) {
                const struct weight w = weight_number(&config, i);

                for (int64_t e = 0; result.whole[i] && e < w.n; e++)
                    sum += result.whole[i][e] * result.whole[i][e];
            }
            assert_true(fabs(result.norm / sqrt(sum) - 1) < CLOSE);
            result_free(&result);
        }
}

/* Dropout's masks belong to samples, not to microbatches.  All labels count:
 * each microbatch's losses are averaged over its own. */
static void test_microbatches_add_up_to_one_large_one(void **state)
{
    static const int64_t microbatches[] = {2, 4, 8};
    struct mtlm_program_config config = small_config(1, 1, 1);
    struct result one;

    (void) state;
    config.micro_batch = 8;
    config.train = &small_full_source;
    one = agreed(&config, 1);
    for (int i = 0; i < 3; i++) {
        struct result many;

        config.microbatches = microbatches[i];
        config.micro_batch = 8 / microbatches[i];
        many = agreed(&config, 1);
        assert_close(&many, &one, CLOSE);
        result_free(&many);
    }
    result_free(&one);
}

/* Thousands: the exponential of any would overflow, or leave nothing, but for
 * the greatest of the whole vocabulary. */
static double loss_of_great_logits(int tp)
{
    const struct mtlm_program_config config = small_config(tp, 1, 1);
    struct interpreter *in = weights_start(&config, NOISE);
    mtlm_real *word = weight_whole(in, MTLM_PARAM_WORD, -1, 0);
    double loss;

    for (int64_t i = 0; i < config.model.vocab_size * config.model.hidden_size;
         i++)
        word[i] *= 1000;
    weight_put(in, MTLM_PARAM_WORD, -1, word);
    loss = interpreter_loss(in, 0);
    free(word);
    interpreter_destroy(in);
    return loss;
}

static void test_great_logits_have_one_ranks_loss(void **state)
{
    const double one = loss_of_great_logits(1);

    (void) state;
    assert_true(one > 100 && one < INFINITY);
    assert_true(fabs(loss_of_great_logits(2) / one - 1) < CLOSE);
    assert_true(fabs(loss_of_great_logits(4) / one - 1) < CLOSE);
}

/* Both read the same samples here.  A second validation must not add to the
 * first. */
static void test_validation_is_a_forward_pass_without_dropout(void **state)
{
    (void) state;
    for (int tp = 1; tp <= 2; tp++)
        for (int pp = 1; pp <= 4; pp *= 2) {
            struct mtlm_program_config config = small_config(tp, pp, 3);
            struct interpreter *in = weights_start(&config, NOISE);
            const double with = interpreter_loss(in, 0);
            const double valid = interpreter_validation(in);
            double without;

            assert_true(interpreter_validation(in) == valid);
            interpreter_destroy(in);
            config.model.hidden_dropout = config.model.attention_dropout = 0;
            in = weights_start(&config, NOISE);
            without = interpreter_loss(in, 0);
            assert_true(fabs(valid - without) < 1e-14 * without);
            assert_true(fabs(with - without) > 1e-3 * without);
            interpreter_destroy(in);
        }
}

/* Seven microbatches: as one piece, and in several, of which the last one is
 * shorter. */
static void test_pieces_of_a_validation_are_its_sum(void **state)
{
    (void) state;
    for (int pp = 1; pp <= 2; pp++) {
        struct mtlm_program_config config = small_config(1, pp, 7);
        struct interpreter *in;
        double whole, pieces;

        config.eval_microbatches = 7;
        assert_int_equal(mtlm_program_pieces(&config), 1);
        in = weights_start(&config, NOISE);
        whole = interpreter_validation(in);
        interpreter_destroy(in);
        config.microbatches = 3;
        assert_int_equal(mtlm_program_pieces(&config), pp == 1 ? 3 : 2);
        in = weights_start(&config, NOISE);
        pieces = interpreter_validation(in);
        assert_true(fabs(pieces - whole) < 1e-14 * whole);
        assert_true(interpreter_validation(in) == pieces);
        interpreter_destroy(in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipelines_have_one_ranks_gradients_bit_by_bit),
        cmocka_unit_test(test_pipelines_train_as_one_rank_bit_by_bit),
        cmocka_unit_test(test_tensor_parallel_ranks_have_one_ranks_gradients),
        cmocka_unit_test(test_tensor_parallel_ranks_train_as_one_rank),
        cmocka_unit_test(test_data_parallel_ranks_have_one_ranks_gradients),
        cmocka_unit_test(test_data_parallel_ranks_train_as_one_rank),
        cmocka_unit_test(test_the_distributed_optimizer_changes_no_bit),
        cmocka_unit_test(test_parts_are_the_whole),
        cmocka_unit_test(test_the_norm_is_that_of_all_gradients),
        cmocka_unit_test(test_microbatches_add_up_to_one_large_one),
        cmocka_unit_test(test_great_logits_have_one_ranks_loss),
        cmocka_unit_test(test_validation_is_a_forward_pass_without_dropout),
        cmocka_unit_test(test_pieces_of_a_validation_are_its_sum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
