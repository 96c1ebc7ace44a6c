/* The presets are the models of the papers: sizes, parameters, floating-point
 * operations, recipes. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/options/options_answer.h"
#include "models/presets.h"
#include "tests/launch/parse.h"

static void load(const char *name)
{
    char line[64];

    snprintf(line, sizeof(line), "--model %s", name);
    accepts(line);
}

/* ---- sizes and parameters ---- */

static const struct published {
    const char *name;
    int l, h, a, s;
    int t; /* tensor-parallel size that pads the vocabulary as published */
    double parameters, unit; /* rounded to the unit */
} published[] = {
    {"gpt2-124m", 12, 768, 12, 1024, 1, 124e6, 1e6},
    /* arXiv 1909.08053: 0.355, 1.2, 2.5, 4.2, 8.3; from its sizes: */
    {"gpt2-345m", 24, 1024, 16, 1024, 1, 355e6, 1e6},
    {"gpt2-775m", 36, 1280, 16, 1024, 1, 775e6, 1e6},
    {"gpt2-1.2b", 40, 1536, 16, 1024, 1, 1.213e9, 1e6},
    {"gpt2-2.5b", 54, 1920, 20, 1024, 2, 2.490e9, 1e6},
    {"gpt2-4.2b", 64, 2304, 24, 1024, 4, 4.199e9, 1e6},
    {"gpt2-8.3b", 72, 3072, 32, 1024, 8, 8.317e9, 1e6},
    {"gpt2-8.3b-trained", 72, 3072, 24, 1024, 8, 8.317e9, 1e6},
    {"gpt2-v1-1.2b", 24, 1920, 15, 1024, 1, 1.163e9, 1e6},
    {"gpt2-v1-2.0b", 30, 2304, 18, 1024, 2, 2.032e9, 1e6},
    {"gpt2-v1-4.2b", 36, 3072, 24, 1024, 4, 4.239e9, 1e6},
    {"gpt2-v1-8.7b", 42, 4096, 32, 1024, 8, 8.672e9, 1e6},
    {"bert-336m", 24, 1024, 16, 512, 1, 0.3363e9, 1e5},
    {"bert-1.3b", 24, 2048, 32, 512, 2, 1.2810e9, 1e5},
    {"bert-3.9b", 48, 2560, 40, 512, 4, 3.8696e9, 1e5},
    {"bert-3.9b", 48, 2560, 40, 512, 8, 3.8696e9, 1e5},
    /* arXiv 2104.04473, table 1 */
    {"gpt-1.7b", 24, 2304, 24, 2048, 1, 1.7e9, 1e8},
    {"gpt-3.6b", 30, 3072, 32, 2048, 2, 3.6e9, 1e8},
    {"gpt-18b", 40, 6144, 48, 2048, 8, 18.4e9, 1e8},
    {"gpt-76b", 60, 10240, 80, 2048, 8, 76.1e9, 1e8},
    {"gpt-145b", 80, 12288, 96, 2048, 8, 145.6e9, 1e8},
    {"gpt-530b", 105, 20480, 128, 2048, 8, 529.6e9, 1e8},
    {"gpt-1t", 128, 25600, 160, 2048, 8, 1008.0e9, 1e8},
    {"gpt3-175b", 96, 12288, 96, 2048, 8, 175e9, 1e9},
    {"mt-nlg-530b", 105, 20480, 128, 2048, 8, 530e9, 1e9},
    /* arXiv 2401.10241, table 3 */
    {"zb-1.5b", 22, 2304, 24, 1024, 1, 1.5e9, 1e8},
    {"zb-6.2b", 30, 4096, 32, 1024, 1, 6.2e9, 1e8},
    {"zb-14.6b", 46, 5120, 40, 1024, 1, 14.6e9, 1e8},
    {"zb-28.3b", 62, 6144, 48, 1024, 1, 28.3e9, 1e8},
    /* arXiv 2211.05100, table 3, and the model cards: exact numbers */
    {"bloom-560m", 24, 1024, 16, 2048, 1, 559214592, 1},
    {"bloom-1b1", 24, 1536, 16, 2048, 1, 1065314304, 1},
    {"bloom-1b7", 24, 2048, 16, 2048, 1, 1722408960, 1},
    {"bloom-3b", 30, 2560, 32, 2048, 1, 3002557440, 1},
    {"bloom-7b1", 30, 4096, 32, 2048, 1, 7069016064, 1},
    {"bloom-176b", 70, 14336, 112, 2048, 4, 176247271424, 1},
    {"gpt-tiny", 4, 256, 4, 256, 1, 3.323e6, 1e3},
    {"bert-tiny", 4, 256, 4, 128, 1, 3.424e6, 1e3},
};

enum { PUBLISHED = sizeof(published) / sizeof(published[0]) };

static void test_sizes_and_parameters_are_the_published_ones(void **state)
{
    (void) state;
    for (int i = 0; i < PUBLISHED; i++) {
        const struct published *p = &published[i];
        double n;

        load(p->name);
        assert_int_equal(options.model.num_layers, p->l);
        assert_int_equal(options.model.hidden_size, p->h);
        assert_int_equal(options.model.num_heads, p->a);
        assert_int_equal(options.model.seq_length, p->s);
        n = mtlm_model_padded_parameters(&options.model, p->t);
        if (fabs(n - p->parameters) > 0.501 * p->unit)
            fail_msg("%s has %.0f parameters, not %g", p->name, n,
                     p->parameters);
    }
}

static void test_no_preset_is_left_out_above(void **state)
{
    (void) state;
    for (const struct mtlm_preset *preset = mtlm_presets; preset->name;
         preset++) {
        int found = 0;

        for (int i = 0; i < PUBLISHED; i++)
            found += strcmp(published[i].name, preset->name) == 0;
        if (!found)
            fail_msg("%s", preset->name);
    }
}

/* Equation 2 of arXiv 2104.04473 leaves out the final layernorm alone. */
static void test_gpts_of_the_papers_are_equation_2(void **state)
{
    (void) state;
    for (int i = 0; i < PUBLISHED; i++) {
        const struct published *p = &published[i];
        const double l = p->l, h = p->h, rows = 51200 + p->s;

        load(p->name);
        if (options.model.family == MTLM_GPT
            && options.model.vocab_size == 51200)
            for (int t = 1; t <= 8; t *= 2)
                assert_true(mtlm_model_padded_parameters(&options.model, t)
                            == 12 * l * h * h + 13 * l * h + rows * h + 2 * h);
    }
}

/* ---- floating-point operations ---- */

/* With each layer's forward pass twice and the logits' three times, as
 * equation 3 of arXiv 2104.04473 counts: 96 B s l h^2 (1 + s / 6h + V /
 * 16 l h). */
static double f96(int64_t batch)
{
    const struct mtlm_model *m = &options.model;
    const double s = m->seq_length, l = m->num_layers, h = m->hidden_size;
    const double v = mtlm_model_padded_vocab(m, 1);

    return 96 * batch * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
}

static void assert_near(const char *what, double have, double want,
                        double tolerance)
{
    if (fabs(have / want - 1) > tolerance)
        fail_msg("%s: %g, not %g", what, have, want);
}

/* Per iteration of 8 samples, and per second and GPU of Megatron-LM 1.0,
 * whose published rate is 62.4. */
static void test_flops_of_gpt2_are_the_published_ones(void **state)
{
    static const struct {
        const char *name;
        double flops;
    } scaling[] = {{"gpt2-1.2b", 8.63e13},
                   {"gpt2-2.5b", 1.753e14},
                   {"gpt2-4.2b", 2.928e14},
                   {"gpt2-8.3b", 5.718e14}};
    static const struct {
        const char *name;
        int gpus;
        double ms, tflops;
    } rates[] = {{"gpt2-v1-1.2b", 1, 1288, 62.6},
                 {"gpt2-v1-2.0b", 2, 1242, 56.5},
                 {"gpt2-v1-4.2b", 4, 1357, 53.4},
                 {"gpt2-v1-8.7b", 8, 1508, 48.7}};

    (void) state;
    for (int i = 0; i < 4; i++) {
        load(scaling[i].name);
        assert_near(scaling[i].name, f96(8), scaling[i].flops, 0.0006);
        load(rates[i].name);
        assert_int_equal(options.global_batch_size, 8);
        assert_near(rates[i].name, f96(8) / rates[i].ms / 1e9 / rates[i].gpus,
                    rates[i].tflops, 0.001);
    }
}

/* Table 1 of arXiv 2104.04473: seconds of an iteration from the rate that it
 * gives per GPU. */
static void test_flops_of_ptdp_explain_its_rates(void **state)
{
    static const struct {
        const char *name;
        int gpus, batch;
        double tflops, seconds;
    } table[] = {{"gpt-1.7b", 32, 512, 137, 3.53},
                 {"gpt-3.6b", 64, 512, 138, 3.70},
                 {"gpt-18b", 256, 1024, 135, 9.40},
                 {"gpt-76b", 1024, 1792, 140, 16.06},
                 {"gpt-145b", 1536, 2304, 148, 24.82},
                 {"gpt-530b", 2520, 2520, 163, 54.08},
                 {"gpt-1t", 3072, 3072, 163, 102.63}};

    (void) state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        load(table[i].name);
        assert_int_equal(options.global_batch_size, table[i].batch);
        assert_near(table[i].name,
                    f96(table[i].batch) / table[i].gpus
                        / (table[i].tflops * 1e12),
                    table[i].seconds, 0.005);
    }
}

/* Model FLOP utilisation of arXiv 2205.05198, table 5: A100s of 312 TFLOP/s. */
static void test_model_flops_explain_published_utilisation(void **state)
{
    static const struct {
        const char *name;
        int gpus, batch;
        double seconds, mfu;
    } table[] = {{"gpt3-175b", 64, 64, 13.75, 0.514},
                 {"gpt-1t", 512, 512, 71.49, 0.563}};

    (void) state;
    for (int i = 0; i < 2; i++) {
        load(table[i].name);
        assert_near(table[i].name,
                    mtlm_model_flops(&options.model, table[i].batch)
                        / table[i].seconds / table[i].gpus / 312e12,
                    table[i].mfu, 0.002);
    }
}

static void test_flops_of_bert_per_sample(void **state)
{
    (void) state;
    load("bert-336m");
    assert_near("336m", mtlm_model_flops(&options.model, 1), 1.10e12, 0.005);
    load("bert-1.3b");
    assert_near("1.3b", mtlm_model_flops(&options.model, 1), 4.07e12, 0.002);
    load("bert-3.9b");
    assert_near("3.9b", mtlm_model_flops(&options.model, 1), 1.224e13, 0.0005);
}

/* ---- recipes ---- */

static void test_recipes_are_the_papers(void **state)
{
    (void) state;
    load("gpt2-345m");
    assert_int_equal(options.global_batch_size, 512);
    assert_int_equal(options.train_iters, 300000);
    assert_true(options.lr_schedule.warmup_samples == 3000 * 512);
    assert_int_equal(options.lr_schedule.style, MTLM_LR_COSINE);
    assert_true(options.lr_schedule.lr == 1.5e-4
                && options.lr_schedule.min_lr == 1e-5);
    assert_true(options.model.hidden_dropout == 0.1);
    assert_true(options.model.attention_dropout == 0.1);
    assert_true(options.weight_decay == 0.01 && options.clip_grad == 1);
    load("bert-3.9b");
    assert_int_equal(options.model.family, MTLM_BERT);
    assert_true(options.model.binary_head);
    assert_false(options.model.post_layernorm);
    assert_int_equal(options.model.vocab_size, 30522);
    assert_int_equal(options.global_batch_size, 1024);
    assert_int_equal(options.train_iters, 2000000);
    assert_true(options.lr_schedule.warmup_samples == 10000 * 1024);
    assert_int_equal(options.lr_schedule.style, MTLM_LR_LINEAR);
    assert_true(options.lr_schedule.lr == 1e-4
                && options.lr_schedule.min_lr == 0);
    load("gpt3-175b");
    assert_int_equal(options.global_batch_size, 1536);
    assert_true(options.adam_beta2 == 0.95 && options.weight_decay == 0.1);
    assert_true(options.model.init_std == 0.006);
    assert_int_equal(options.train_iters, 95367); /* of 146484375 samples */
    assert_true(options.lr_schedule.decay_samples == 126953125);
    assert_true(options.lr_schedule.warmup_samples == 183105);
    /* A run of a few iterations has a course of its own. */
    accepts("--model gpt3-175b --train-iters 10");
    assert_true(options.lr_schedule.decay_samples == 15360);
    accepts("--model bert-3.9b --train-iters 10");
    load("bloom-176b");
    assert_int_equal(options.model.positions, MTLM_POSITIONS_ALIBI);
    assert_true(options.model.embedding_layernorm);
    assert_true(options.model.hidden_dropout == 0
                && options.model.attention_dropout == 0);
    assert_int_equal(options.model.vocab_size, 250880);
    assert_true(options.lr_schedule.lr == 6e-5
                && options.lr_schedule.min_lr == 6e-6);
    assert_true(options.adam_beta2 == 0.95 && options.weight_decay == 0.1);
    load("zb-6.2b");
    assert_int_equal(options.micro_batch_size, 3);
    assert_int_equal(options.global_batch_size / options.micro_batch_size, 32);
}

/* Otherwise the first sign of life would come after hours. */
static void test_great_models_log_every_iteration(void **state)
{
    (void) state;
    for (const struct mtlm_preset *p = mtlm_presets; p->name; p++) {
        load(p->name);
        assert_true(options.log_interval
                    <= (mtlm_model_parameters(&options.model) > 1e8 ? 1 : 25));
    }
}

/* ---- the list ---- */

static void test_the_list_has_every_model_with_its_sizes(void **state)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    (void) state;
    mtlm_options_answer(&options, MTLM_REQUEST_MODELS, out);
    fclose(out);
    for (const struct mtlm_preset *p = mtlm_presets; p->name; p++) {
        char line[32];

        snprintf(line, sizeof(line), "\n%s ", p->name);
        assert_non_null(strstr(text, line));
    }
    assert_non_null(strstr(text, "\nbert-3.9b              48   2560    40  "
                                 "    512    3.869 B  "));
    assert_non_null(strstr(text, "\ngpt-1t                128  25600   160  "
                                 "   2048     1008 B  "));
    assert_non_null(strstr(text, "   124.5 M  GPT-2 small\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_and_parameters_are_the_published_ones),
        cmocka_unit_test(test_no_preset_is_left_out_above),
        cmocka_unit_test(test_gpts_of_the_papers_are_equation_2),
        cmocka_unit_test(test_flops_of_gpt2_are_the_published_ones),
        cmocka_unit_test(test_flops_of_ptdp_explain_its_rates),
        cmocka_unit_test(test_model_flops_explain_published_utilisation),
        cmocka_unit_test(test_flops_of_bert_per_sample),
        cmocka_unit_test(test_recipes_are_the_papers),
        cmocka_unit_test(test_great_models_log_every_iteration),
        cmocka_unit_test(test_the_list_has_every_model_with_its_sizes),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
