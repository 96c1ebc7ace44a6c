/* Sequence parallelism: tensor-parallel ranks share the rows of what they do
 * not split otherwise, and train as one rank does. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/predict/plan.h"
#include "tests/graph/small.h"
#include "tests/graph/weights.h"

#define CLOSE 1e-12
#define NOISE 0.1

static struct mtlm_program_config config_of(const struct small_model *model,
                                            int tp, int64_t microbatches)
{
    struct mtlm_program_config config =
        small_model_config(model, tp, 1, microbatches);

    /* Ranks must be able to share the parts. */
    if (config.row_parts == 5)
        config.row_parts = 3;
    config.sequence_parallel = true;
    return config;
}

static void test_ranks_that_share_rows_have_one_ranks_gradients(void **state)
{
    (void) state;
    for (int i = 0; i < small_n_models; i++) {
        struct mtlm_program_config config = config_of(&small_models[i], 1, 3);
        struct result one = result_of(&config, NOISE, 1);

        for (int tp = 2; tp <= 4; tp *= 2) {
            struct result many;

            if (config.row_parts == 2 && tp == 4)
                continue; /* 6 rows */
            config.layout.tp = tp;
            many = result_of(&config, NOISE, 1);
            assert_close(&many, &one, CLOSE);
            result_free(&many);
        }
        result_free(&one);
    }
}

static void test_pipelines_of_them_train_alike_bit_by_bit(void **state)
{
    static const struct {
        int pp, virtual_stages;
    } pipelines[] = {{2, 1}, {4, 1}, {2, 2}};

    (void) state;
    for (int i = 0; i < small_n_models; i++) {
        struct mtlm_program_config config = config_of(&small_models[i], 2, 5);
        struct result one = result_of(&config, NOISE, 3);

        for (int p = 0; p < 3; p++) {
            struct result many;

            config.layout.pp = pipelines[p].pp;
            config.layout.virtual_stages = pipelines[p].virtual_stages;
            many = result_of(&config, NOISE, 3);
            assert_close(&many, &one, 0);
            result_free(&many);
        }
        result_free(&one);
    }
}

static void test_recomputation_changes_no_bit(void **state)
{
    static const struct mtlm_recompute ways[] = {
        {.granularity = MTLM_RECOMPUTE_SELECTIVE},
        {MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 1},
        {MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 3},
        {MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_BLOCK, 1}};

    (void) state;
    for (int i = 0; i < small_n_models; i++) {
        struct mtlm_program_config config = config_of(&small_models[i], 2, 3);
        struct result kept = result_of(&config, NOISE, 3);

        for (int w = 0; w < 4; w++) {
            struct result again;

            config.recompute = ways[w];
            config.layout.pp = 1 + w % 2;
            again = result_of(&config, NOISE, 3);
            assert_close(&again, &kept, 0);
            result_free(&again);
        }
        result_free(&kept);
    }
}

/* ---- structure ---- */

/* A part of a layer's half is gathered once, and its sum is scattered, forward;
 * backward the other way round; and it is gathered again for the weights (arXiv
 * 2205.05198, section 4.2.2).  The embedding's sum and the output layer's input
 * add half of that each, and the cross-entropy its two all-reduces. */
static void test_the_meetings_of_a_layer_are_the_papers(void **state)
{
    (void) state;
    for (int pp = 1; pp <= 2; pp++)
        for (int parts = 1; parts <= 3; parts++) {
            struct mtlm_program_config config = small_config(2, pp, 5);
            struct small_ranks ranks;

            config.sequence_parallel = true;
            config.row_parts = parts;
            ranks = small_ranks_create(&config);
            for (int r = 0; r < ranks.n; r++) {
                const struct mtlm_program *p = ranks.program[r];
                const struct mtlm_stage *stage = &p->stage[0];
                const int layers = stage->n_layers, each = 5 * parts;

                assert_int_equal(
                    small_count(&p->train, MTLM_OP_ALL_GATHER),
                    each * (6 * layers + stage->first + 2 * stage->last));
                assert_int_equal(
                    small_count(&p->train, MTLM_OP_REDUCE_SCATTER),
                    each * (4 * layers + stage->first + stage->last));
            }
            small_ranks_destroy(&ranks);
        }
}

/* Table 2 of arXiv 2205.05198: all that a layer keeps is divided by t; without
 * sequence parallelism its layernorms and residuals are not. */
static void test_a_layer_keeps_its_share_of_everything(void **state)
{
    (void) state;
    for (int m = 0; m < small_n_models; m++)
        for (int tp = 2; tp <= 4; tp *= 2) {
            struct mtlm_program_config config =
                config_of(&small_models[m], 1, 3);
            double one, shared, whole;

            if (config.row_parts == 2 && tp == 4)
                continue;
            one = small_kept_bytes(config, 8) - small_kept_bytes(config, 4);
            config.layout.tp = tp;
            shared = small_kept_bytes(config, 8) - small_kept_bytes(config, 4);
            config.sequence_parallel = false;
            whole = small_kept_bytes(config, 8) - small_kept_bytes(config, 4);
            assert_true(shared == one / tp);
            assert_true(whole > shared);
        }
}

/* What is gathered takes the memory of two layers, however many there are. */
static void test_gathered_rows_share_their_memory(void **state)
{
    struct mtlm_program_config config = small_config(2, 1, 7);
    double bytes[2];

    (void) state;
    for (int sequence = 0; sequence < 2; sequence++) {
        config.model.num_layers = 24;
        config.sequence_parallel = sequence;
        bytes[sequence] = small_plan(&config).activation_bytes;
    }
    print_message("# %.0f bytes, sharing rows %.0f\n", bytes[0], bytes[1]);
    assert_true(bytes[1] < bytes[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_that_share_rows_have_one_ranks_gradients),
        cmocka_unit_test(test_pipelines_of_them_train_alike_bit_by_bit),
        cmocka_unit_test(test_recomputation_changes_no_bit),
        cmocka_unit_test(test_the_meetings_of_a_layer_are_the_papers),
        cmocka_unit_test(test_a_layer_keeps_its_share_of_everything),
        cmocka_unit_test(test_gathered_rows_share_their_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
