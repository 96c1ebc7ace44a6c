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

    files_write("config.json", text, strlen(text));
    assert_int_equal(
        mtlm_huggingface_read_config(files_path("config.json"), &model, NULL),
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_defaults),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
