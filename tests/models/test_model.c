/* What a model is: floating-point operations, what is refused, presets. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "models/model.h"
#include "models/presets.h"
#include "tests/models/papers.h"

/* ---- floating-point operations ---- */

static void test_flops_are_those_of_the_matrix_products(void **state)
{
    const struct mtlm_model model = gpt(24, 1024, 16, 512, 51200);
    const double tokens = 8.0 * 512, h = 1024;
    /* QKV, attention's two products, projection, the two of the MLP. */
    const double layer =
        2 * h * 3 * h + 2 * 2 * 512 * h + 2 * h * h + 2 * 2 * h * 4 * h;
    const double forward = tokens * (24 * layer + 2 * h * 51200);

    (void) state;
    assert_true(fabs(mtlm_model_flops(&model, 8) / (3 * forward) - 1) < 1e-15);
}

static void test_flops_know_the_width_of_the_mlp(void **state)
{
    struct mtlm_model model = gpt(24, 1024, 16, 512, 51200);
    const double wide = mtlm_model_flops(&model, 8);

    (void) state;
    model.ffn_hidden_size = 256;
    /* Two products, forward and twice backward. */
    assert_true(fabs(wide - mtlm_model_flops(&model, 8)
                     - 6.0 * 8 * 512 * 24 * 2 * 1024 * (4096 - 256))
                < 1e-12 * wide);
}

/* The LM head's dense layer comes on top; figures per sample
 * from the sizes of arXiv 1909.08053. */
static void test_flops_of_bert_are_the_published_ones(void **state)
{
    const struct mtlm_model large = bert(24, 1024, 16);
    const struct mtlm_model largest = bert(48, 2560, 40);
    struct mtlm_model as_gpt = large;

    (void) state;
    as_gpt.family = MTLM_GPT;
    assert_true(mtlm_model_flops(&large, 3) - mtlm_model_flops(&as_gpt, 3)
                == 6.0 * 3 * 512 * 1024 * 1024);
    assert_true(fabs(mtlm_model_flops(&large, 1) / 1.10e12 - 1) < 0.005);
    assert_true(fabs(mtlm_model_flops(&largest, 1) / 1.224e13 - 1) < 0.0005);
}

/* With each layer's forward pass done twice, which the logits' is not: what
 * Megatron's published rates count. */
static double flops_with_recomputation(const struct mtlm_model *model,
                                       double batch)
{
    const double logits = 6 * batch * model->seq_length * model->hidden_size
                          * mtlm_model_padded_vocab(model, 1);

    return (mtlm_model_flops(model, batch) - logits) * 4 / 3 + logits;
}

/* arXiv 2104.04473, table 1: 1.7 billion parameters at 137 TFLOP/s on 32 GPUs
 * take 3.53 s per iteration, a trillion at 163 on 3072 take 102.63 s. */
static void test_flops_explain_published_rates(void **state)
{
    const struct mtlm_model small = gpt(24, 2304, 24, 2048, 51200);
    const struct mtlm_model trillion = gpt(128, 25600, 160, 2048, 51200);

    (void) state;
    assert_true(
        fabs(flops_with_recomputation(&small, 512) / 3.53 / 32 / 137e12 - 1)
        < 0.005);
    assert_true(
        fabs(flops_with_recomputation(&trillion, 3072) / 102.63 / 3072 / 163e12
             - 1)
        < 0.005);
}

/* ---- what is refused ---- */

static void assert_refused(const struct mtlm_model *model, const char *text)
{
    struct mtlm_error err;

    assert_int_equal(mtlm_model_check(model, &err), -1);
    assert_string_equal(err.text, text);
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
}

static void test_sizes_beyond_reason_are_refused_with_their_range(void **state)
{
    static const int64_t wrong[] = {0, -1, INT64_MIN, INT64_MAX,
                                    (int64_t) 1 << 31};
    const struct mtlm_model good = gpt(4, 256, 4, 256, 257);
    const struct {
        size_t offset;
        const char *name;
        int64_t min, max;
    } sizes[] = {
        {offsetof(struct mtlm_model, num_layers), "--num-layers", 1, 1 << 15},
        {offsetof(struct mtlm_model, hidden_size), "--hidden-size", 2, 1 << 20},
        {offsetof(struct mtlm_model, num_heads), "--num-attention-heads", 1,
         1 << 20},
        {offsetof(struct mtlm_model, ffn_hidden_size), "--ffn-hidden-size", 2,
         1 << 22},
        {offsetof(struct mtlm_model, seq_length), "--seq-length", 1, 1 << 20},
        {offsetof(struct mtlm_model, max_positions),
         "--max-position-embeddings", 1, 1 << 20},
        {offsetof(struct mtlm_model, vocab_size), "the vocabulary size", 1,
         1 << 30},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t j = 0; j < sizeof(wrong) / sizeof(wrong[0]); j++) {
            struct mtlm_model model = good;
            char text[160];

            memcpy((char *) &model + sizes[i].offset, &wrong[j],
                   sizeof(wrong[j]));
            snprintf(text, sizeof(text), "%s is %lld, it must be %lld to %lld",
                     sizes[i].name, (long long) wrong[j],
                     (long long) sizes[i].min, (long long) sizes[i].max);
            assert_refused(&model, text);
        }
}

static void test_a_width_of_one_is_refused(void **state)
{
    struct mtlm_model model = gpt(4, 1, 1, 256, 257);

    (void) state;
    assert_refused(&model, "--hidden-size is 1, it must be 2 to 1048576");
    model = gpt(4, 256, 4, 256, 257);
    model.ffn_hidden_size = 1;
    assert_refused(&model, "--ffn-hidden-size is 1, it must be 2 to 4194304");
}

static void test_heads_that_do_not_divide_hidden_are_refused(void **state)
{
    struct mtlm_model model = gpt(4, 256, 5, 256, 257);

    (void) state;
    assert_refused(&model, "--hidden-size 256 is not a multiple of "
                           "--num-attention-heads 5");
    model.num_heads = 512;
    assert_refused(&model, "--hidden-size 256 is not a multiple of "
                           "--num-attention-heads 512");
}

static void test_more_tokens_than_positions_are_refused(void **state)
{
    struct mtlm_model model = gpt(4, 256, 4, 256, 257);

    (void) state;
    model.max_positions = 255;
    assert_refused(&model,
                   "--seq-length 256 exceeds --max-position-embeddings 255");
}

static void test_a_bert_has_a_position_embedding(void **state)
{
    struct mtlm_model model = bert(4, 256, 4);

    (void) state;
    model.positions = MTLM_POSITIONS_ALIBI;
    assert_refused(&model, "--position-embedding-type alibi is for "
                           "--model-type gpt; this model is a bert");
    model.positions = MTLM_POSITIONS_LEARNED;
    model.embedding_layernorm = true;
    assert_refused(&model, "--embed-layernorm is for --model-type gpt; this "
                           "model is a bert");
}

static void test_the_largest_sizes_are_accepted(void **state)
{
    const struct mtlm_model model =
        gpt(1 << 15, 1 << 20, 1 << 20, 1 << 20, 1 << 30);
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_model_check(&model, &err), 0);
    /* Counted in floating point: no overflow. */
    assert_true(mtlm_model_parameters(&model) > 1e17);
}

/* ---- presets ---- */

static void test_presets_are_found_by_name_only(void **state)
{
    (void) state;
    assert_non_null(mtlm_presets[0].name);
    for (const struct mtlm_preset *p = mtlm_presets; p->name; p++)
        assert_ptr_equal(mtlm_preset_find(p->name), p);
    assert_null(mtlm_preset_find("gpt-"));
    assert_null(mtlm_preset_find(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flops_are_those_of_the_matrix_products),
        cmocka_unit_test(test_flops_know_the_width_of_the_mlp),
        cmocka_unit_test(test_flops_of_bert_are_the_published_ones),
        cmocka_unit_test(test_flops_explain_published_rates),
        cmocka_unit_test(test_sizes_beyond_reason_are_refused_with_their_range),
        cmocka_unit_test(test_a_width_of_one_is_refused),
        cmocka_unit_test(test_heads_that_do_not_divide_hidden_are_refused),
        cmocka_unit_test(test_more_tokens_than_positions_are_refused),
        cmocka_unit_test(test_a_bert_has_a_position_embedding),
        cmocka_unit_test(test_the_largest_sizes_are_accepted),
        cmocka_unit_test(test_presets_are_found_by_name_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
