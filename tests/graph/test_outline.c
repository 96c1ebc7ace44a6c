/* Plans of ranks that do not exist. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/build/ring.h"
#include "graph/predict/choose.h"
#include "graph/schedule/window.h"
#include "tests/graph/small.h"

/* ---- outlines ---- */

/* An outline writes no items down; all else is as when the program runs. */
static void test_outlines_are_the_plans_of_whole_programs(void **state)
{
    (void) state;
    for (int i = 0; i < small_n_cases; i++) {
        const struct mtlm_program_config config =
            small_case_config(&small_cases[i]);
        struct mtlm_outline outline = mtlm_outline_create(&config, 1000);
        struct small_ranks ranks = small_ranks_create(&config);
        double most = 0;

        for (int r = 0; r < ranks.n; r++) {
            const struct mtlm_plan want = mtlm_plan(ranks.program[r], 1000);
            const struct mtlm_plan *have = mtlm_outline_plan(&outline, r);

            assert_int_equal(want.tasks, ranks.program[r]->train.n);
            assert_true(have->weight_bytes == want.weight_bytes);
            assert_true(have->activation_bytes == want.activation_bytes);
            /* The first rank of a tensor-parallel group has more to do. */
            assert_true(have->total_bytes >= want.total_bytes);
            assert_true(have->tasks >= want.tasks);
            assert_true(have->total_bytes < 1.1 * want.total_bytes);
            if (ranks.program[r]->config.layout.tp_rank == 0)
                assert_memory_equal(have, &want,
                                    offsetof(struct mtlm_plan, longest_name));
            most = fmax(most, have->total_bytes - 1000);
        }
        assert_true(mtlm_outline_host_bytes(&outline, 1) == most);
        assert_true(mtlm_outline_host_bytes(&outline, ranks.n)
                    >= most * (ranks.n > 1 ? 1.1 : 1));
        small_ranks_destroy(&ranks);
        mtlm_outline_destroy(&outline);
    }
}

/* The gradients of a layer, 12 h^2 = 7.9e9 of them, are one message, and so are
 * those of a tied embedding.  Microbatches do not shorten them. */
static void test_long_messages_of_gradients_need_tensor_parallelism(
    void **state)
{
    static const char hint[] = "; a larger --tensor-model-parallel-size would "
                               "do";
    struct mtlm_program_config config = small_config(1, 1, 1);
    struct mtlm_outline outline;
    struct mtlm_error err;

    (void) state;
    config.model.num_layers = 2;
    config.model.hidden_size = 25600;
    config.model.ffn_hidden_size = 4 * 25600;
    config.layout.dp = 2;
    outline = mtlm_outline_create(&config, 0);
    assert_int_equal(mtlm_outline_check_counts(&outline, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_RESOURCE);
    assert_non_null(strstr(err.text, "bucket_all_reduce of "));
    assert_non_null(strstr(err.text, hint));
    mtlm_outline_destroy(&outline);
    config.layout.dp = 1;
    config.layout.pp = 2;
    outline = mtlm_outline_create(&config, 0);
    assert_int_equal(mtlm_outline_check_counts(&outline, &err), 0);
    mtlm_outline_destroy(&outline);
    config.model.vocab_size = 100000;
    outline = mtlm_outline_create(&config, 0);
    assert_int_equal(mtlm_outline_check_counts(&outline, &err), -1);
    assert_non_null(strstr(err.text, hint));
    mtlm_outline_destroy(&outline);
}

/* Weights, and what a validation has in hand at a time: a batch of it has as
 * many tasks as it has nodes. */
static void test_evaluation_alone_has_weights_only(void **state)
{
    (void) state;
    for (int i = 0; i < small_n_cases; i++) {
        struct mtlm_program_config config = small_case_config(&small_cases[i]);
        struct small_ranks trained, alone;

        config.eval_microbatches = 2 * config.microbatches;
        trained = small_ranks_create(&config);
        config.eval_only = true;
        alone = small_ranks_create(&config);
        for (int r = 0; r < alone.n; r++) {
            const struct mtlm_program *p = alone.program[r];
            const struct mtlm_items *want = &trained.program[r]->eval;
            const struct mtlm_plan plan = mtlm_plan(p, 0);
            const struct mtlm_plan with = mtlm_plan(trained.program[r], 0);
            const int64_t batch = (int64_t) p->eval.n * config.microbatches
                                  / mtlm_program_piece(&config);

            assert_int_equal(p->train.n, 0);
            assert_int_equal(p->eval.n, want->n);
            for (int k = 0; k < want->n; k++) {
                const struct mtlm_call *a = &p->eval.item[k].node->call;
                const struct mtlm_call *b = &want->item[k].node->call;

                assert_int_equal(a->kind, b->kind);
                assert_memory_equal(a->shape, b->shape, sizeof(a->shape));
            }
            assert_true(plan.gradient_bytes == 0 && plan.moment_bytes == 0);
            assert_true(plan.weight_bytes == with.weight_bytes);
            assert_true(plan.activation_bytes < with.activation_bytes);
            assert_true(plan.tasks >= batch - 8 && plan.tasks <= batch);
        }
        small_ranks_destroy(&alone);
        small_ranks_destroy(&trained);
    }
}

/* Only a piece of a validation is there at a time. */
static void test_a_long_validation_takes_no_more_memory(void **state)
{
    struct mtlm_program_config config = small_config(1, 1, 3);
    double bytes[2];

    (void) state;
    for (int i = 0; i < 2; i++) {
        struct mtlm_outline outline;

        config.eval_microbatches = i == 0 ? 3 : 3000000000000;
        outline = mtlm_outline_create(&config, 0);
        bytes[i] = outline.plan[0].total_bytes;
        mtlm_outline_destroy(&outline);
        assert_true(mtlm_plan_lower_bound(&config, false) < INFINITY);
    }
    assert_true(bytes[0] == bytes[1]);
}

static void test_what_the_process_has_comes_on_top(void **state)
{
    const struct mtlm_program_config config = small_config(1, 1, 2);
    struct mtlm_outline without = mtlm_outline_create(&config, 0);
    struct mtlm_outline with = mtlm_outline_create(&config, 1e6);

    (void) state;
    assert_true(with.plan[0].runtime_bytes
                == without.plan[0].runtime_bytes + 1e6);
    assert_true(with.plan[0].total_bytes == without.plan[0].total_bytes + 1e6);
    assert_true(mtlm_plan_more_bytes(&with.plan[0])
                == mtlm_plan_more_bytes(&without.plan[0]));
    mtlm_outline_destroy(&without);
    mtlm_outline_destroy(&with);
}

/* ---- messages, against closed formulas ---- */

static double elements(const struct mtlm_plan *plan,
                       enum mtlm_traffic_kind kind)
{
    return plan->traffic[kind].bytes / sizeof(mtlm_real);
}

/* Of each layer and microbatch 8 b s h (t - 1) / t elements, arXiv 2104.04473,
 * section 3.2: four all-reduces. */
static void test_tensor_parallel_messages_are_the_formula(void **state)
{
    (void) state;
    for (int t = 1; t <= 4; t *= 2) {
        const struct mtlm_program_config config = small_config(t, 4, 6);
        const double bsh = config.micro_batch * config.model.seq_length
                           * config.model.hidden_size;
        struct mtlm_outline outline = mtlm_outline_create(&config, 0);
        const double layer = 6 * 8 * bsh * (t - 1) / t;

        for (int i = 1; i <= 2; i++)
            assert_true(elements(&outline.plan[i], MTLM_TRAFFIC_TP) == layer);
        /* The embedding's sum; the output layer's, and its loss. */
        assert_true(elements(&outline.plan[0], MTLM_TRAFFIC_TP)
                    == layer * 5 / 4);
        assert_true(elements(&outline.plan[3], MTLM_TRAFFIC_TP) >= layer * 5 / 4
                    && elements(&outline.plan[3], MTLM_TRAFFIC_TP)
                           <= layer * 6 / 4);
        mtlm_outline_destroy(&outline);
    }
}

/* b s h elements across each boundary, forward and backward. */
static void test_pipeline_messages_are_the_formula(void **state)
{
    const struct mtlm_program_config config = small_config(2, 4, 6);
    const double bsh =
        config.micro_batch * config.model.seq_length * config.model.hidden_size;
    struct mtlm_outline outline = mtlm_outline_create(&config, 0);

    (void) state;
    for (int i = 0; i < 4; i++)
        assert_true(elements(&outline.plan[i], MTLM_TRAFFIC_PP)
                    == 6 * bsh * (i % 3 ? 2 : 1));
    mtlm_outline_destroy(&outline);
}

/* The first and the last stage exchange their part of the vocabulary once. */
static void test_the_tied_embedding_is_sent_once(void **state)
{
    const struct mtlm_program_config config = small_config(2, 4, 6);
    const double rows = mtlm_model_padded_vocab(&config.model, 2) / 2;
    struct mtlm_outline outline = mtlm_outline_create(&config, 0);

    (void) state;
    for (int i = 0; i < 4; i++) {
        assert_true(elements(&outline.plan[i], MTLM_TRAFFIC_EMBEDDING)
                    == (i % 3 ? 0 : rows * config.model.hidden_size));
        assert_int_equal(
            outline.plan[i].traffic[MTLM_TRAFFIC_EMBEDDING].messages,
            i % 3 == 0);
    }
    mtlm_outline_destroy(&outline);
}

/* All gradients are added up: 2 (d - 1) / d of them are sent, whether each rank
 * gets all sums or its own, and then the others' weights.  Of the padding
 * between them less than a hundredth. */
static void test_replicas_send_their_gradients_once(void **state)
{
    (void) state;
    for (int distributed = 0; distributed < 2; distributed++)
        for (int dp = 1; dp <= 4; dp++) {
            struct mtlm_program_config config = small_config(2, 2, 3);
            struct mtlm_outline outline;

            config.model.hidden_size = 128;
            config.layout.dp = dp;
            config.distributed_optimizer = distributed;
            config.bucket_size = 1; /* a bucket of each layer */
            outline = mtlm_outline_create(&config, 0);
            for (int i = 0; i < 2; i++) {
                const struct mtlm_plan *plan = &outline.plan[i];
                const double copy = /* of the word embedding */
                    i == 1 ? mtlm_model_padded_vocab(&config.model, 2) / 2 * 128
                           : 0;
                const double want =
                    2.0 * (dp - 1) / dp * (plan->parameters + copy);
                const double have = elements(plan, MTLM_TRAFFIC_DP);

                assert_true(have >= want && have <= 1.01 * want);
                /* Two layers and a word embedding on either side, and the
                 * positions. */
                assert_int_equal(
                    plan->traffic[MTLM_TRAFFIC_DP].messages,
                    dp == 1 ? 0 : (distributed ? 2 : 1) * (i == 0 ? 4 : 3));
            }
            mtlm_outline_destroy(&outline);
        }
}

/* ---- sizes ---- */

static struct mtlm_program_config large_config(void)
{
    struct mtlm_program_config config = small_config(8, 64, 512);

    config.model = (struct mtlm_model){.num_layers = 128,
                                       .hidden_size = 25600,
                                       .num_heads = 160,
                                       .ffn_hidden_size = 4 * 25600,
                                       .seq_length = 2048,
                                       .max_positions = 2048,
                                       .vocab_size = 51200,
                                       .vocab_multiple = 128,
                                       .layernorm_epsilon = 1e-5,
                                       .init_std = 0.02};
    config.micro_batch = 1;
    config.eval_microbatches = 51200;
    return config;
}

/* A trillion parameters on 512 ranks: 12 h^2 / 8 + 13 h split and whole per
 * layer; nothing of it is allocated. */
static void test_a_trillion_parameters_are_planned_at_once(void **state)
{
    const struct mtlm_program_config config = large_config();
    const double h = 25600, layer = 12 * h * h / 8 + 7 * h / 8 + 6 * h;
    struct mtlm_outline outline = mtlm_outline_create(&config, 0);

    (void) state;
    for (int i = 1; i < 63; i++) {
        assert_true(outline.plan[i].parameters == 2 * layer);
        assert_true(outline.plan[i].weight_bytes
                    == 2 * layer * sizeof(mtlm_real));
        assert_int_equal(outline.plan[i].stage, i);
        assert_int_equal(outline.plan[i].first_layer, 2 * i);
    }
    assert_int_equal(outline.plan[0].window.w, 64);
    assert_int_equal(outline.plan[63].window.w, 1);
    mtlm_outline_destroy(&outline);
}

/* arXiv 2205.05198, table 2: 34 b s h bytes of a layer's microbatch with 16
 * bits a value, without attention's scores, which are not kept here.  Values
 * have 32 bits here, and gradients of activations have room of their own. */
static void test_activations_are_of_the_size_that_is_known(void **state)
{
    struct mtlm_program_config config = large_config();
    double layer;
    struct mtlm_outline outline;

    (void) state;
    config.layout.tp = config.layout.pp = 1;
    config.microbatches = 1;
    config.eval_microbatches = 0;
    outline = mtlm_outline_create(&config, 0);
    layer = outline.plan[0].activation_bytes / config.model.num_layers / 2048
            / 25600 * sizeof(float) / sizeof(mtlm_real);
    assert_true(layer > 2 * 34 && layer < 8 * 34);
    mtlm_outline_destroy(&outline);
}

/* arXiv 1910.02054, stage 1: every rank has the moments of its share; in 16
 * bits, of d ranks, 6 + 12 / d bytes a parameter, as in Megatron-LM. */
static void test_the_distributed_optimizer_shares_the_moments(void **state)
{
    struct mtlm_program_config config = large_config();
    struct mtlm_plan all, share;

    (void) state;
    config.layout.dp = 6;
    config.microbatches = 2;
    all = mtlm_outline_stage(&config, 1, 0);
    config.distributed_optimizer = true;
    share = mtlm_outline_stage(&config, 1, 0);
    assert_true(all.moment_bytes == 2 * all.weight_bytes);
    assert_true(fabs(share.moment_bytes / all.moment_bytes * 6 - 1) < 1e-6);
    assert_true(share.weight_bytes == all.weight_bytes);
    assert_true(share.gradient_bytes == all.gradient_bytes);
    config.value = MTLM_BF16;
    share = mtlm_outline_stage(&config, 1, 0);
    assert_true(
        fabs((share.weight_bytes + share.gradient_bytes + share.moment_bytes)
                 / share.parameters
             - (2 + (1 + 3 / 6.) * sizeof(mtlm_real)))
        < 1e-5);
    config.value = MTLM_REAL;
    config.layout.dp = 1;
    share = mtlm_outline_stage(&config, 1, 0);
    assert_true(share.moment_bytes == all.moment_bytes);
    assert_true(share.gradient_bytes == all.gradient_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outlines_are_the_plans_of_whole_programs),
        cmocka_unit_test(test_what_the_process_has_comes_on_top),
        cmocka_unit_test(
            test_long_messages_of_gradients_need_tensor_parallelism),
        cmocka_unit_test(test_evaluation_alone_has_weights_only),
        cmocka_unit_test(test_a_long_validation_takes_no_more_memory),
        cmocka_unit_test(test_tensor_parallel_messages_are_the_formula),
        cmocka_unit_test(test_pipeline_messages_are_the_formula),
        cmocka_unit_test(test_the_tied_embedding_is_sent_once),
        cmocka_unit_test(test_replicas_send_their_gradients_once),
        cmocka_unit_test(test_the_distributed_optimizer_shares_the_moments),
        cmocka_unit_test(test_a_trillion_parameters_are_planned_at_once),
        cmocka_unit_test(test_activations_are_of_the_size_that_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
