/* The parameters of a model: how many, where, how they begin. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/model.h"
#include "tests/models/papers.h"

/* 12 l h^2 (1 + 13 / 12h + (V + s) / 12lh), arXiv 2104.04473, and the final
 * layernorm's 2h. */
static double formula(const struct mtlm_model *model)
{
    const double l = model->num_layers, h = model->hidden_size;
    const double rows = model->vocab_size + model->seq_length;

    return 12 * l * h * h * (1 + 13 / (12 * h) + rows / (12 * l * h)) + 2 * h;
}

static void test_parameters_are_the_formulas(void **state)
{
    static const int64_t size[][5] = {{1, 1, 1, 1, 1},
                                      {4, 256, 4, 256, 257},
                                      {12, 768, 12, 1024, 50257},
                                      {3, 35, 5, 17, 1001},
                                      {128, 25600, 160, 2048, 51200}};

    (void) state;
    for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
        const int64_t *n = size[i];
        const struct mtlm_model model = gpt(n[0], n[1], n[2], n[3], n[4]);

        assert_true(fabs(mtlm_model_parameters(&model) / formula(&model) - 1)
                    < 1e-15);
    }
}

/* In billions, rounded as published: Megatron-LM's tables of models that were
 * scaled up (arXiv 1909.08053, its version 1.0, arXiv 2104.04473).  124
 * million is GPT-2 small. */
static void test_parameters_are_the_published_ones(void **state)
{
    static const struct {
        int64_t l, h, a, s, v;
        double billions, unit;
    } cases[] = {
        {12, 768, 12, 1024, 50257, 0.124, 0.001},
        {24, 1024, 16, 1024, 50257, 0.355, 0.001},
        {40, 1536, 16, 1024, 51200, 1.213, 0.001},
        {54, 1920, 20, 1024, 51200, 2.490, 0.001},
        {64, 2304, 24, 1024, 51200, 4.199, 0.001},
        {72, 3072, 32, 1024, 51200, 8.317, 0.001},
        {24, 1920, 15, 1024, 51200, 1.163, 0.001},
        {42, 4096, 32, 1024, 51200, 8.672, 0.001},
        {24, 2304, 24, 2048, 51200, 1.7, 0.1},
        {30, 3072, 32, 2048, 51200, 3.6, 0.1},
        {40, 6144, 48, 2048, 51200, 18.4, 0.1},
        {60, 10240, 80, 2048, 51200, 76.1, 0.1},
        {80, 12288, 96, 2048, 51200, 145.6, 0.1},
        {105, 20480, 128, 2048, 51200, 529.6, 0.1},
        {128, 25600, 160, 2048, 51200, 1008.0, 0.1},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct mtlm_model model =
            gpt(cases[i].l, cases[i].h, cases[i].a, cases[i].s, cases[i].v);
        const double billions = mtlm_model_parameters(&model) / 1e9;

        if (fabs(billions - cases[i].billions) > 0.501 * cases[i].unit)
            fail_msg("%d layers of %d: %g, not %g", (int) cases[i].l,
                     (int) cases[i].h, billions, cases[i].billions);
    }
}

/* Exact, tensor by tensor. */
static void test_gpt2_small_has_124439808_parameters(void **state)
{
    const struct mtlm_model model = gpt(12, 768, 12, 1024, 50257);

    (void) state;
    assert_true(mtlm_model_parameters(&model) == 124439808);
}

/* Tensor by tensor: 12 h^2 + 13 h of a layer; embeddings; final layernorm; LM
 * head; pooler and binary head. */
static void test_bert_has_exactly_its_parameters(void **state)
{
    struct mtlm_model model = bert(24, 1024, 16);

    (void) state;
    assert_true(mtlm_model_padded_parameters(&model, 1)
                == 24 * (12 * 1024 * 1024 + 13 * 1024.0)
                       + (30592 + 512 + 2) * 1024 + 2 * 1024
                       + (1024 * 1024 + 3 * 1024 + 30592) + (1024 * 1024 + 1024)
                       + 2 * 1024 + 2);
    assert_true(mtlm_model_padded_parameters(&model, 1) == 336297858);
    assert_true(mtlm_model_padded_parameters(&model, 1)
                    - mtlm_model_parameters(&model)
                == 70 * (1024 + 1));
    model.binary_head = false;
    assert_true(mtlm_model_padded_parameters(&model, 1)
                == 336297858 - (1024 * 1024 + 1024) - 2 * 1024 - 2);
    model = bert(48, 2560, 40);
    assert_int_equal(mtlm_model_padded_vocab(&model, 8), 30720);
    assert_true(fabs(mtlm_model_padded_parameters(&model, 8) / 3.8696e9 - 1)
                < 1e-5);
}

static void test_parameters_live_where_they_are_used(void **state)
{
    struct mtlm_model model = gpt(4, 256, 4, 256, 257);

    (void) state;
    for (int p = 0; p < MTLM_PARAM_PER_LAYER; p++)
        assert_int_equal(mtlm_param_place(&model, p), MTLM_PLACE_LAYER);
    for (int p = MTLM_PARAM_TOKEN_TYPE; p < MTLM_PARAM_COUNT; p++)
        assert_int_equal(mtlm_param_place(&model, p), MTLM_PLACE_NONE);
    model = bert(4, 256, 4);
    assert_int_equal(mtlm_param_place(&model, MTLM_PARAM_WORD),
                     MTLM_PLACE_FIRST);
    assert_int_equal(mtlm_param_place(&model, MTLM_PARAM_TOKEN_TYPE),
                     MTLM_PLACE_FIRST);
    for (int p = MTLM_PARAM_LM_DENSE_WEIGHT; p <= MTLM_PARAM_BINARY_BIAS; p++)
        assert_int_equal(mtlm_param_place(&model, p), MTLM_PLACE_LAST);
    model.binary_head = false;
    assert_int_equal(mtlm_param_place(&model, MTLM_PARAM_LM_BIAS),
                     MTLM_PLACE_LAST);
    for (int p = MTLM_PARAM_POOLER_WEIGHT; p < MTLM_PARAM_COUNT; p++)
        assert_int_equal(mtlm_param_place(&model, p), MTLM_PLACE_NONE);
}

static struct mtlm_model bloom(int64_t l, int64_t h, int64_t a)
{
    struct mtlm_model model = gpt(l, h, a, 2048, 250880);

    model.positions = MTLM_POSITIONS_ALIBI;
    model.embedding_layernorm = true;
    return model;
}

/* The layernorm after the embedding instead of a position embedding. */
static void test_parameters_of_bloom(void **state)
{
    const struct mtlm_model model = bloom(24, 1024, 16);

    (void) state;
    assert_int_equal(mtlm_param_place(&model, MTLM_PARAM_POSITION),
                     MTLM_PLACE_NONE);
    assert_int_equal(mtlm_param_place(&model, MTLM_PARAM_EMBEDDING_GAMMA),
                     MTLM_PLACE_FIRST);
    assert_int_equal(mtlm_param_place(&model, MTLM_PARAM_EMBEDDING_BETA),
                     MTLM_PLACE_FIRST);
    assert_true(mtlm_model_parameters(&model) == 559214592);
    /* Numbers, which key initial values, leave gaps. */
    assert_int_equal(mtlm_param_number(&model, MTLM_PARAM_FINAL_GAMMA, -1),
                     24 * 12 + 2);
    assert_int_equal(mtlm_param_numbers(&model),
                     mtlm_param_number(&model, MTLM_PARAM_EMBEDDING_BETA, -1)
                         + 1);
}

/* The pooler, except of a span's, and a linear layer take the place of the
 * masked-LM head and of the binary head.  All else keeps its number. */
static void test_the_heads_of_tasks_have_their_own_parameters(void **state)
{
    static const struct {
        enum mtlm_head_kind head;
        int64_t classes, rows;
        const char *name;
    } cases[] = {
        {MTLM_HEAD_CLASSIFICATION, 3, 3, "classification_head.weight"},
        {MTLM_HEAD_CHOICE, 4, 1, "multichoice_head.weight"},
        {MTLM_HEAD_SPAN, 0, 2, "qa_outputs.weight"},
    };
    const struct mtlm_model before = bert(24, 1024, 16);
    struct mtlm_model model = before;

    (void) state;
    for (int i = 0; i < 3; i++) {
        const bool pools = cases[i].head != MTLM_HEAD_SPAN;
        struct mtlm_param_info info;

        model.head = cases[i].head;
        model.classes = cases[i].classes;
        assert_int_equal(mtlm_model_choices(&model), i == 1 ? 4 : 1);
        for (int p = 0; p < MTLM_PARAM_COUNT; p++) {
            const bool pooler =
                p == MTLM_PARAM_POOLER_WEIGHT || p == MTLM_PARAM_POOLER_BIAS;

            assert_int_equal(mtlm_param_number(&model, p, 1),
                             mtlm_param_number(&before, p, 1));
            if (p < MTLM_PARAM_LM_DENSE_WEIGHT)
                assert_int_equal(mtlm_param_place(&model, p),
                                 mtlm_param_place(&before, p));
            else
                assert_int_equal(mtlm_param_place(&model, p),
                                 p >= MTLM_PARAM_TASK_WEIGHT
                                         || (pooler && pools)
                                     ? MTLM_PLACE_LAST
                                     : MTLM_PLACE_NONE);
        }
        info = mtlm_param_info(&model, MTLM_PARAM_TASK_WEIGHT, 8);
        assert_string_equal(info.name, cases[i].name);
        assert_int_equal(info.rows, cases[i].rows);
        assert_int_equal(info.cols, 1024);
        assert_int_equal(info.split, -1);
        assert_true(info.std == 0.02 && info.mean == 0 && info.decay);
        assert_true(mtlm_model_padded_parameters(&model, 1)
                    == 24 * (12 * 1024 * 1024 + 13 * 1024.0)
                           + (30592 + 512 + 2) * 1024 + 2 * 1024
                           + pools * (1024 * 1024 + 1024)
                           + cases[i].rows * (1024 + 1));
    }
}

static void test_shards_are_the_whole_in_equal_parts(void **state)
{
    const struct mtlm_model model = bert(4, 256, 4);

    (void) state;
    for (int t = 1; t <= 4; t *= 2)
        for (int p = 0; p < MTLM_PARAM_COUNT; p++) {
            const struct mtlm_param_info info = mtlm_param_info(&model, p, t);

            if (info.split == 0)
                assert_int_equal(info.rows % t, 0);
            if (info.split == 1)
                assert_int_equal(info.cols % t, 0);
            /* Vectors are neither decayed nor split by columns. */
            if (info.cols == 1) {
                assert_int_equal(info.decay, 0);
                assert_int_not_equal(info.split, 1);
            } else {
                assert_int_equal(info.decay, 1);
                assert_true(info.std > 0);
            }
        }
    assert_int_equal(mtlm_param_info(&model, MTLM_PARAM_WORD, 4).rows, 30720);
}

/* Megatron's: N(0, 0.02) everywhere, the layers that write to the residual
 * stream over sqrt(2 l); gains 1, biases 0. */
static void test_initial_weights_are_megatrons(void **state)
{
    const struct mtlm_model model = bert(8, 256, 4);

    (void) state;
    for (int p = 0; p < MTLM_PARAM_COUNT; p++) {
        const struct mtlm_param_info info = mtlm_param_info(&model, p, 1);
        const bool gain = info.cols == 1 && strstr(info.name, "norm")
                          && strstr(info.name, ".weight");
        const bool output =
            p == MTLM_PARAM_PROJ_WEIGHT || p == MTLM_PARAM_FC2_WEIGHT;

        assert_true(info.mean == gain);
        if (info.cols == 1)
            assert_true(info.std == 0);
        else
            assert_true(fabs(info.std - (output ? 0.02 / 4 : 0.02)) < 1e-15);
    }
}

static void test_the_vocabulary_is_padded_to_the_multiple(void **state)
{
    struct mtlm_model model = gpt(4, 256, 4, 256, 50257);

    (void) state;
    assert_int_equal(mtlm_model_padded_vocab(&model, 1), 50304);
    assert_int_equal(mtlm_model_padded_vocab(&model, 2), 50432);
    assert_int_equal(mtlm_model_padded_vocab(&model, 8), 51200);
    model.vocab_size = 51200;
    assert_int_equal(mtlm_model_padded_vocab(&model, 8), 51200);
    model.vocab_size = 1;
    model.vocab_multiple = 1;
    assert_int_equal(mtlm_model_padded_vocab(&model, 1), 1);
}

/* Each once, none left out. */
static void test_parameters_are_numbered_through(void **state)
{
    const struct mtlm_model models[] = {gpt(5, 256, 4, 256, 257),
                                        bert(5, 256, 4)};

    (void) state;
    for (int i = 0; i < 2; i++) {
        const struct mtlm_model *model = &models[i];
        const int64_t n = mtlm_param_numbers(model);
        int *seen = calloc(n, sizeof(*seen));

        assert_int_equal(n, 5 * 12 + (i ? 14 : 4));
        for (int64_t l = 0; l < 5; l++)
            for (int p = 0; p < MTLM_PARAM_PER_LAYER; p++)
                seen[mtlm_param_number(model, p, l)]++;
        for (int p = MTLM_PARAM_PER_LAYER; p < MTLM_PARAM_COUNT; p++)
            if (mtlm_param_place(model, p) != MTLM_PLACE_NONE)
                seen[mtlm_param_number(model, p, -1)]++;
        for (int64_t p = 0; p < n; p++)
            assert_int_equal(seen[p], 1);
        free(seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters_are_the_formulas),
        cmocka_unit_test(test_parameters_are_the_published_ones),
        cmocka_unit_test(test_gpt2_small_has_124439808_parameters),
        cmocka_unit_test(test_bert_has_exactly_its_parameters),
        cmocka_unit_test(test_parameters_live_where_they_are_used),
        cmocka_unit_test(test_parameters_of_bloom),
        cmocka_unit_test(test_the_heads_of_tasks_have_their_own_parameters),
        cmocka_unit_test(test_shards_are_the_whole_in_equal_parts),
        cmocka_unit_test(test_initial_weights_are_megatrons),
        cmocka_unit_test(test_the_vocabulary_is_padded_to_the_multiple),
        cmocka_unit_test(test_parameters_are_numbered_through),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
