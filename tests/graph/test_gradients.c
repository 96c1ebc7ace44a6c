/* The gradients of whole GPTs and BERTs, in double precision, against central
 * differences of its loss: every parameter, in every layout. */

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
#include "tests/tier.h"
#include "tests/worse.h"

#define BOUND 1e-6

enum { DIRECTION_SEED = 99 };

/* Where a weight's derivative is taken. */
struct line {
    struct interpreter *in;
    struct weight weight;
    mtlm_real *at, *direction; /* of unit length */
};

/* The loss at weight + step * direction. */
static double loss_at(const struct line *line, double step)
{
    const int64_t whole = line->weight.info.rows * line->weight.info.cols;
    mtlm_real *moved = mtlm_calloc(whole, sizeof(*moved));
    double loss;

    memcpy(moved, line->at, whole * sizeof(*moved));
    for (int64_t i = 0; i < line->weight.n; i++)
        moved[i] += step * line->direction[i];
    weight_put(line->in, line->weight.kind, line->weight.layer, moved);
    loss = interpreter_loss(line->in, 0);
    free(moved);
    return loss;
}

/* Central differences with step h, or with h and 2h, whose error is of fourth
 * order: the derivatives across a large step say little about a flaw. */
static double difference(const struct line *line, double h, bool two_steps)
{
    const double one = loss_at(line, h) - loss_at(line, -h);
    double two = 0;

    if (two_steps)
        two = loss_at(line, 2 * h) - loss_at(line, -2 * h);
    weight_put(line->in, line->weight.kind, line->weight.layer, line->at);
    return two_steps ? (8 * one - two) / (12 * h) : one / (2 * h);
}

/* Relative error of the derivative along a random unit direction.  One almost
 * at right angles to the gradient shows the rounding of the loss only. */
static double direction_error(struct interpreter *in,
                              const struct weight *weight,
                              const mtlm_real *gradient, int64_t number,
                              double h, bool two_steps)
{
    struct line line = {.in = in,
                        .weight = *weight,
                        .at = weight_whole(in, weight->kind, weight->layer, 0),
                        .direction = mtlm_calloc(weight->n, sizeof(mtlm_real))};
    double norm = 0, size = 0, got = 0, want;

    normal_numbers(line.direction, weight->n, DIRECTION_SEED, number);
    for (int64_t i = 0; i < weight->n; i++)
        norm += line.direction[i] * line.direction[i];
    norm = sqrt(norm);
    for (int64_t i = 0; i < weight->n; i++) {
        line.direction[i] /= norm;
        got += gradient[i] * line.direction[i];
        size += gradient[i] * gradient[i];
    }
    want = difference(&line, h, two_steps);
    free(line.at);
    free(line.direction);
    assert_true(size > 0);
    return fabs(got - want)
           / fmax(fmax(fabs(got), fabs(want)), 1e-2 * sqrt(size / weight->n));
}

/* Whether the bias adds the same to all logits of a softmax, and so does
 * nothing. */
static bool is_shared_bias(const struct mtlm_program_config *config,
                           const struct weight *weight)
{
    const enum mtlm_head_kind head = config->model.head;

    if (weight->kind == MTLM_PARAM_FINAL_BETA)
        return head == MTLM_HEAD_SPAN;
    return weight->kind == MTLM_PARAM_TASK_BIAS
           && (head == MTLM_HEAD_SPAN || head == MTLM_HEAD_CHOICE);
}

/* A shared bias has the gradient 0, rounding aside. */
static void assert_no_gradient(const mtlm_real *gradient, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs(gradient[i]) < 1e-14);
}

/* The worst of all parameters. */
static void check_all(const char *name,
                      const struct mtlm_program_config *config, double noise,
                      double h, bool two_steps)
{
    struct interpreter *in = weights_start(config, noise);
    const int64_t numbers = mtlm_param_numbers(&config->model);
    mtlm_real **gradient;
    double worst = 0, loss;

    interpreter_iteration(in, 0, true);
    gradient = weights_read(in, 1);
    loss = interpreter_loss(in, 0);
    for (int r = 0; r < mtlm_layout_ranks(&config->layout); r++)
        assert_true(fabs(weights_control(in, r, MTLM_CONTROL_LOSS)
                         + weights_control(in, r, MTLM_CONTROL_SOP) - loss)
                    < 1e-14 * loss);
    for (int64_t i = 0; i < numbers; i++) {
        const struct weight w = weight_number(config, i);
        double error;

        if (!weight_exists(config, i))
            continue;
        if (is_shared_bias(config, &w)) {
            assert_no_gradient(gradient[i], w.n);
            continue;
        }
        error = direction_error(in, &w, gradient[i], i, h, two_steps);
        if (!(error <= BOUND))
            print_message("# %s: off by %g\n", w.name, error);
        worst = worse(worst, error);
    }
    print_message("# %s, t %d p %d d %d: worst of all parameters %.2g\n", name,
                  config->layout.tp, config->layout.pp, config->layout.dp,
                  worst);
    assert_true(worst <= BOUND);
    weights_free(in, gradient);
    interpreter_destroy(in);
}

static void test_every_gradient_is_the_slope_of_the_loss(void **state)
{
    /* Other pipelines have these bits (tests/graph/test_layouts.c). */
    static const int sizes[][2] = {{1, 1}, {2, 2}, {2, 1}, {1, 4}};
    const int n = full_tier() ? 4 : 2;

    (void) state;
    for (int i = 0; i < small_n_models; i++)
        for (int j = 0; j < n; j++) {
            const struct mtlm_program_config config = small_model_config(
                &small_models[i], sizes[j][0], sizes[j][1], 2);

            check_all(small_models[i].name, &config, 0.1, 1e-3, true);
        }
}

/* With rows shared among tensor-parallel ranks, and with activations computed
 * again: whole layers, or attention alone. */
static void test_shared_rows_and_recomputation_have_these_slopes(void **state)
{
    static const struct mtlm_recompute ways[] = {
        {.granularity = MTLM_RECOMPUTE_NONE},
        {.granularity = MTLM_RECOMPUTE_SELECTIVE},
        {MTLM_RECOMPUTE_FULL, MTLM_RECOMPUTE_UNIFORM, 2}};

    (void) state;
    for (int i = 0; i < small_n_models; i++)
        for (int w = 0; w < 3; w++) {
            struct mtlm_program_config config =
                small_model_config(&small_models[i], 2, 1 + w % 2, 2);

            if (config.row_parts == 5)
                config.row_parts = 3; /* of an even number of rows */
            config.sequence_parallel = true;
            config.recompute = ways[w];
            check_all(small_models[i].name, &config, 0.1, 1e-3, true);
        }
}

/* With the batch shared: sums of all replicas, or of each its own pieces. */
static void test_replicas_have_these_slopes_together(void **state)
{
    (void) state;
    for (int i = 0; i < small_n_models; i++)
        for (int dp = full_tier() ? 2 : 4; dp <= 4; dp *= 2) {
            struct mtlm_program_config config =
                small_model_config(&small_models[i], 1 + i % 2, dp / 2, 1);

            config.layout.dp = dp;
            config.distributed_optimizer = (i + dp / 2) % 2;
            config.bucket_size = 1;
            check_all(small_models[i].name, &config, 0.1, 1e-3, true);
        }
}

/* As wide as a user gets it, but for one short sample only. */
static void check_tiny(const char *name, const struct small_model *model,
                       int64_t seq_length)
{
    struct mtlm_program_config config = small_model_config(model, 1, 1, 1);

    config.model.hidden_size = 256;
    config.model.ffn_hidden_size = 1024;
    config.model.seq_length = config.model.max_positions = seq_length;
    config.model.vocab_size = 256;
    config.model.vocab_multiple = 128;
    config.micro_batch = 1;
    config.train = &small_full_source;
    check_all(name, &config, 0.02, 1e-3, true);
}

static void test_gpt_tinys_gradients_are_the_slopes_of_its_loss(void **state)
{
    const struct small_model gpt = {.family = MTLM_GPT};

    (void) state;
    check_tiny("gpt-tiny", &gpt, 96);
}

/* Both places where layernorm may stand; in the quick tier one of them, since
 * the small models have both. */
static void test_bert_tinys_gradients_are_the_slopes_of_its_loss(void **state)
{
    struct small_model bert = {.family = MTLM_BERT, .binary_head = true};

    (void) state;
    check_tiny("bert-tiny", &bert, 64);
    if (!full_tier())
        return;
    bert.post_layernorm = true;
    check_tiny("bert-tiny, post-LN", &bert, 64);
}

/* Scores of one query shifted by the same amount give the same
 * probabilities: the key bias does nothing, rounding aside. */
static void test_the_key_bias_has_no_gradient(void **state)
{
    const struct mtlm_program_config config = small_config(1, 1, 2);
    struct interpreter *in = weights_start(&config, 0.1);
    const int64_t head = config.model.hidden_size / config.model.num_heads;

    (void) state;
    interpreter_iteration(in, 0, true);
    for (int64_t l = 0; l < config.model.num_layers; l++) {
        mtlm_real *bias = weight_whole(in, MTLM_PARAM_QKV_BIAS, l, 1);
        double part[3] = {0};

        for (int64_t i = 0; i < 3 * config.model.hidden_size; i++)
            part[i / head % 3] += bias[i] * bias[i];
        assert_true(part[0] > 0 && part[2] > 0);
        assert_true(sqrt(part[1]) < 1e-13 * sqrt(part[0]));
        free(bias);
    }
    interpreter_destroy(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_gradient_is_the_slope_of_the_loss),
        cmocka_unit_test(test_shared_rows_and_recomputation_have_these_slopes),
        cmocka_unit_test(test_replicas_have_these_slopes_together),
        cmocka_unit_test(test_gpt_tinys_gradients_are_the_slopes_of_its_loss),
        cmocka_unit_test(test_bert_tinys_gradients_are_the_slopes_of_its_loss),
        cmocka_unit_test(test_the_key_bias_has_no_gradient),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
