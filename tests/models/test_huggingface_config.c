/* config.json of Hugging Face: the model that it describes. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/weights/huggingface.h"
#include "tests/models/files.h"

static struct mtlm_model read_model(const char *text)
{
    struct mtlm_model model = {0};
    struct mtlm_ends ends;

    files_write("config.json", text, strlen(text));
    assert_int_equal(mtlm_huggingface_read_config(files_path("config.json"),
                                                  &model, &ends, NULL),
                     0);
    return model;
}

/* The head of BERT takes the activation of the layers: one of them is exact
 * or both are not. */
static void test_activations(void **state)
{
    static const char bert[] = "{\"model_type\": \"megatron-bert\"}";
    static const char bert_tanh[] =
        "{\"model_type\": \"megatron-bert\", \"hidden_act\": \"gelu_new\"}";
    static const char gpt2[] = "{\"model_type\": \"gpt2\"}";
    static const char gpt2_exact[] =
        "{\"model_type\": \"gpt2\", \"activation_function\": \"gelu\"}";

    (void) state;
    assert_true(read_model(bert).exact_gelu);
    assert_false(read_model(bert).tanh_head);
    assert_false(read_model(bert_tanh).exact_gelu);
    assert_true(read_model(bert_tanh).tanh_head);
    assert_false(read_model(gpt2).exact_gelu);
    assert_false(read_model(gpt2).tanh_head);
    assert_true(read_model(gpt2_exact).exact_gelu);
}

/* The values that the file leaves out are Hugging Face's own. */
static void test_defaults(void **state)
{
    const struct mtlm_model gpt2 = read_model("{\"model_type\": \"gpt2\"}");
    const struct mtlm_model bert =
        read_model("{\"model_type\": \"megatron-bert\"}");

    (void) state;
    assert_int_equal(gpt2.num_layers, 12);
    assert_int_equal(gpt2.hidden_size, 768);
    assert_int_equal(gpt2.ffn_hidden_size, 4 * 768);
    assert_int_equal(gpt2.vocab_size, 50257);
    assert_int_equal(bert.num_layers, 24);
    assert_int_equal(bert.ffn_hidden_size, 4096);
    assert_int_equal(bert.num_token_types, 2);
    assert_int_equal(bert.max_positions, 512);
    assert_int_equal(bert.seq_length, 512);
}

/* The published files, and those of transformers. */
static void test_bloom(void **state)
{
    const struct mtlm_model published = read_model(
        "{\"model_type\": \"bloom\", \"n_embed\": 1024, \"n_layer\": 24, "
        "\"num_attention_heads\": 16, \"seq_length\": 1000, \"n_inner\": "
        "null, \"apply_residual_connection_post_layernorm\": false}");
    const struct mtlm_model ours = read_model(
        "{\"model_type\": \"bloom\", \"hidden_size\": 96, \"n_head\": 6, "
        "\"vocab_size\": 300, \"layer_norm_epsilon\": 1e-6, "
        "\"apply_residual_connection_post_layernorm\": true}");

    (void) state;
    assert_int_equal(published.family, MTLM_GPT);
    assert_int_equal(published.positions, MTLM_POSITIONS_ALIBI);
    assert_true(published.embedding_layernorm);
    assert_false(published.post_layernorm || published.exact_gelu);
    assert_int_equal(published.num_layers, 24);
    assert_int_equal(published.hidden_size, 1024);
    assert_int_equal(published.ffn_hidden_size, 4096);
    assert_int_equal(published.num_heads, 16);
    assert_int_equal(published.max_positions, 1000);
    assert_int_equal(published.vocab_size, 250880);
    assert_true(published.layernorm_epsilon == 1e-5);
    assert_int_equal(ours.num_layers, 2);
    assert_int_equal(ours.hidden_size, 96);
    assert_int_equal(ours.num_heads, 6);
    assert_int_equal(ours.vocab_size, 300);
    assert_int_equal(ours.max_positions, 2048);
    assert_true(ours.post_layernorm);
    assert_true(ours.layernorm_epsilon == 1e-6);
}

/* What has no model of Hugging Face is refused in a sentence. */
static void test_models_that_are_unknown_there(void **state)
{
    const struct mtlm_model good = {.positions = MTLM_POSITIONS_ALIBI,
                                    .embedding_layernorm = true,
                                    .hidden_size = 8,
                                    .ffn_hidden_size = 32};
    struct mtlm_model bad[4] = {good, good, good, good};
    static const char *const text[4] = {
        "--embed-layernorm and a learned position embedding",
        "--position-embedding-type alibi without --embed-layernorm",
        "--position-embedding-type alibi and --no-bias-gelu-fusion",
        "--position-embedding-type alibi and another --ffn-hidden-size than 4 "
        "x --hidden-size"};
    json_t *config = mtlm_huggingface_config(&good, NULL);

    (void) state;
    assert_string_equal(
        json_string_value(json_object_get(config, "model_type")), "bloom");
    json_decref(config);
    bad[0].positions = MTLM_POSITIONS_LEARNED;
    bad[1].embedding_layernorm = false;
    bad[2].exact_gelu = true;
    bad[3].ffn_hidden_size = 33;
    for (int i = 0; i < 4; i++) {
        struct mtlm_error err;

        assert_null(mtlm_huggingface_config(&bad[i], &err));
        assert_int_equal(err.code, MTLM_EXIT_USAGE);
        assert_string_equal(
            err.text + strlen("Hugging Face has no model with "), text[i]);
    }
}

/* A head of a task is a class of its own there, with these tensors. */
static void test_heads_of_tasks(void **state)
{
    static const struct {
        enum mtlm_head_kind head;
        const char *class, *weight;
    } cases[] = {
        {MTLM_HEAD_CLASSIFICATION, "MegatronBertForSequenceClassification",
         "classifier.weight"},
        {MTLM_HEAD_CHOICE, "MegatronBertForMultipleChoice",
         "classifier.weight"},
        {MTLM_HEAD_SPAN, "MegatronBertForQuestionAnswering",
         "qa_outputs.weight"},
    };

    (void) state;
    for (int i = 0; i < 3; i++) {
        const struct mtlm_model model = {
            .family = MTLM_BERT, .head = cases[i].head, .classes = 4};
        json_t *config = mtlm_huggingface_config(&model, NULL);

        assert_string_equal(json_string_value(json_array_get(
                                json_object_get(config, "architectures"), 0)),
                            cases[i].class);
        assert_string_equal(
            mtlm_foreign_name(&model, MTLM_PARAM_TASK_WEIGHT)->part[0],
            cases[i].weight);
        assert_true((cases[i].head == MTLM_HEAD_SPAN)
                    == !mtlm_foreign_name(&model, MTLM_PARAM_POOLER_BIAS));
        assert_null(mtlm_foreign_name(&model, MTLM_PARAM_LM_BIAS));
        json_decref(config);
    }
}

/* Reads the tokens at the ends of a text, stores them in settings and takes
 * them from there. */
static struct mtlm_ends read_ends(const char *text, int64_t vocab_size)
{
    json_t *config = json_loads(text, 0, NULL), *settings = json_object();
    struct mtlm_ends ends, stored;

    assert_int_equal(mtlm_ends_read(&ends, config, vocab_size, "path", NULL),
                     0);
    mtlm_ends_store(&ends, settings);
    stored = mtlm_ends_stored(settings);
    assert_int_equal(stored.known, ends.known);
    json_decref(settings);
    json_decref(config);
    return stored;
}

static void test_ends(void **state)
{
    struct mtlm_ends ends =
        read_ends("{\"bos_token_id\": 7, \"eos_token_id\": [3, 9]}", 10);
    struct mtlm_error err;
    json_t *config = json_object();

    (void) state;
    assert_int_equal(ends.begin, 7);
    assert_true(mtlm_ends_has(&ends, 3, 4));
    assert_true(mtlm_ends_has(&ends, 9, 4));
    assert_false(mtlm_ends_has(&ends, 4, 4));
    mtlm_ends_write(&ends, config);
    assert_int_equal(
        json_integer_value(json_object_get(config, "bos_token_id")), 7);
    assert_int_equal(json_array_size(json_object_get(config, "eos_token_id")),
                     2);
    json_object_set_new(config, "eos_token_id", json_string("x"));
    assert_int_equal(mtlm_ends_read(&ends, config, 10, "path", &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    json_decref(config);
    /* Without the keys the numbers are GPT-2's, if it has such tokens. */
    ends = read_ends("{}", 50257);
    assert_int_equal(ends.begin, 50256);
    assert_true(mtlm_ends_has(&ends, 50256, 4));
    ends = read_ends("{}", 50256);
    assert_false(ends.known);
    assert_true(mtlm_ends_has(&ends, 4, 4));
    ends = read_ends("{\"bos_token_id\": null, \"eos_token_id\": null}", 50257);
    assert_false(ends.known);
    /* Or BLOOM's. */
    ends = read_ends("{\"model_type\": \"bloom\"}", 10);
    assert_true(ends.begin == 1 && ends.n == 1 && ends.end[0] == 2);
    ends = read_ends("{\"bos_token_id\": -1, \"eos_token_id\": 2}", 10);
    assert_true(ends.known && ends.begin == -1 && ends.n == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_bloom),
        cmocka_unit_test(test_models_that_are_unknown_there),
        cmocka_unit_test(test_heads_of_tasks),
        cmocka_unit_test(test_ends),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
