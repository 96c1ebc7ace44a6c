/* Tensors of another program's file that no parameter takes. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/weights/foreign.h"

/* A MegatronBert of two layers that has these tensors, sorted by name. */
static int64_t unused(struct mtlm_safetensors_tensor *tensor, int64_t n,
                      const char **first)
{
    const struct mtlm_foreign foreign = {
        .model = {.family = MTLM_BERT, .num_layers = 2},
        .prefix = "",
        .tensor = tensor,
        .tensors = n};

    return mtlm_foreign_unused(&foreign, first);
}

static void test_tensors_of_all_layers_are_used(void **state)
{
    struct mtlm_safetensors_tensor tensor[] = {
        {.name = "bert.embeddings.position_ids"},
        {.name = "bert.encoder.layer.0.attention.self.key.weight"},
        {.name = "bert.encoder.layer.1.attention.self.key.weight"},
        {.name = "bert.encoder.layer.1.ln.bias"},
        {.name = "bert.encoder.ln.weight"}};
    const char *first;

    (void) state;
    assert_int_equal(unused(tensor, 5, &first), 0);
    assert_null(first);
}

static void test_the_first_of_the_others_is_named(void **state)
{
    struct mtlm_safetensors_tensor tensor[] = {
        {.name = "bert.encoder.layer.1.ln.bias"},
        {.name = "bert.encoder.layer.2.attention.self.key.weight"},
        {.name = "zebra"}};
    const char *first;

    (void) state;
    assert_int_equal(unused(tensor, 3, &first), 2);
    assert_string_equal(first, tensor[1].name);
    assert_int_equal(unused(tensor, 1, &first), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors_of_all_layers_are_used),
        cmocka_unit_test(test_the_first_of_the_others_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
