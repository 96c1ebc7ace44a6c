/* Each CUDA kernel of the table against the CPU's of the same operation
 * (twin.h): on a GPU, skipped where there is none; and, as test_emulated, in
 * the emulator. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/codelets/support.h"
#include "tests/codelets/twin.h"
#include "tests/codelets/twins.h"

#if HAVE_CUDA && !(MTLM_EMULATED && __SANITIZE_THREAD__)

/* No multiples of a warp, of a block of threads or of 16 bytes. */
enum { S = 37, B = 3, H = 301, F = 523 };

static void test_linear(void **state)
{
    const struct mtlm_shape x = MTLM_SHAPE(S, B, H), y = MTLM_SHAPE(S, B, F);
    const struct mtlm_shape f = MTLM_SHAPE(F), w = MTLM_SHAPE(F, H);
    const struct mtlm_call calls[] = {
        {.kind = MTLM_OP_LINEAR_FWD, .shape = {x, w}},
        {.kind = MTLM_OP_LINEAR_BIAS_FWD, .shape = {x, w, f}},
        {.kind = MTLM_OP_LINEAR_DGRAD, .shape = {y, w}},
        {.kind = MTLM_OP_LINEAR_DGRAD_ADD, .shape = {y, w, x}},
        {.kind = MTLM_OP_LINEAR_WGRAD, .shape = {x, y, w}},
        {.kind = MTLM_OP_LINEAR_BIAS_WGRAD, .shape = {x, y, w, f}},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        twin_compare(&(struct twin){.call = calls[i]});
}

/* So that nothing of an iteration goes to the CPU and back.  What is saved is
 * to end in the host's memory anyway, generation of text runs on CPU workers
 * (docs/status.md), and only CPUs pack weights. */
static void test_only_the_samples_come_from_the_cpu(void **state)
{
    (void) state;
    for (int kind = 0; kind < MTLM_OP_COUNT; kind++)
        if (mtlm_ops[kind]->cpu && !mtlm_ops[kind]->cuda
            && kind != MTLM_OP_BATCH && kind != MTLM_OP_LOSS_WEIGHTS
            && kind != MTLM_OP_PACK && kind != MTLM_OP_SAVE
            && kind != MTLM_OP_ATTENTION_CACHED && kind != MTLM_OP_LAST_ROW
            && kind != MTLM_OP_SAMPLE_TOKEN)
            fail_msg("%s has no CUDA kernel", mtlm_ops[kind]->name);
}

/* Last: of all the others. */
static void test_every_kernel_is_compared(void **state)
{
    (void) state;
    twin_assert_complete();
}

/* An argument is a pattern of the tests to run: after a fault of the GPU's no
 * other test of the process is right. */
int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_layernorm),
        cmocka_unit_test(test_bias_gelu_and_bias_tanh),
        cmocka_unit_test(test_products_with_gelu),
        cmocka_unit_test(test_gelu_as_an_epilogue),
        cmocka_unit_test(test_bias_gradient_as_an_epilogue),
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_embeddings),
        cmocka_unit_test(test_pool_and_add),
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_fill_and_zero),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_attention_that_cudnn_takes),
        cmocka_unit_test(test_cross_entropy),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_hits),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_control),
        cmocka_unit_test(test_adam),
        cmocka_unit_test(test_calls_together),
        cmocka_unit_test(test_only_the_samples_come_from_the_cpu),
        cmocka_unit_test(test_every_kernel_is_compared),
    };
    const char *skip = twin_start();
    int failed;

    if (skip)
        return printf("1..0 # SKIP %s\n", skip) < 0;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    twin_stop();
    return failed;
}

#else

int main(void)
{
    return puts("1..0 # SKIP built without CUDA, or with ThreadSanitizer")
           == EOF;
}

#endif
