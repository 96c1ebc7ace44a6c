/* How sentences name a node. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "runtime/machine/policy_text.h"

static void names(const struct mtlm_policy_node *node, const char *want)
{
    char text[160];

    mtlm_policy_text_node(node, text, sizeof(text));
    assert_string_equal(text, want);
}

static void test_microbatches_are_named_where_there_is_one(void **state)
{
    struct mtlm_policy_node node = {.name = "linear_wgrad",
                                    .phase = MTLM_PHASE_WEIGHT,
                                    .microbatch = 3,
                                    .stage = 1};

    (void) state;
    names(&node, "linear_wgrad, W of microbatch 3, stage 1, iteration 1");
    node = (struct mtlm_policy_node){.name = "adam",
                                     .phase = MTLM_PHASE_OPTIMIZER,
                                     .microbatch = -1,
                                     .stage = 2,
                                     .iteration = 7};
    names(&node, "adam, optimizer, stage 2, iteration 8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_microbatches_are_named_where_there_is_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
