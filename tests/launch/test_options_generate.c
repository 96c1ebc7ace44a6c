/* --generate and --prompt-file: what goes with them, what they ignore. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/launch/parse.h"

#define TINY "--model gpt-tiny --load nowhere "

static void test_a_prompt_stands_for_a_training(void **state)
{
    (void) state;
    accepts(TINY "--generate word");
    assert_string_equal(options.generate, "word");
    assert_true(options.eval_only);
    assert_int_equal(options.micro_batch_size, 1);
    assert_int_equal(options.eval_iters, 0);
    assert_int_equal(options.max_new_tokens, 0);
    assert_true(options.temperature == 1 && options.top_p == 1);
    assert_int_equal(options.top_k, 0);
    assert_int_equal(options.num_samples, 1);
    assert_string_equal(options.tokenizer->name, "byte");
}

static void test_a_prompt_may_be_any_text(void **state)
{
    (void) state;
    accepts(TINY "--generate ''");
    assert_string_equal(options.generate, "");
    accepts(TINY "--generate=a\n;b");
    assert_string_equal(options.generate, "a\n;b");
    accepts(TINY "--prompt-file some");
    assert_string_equal(options.prompt_file, "some");
    refuses_config("generate = word\n",
                   ":1: this option is for the command line only");
}

static void test_what_a_training_needs_is_dropped(void **state)
{
    (void) state;
    accepts_config("bf16 = yes\nglobal-batch-size = 12\nsave = there\n"
                   "schedule = auto\nsequence-parallel = yes\n",
                   TINY "--generate word");
    assert_false(options.bf16 || options.sequence_parallel);
    assert_null(options.save_dir);
    assert_int_equal(options.schedule, 0);
    assert_int_equal(options.tensor_parallel, 1);
    accepts(TINY "--generate word --bf16");
    assert_true(options.bf16);
    /* A file with prompts is none of a training. */
    accepts_config("bf16 = yes\nprompt-file = some\n", TINY);
    assert_true(options.bf16);
    accepts_config("bf16 = yes\nprompt-file = some\n",
                   TINY "--prompt-file other");
    assert_true(options.bf16);
    assert_string_equal(options.prompt_file, "other");
    accepts_config("bf16 = yes\n", TINY "--prompt-file some");
    assert_false(options.bf16);
}

static void test_contradictions_are_refused(void **state)
{
    (void) state;
    refuses("--model gpt-tiny --generate word",
            "--generate needs --load DIR, the directory of the checkpoint");
    refuses(TINY "--generate word --prompt-file some",
            "--generate and --prompt-file contradict each other; give one of "
            "them");
    refuses(TINY "--prompt-file some --eval-only",
            "--eval-only and --prompt-file contradict each other; give one of "
            "them");
    refuses(TINY "--generate word --dry-run",
            "--dry-run plans a training; leave out --generate");
    refuses(TINY "--generate word --metrics some",
            "--metrics is not for --generate, which writes nothing but text");
    refuses(TINY "--generate word --trace there",
            "--trace needs training, and --generate does not train");
    refuses("--model bert-tiny --load nowhere --generate word",
            "--generate is for a gpt; a bert predicts masked tokens, not the "
            "next one");
    refuses(TINY "--vocab-size 300 --generate word",
            "--generate needs the tokenizer of the model: give --vocab-file "
            "and --merge-file, or --tokenizer-model, whose vocabulary has "
            "300 tokens");
    refuses("--model gpt-tiny --top-k 3",
            "--top-k is for --generate PROMPT or --prompt-file FILE");
    refuses("--model gpt-tiny --num-samples 3",
            "--num-samples is for --generate PROMPT or --prompt-file FILE");
}

static void test_values_are_checked(void **state)
{
    (void) state;
    refuses(TINY "--generate word --temperature -1",
            "--temperature is '-1', it must be a number from 0 to 1000");
    refuses(TINY "--generate word --top-p 0",
            "--top-p is '0', it must be a number from 1e-06 to 1");
    refuses(TINY "--generate word --top-p 1.01",
            "--top-p is '1.01', it must be a number from 1e-06 to 1");
    refuses(TINY "--generate word --top-k -1",
            "--top-k is '-1', it must be a whole number from 0 to 1073741824");
    refuses(TINY "--generate word --max-new-tokens 0",
            "--max-new-tokens is '0', it must be a whole number from 1 to "
            "1048576");
    refuses(TINY "--generate word --num-samples 0",
            "--num-samples is '0', it must be a whole number from 1 to "
            "1000000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_prompt_stands_for_a_training),
        cmocka_unit_test(test_a_prompt_may_be_any_text),
        cmocka_unit_test(test_what_a_training_needs_is_dropped),
        cmocka_unit_test(test_contradictions_are_refused),
        cmocka_unit_test(test_values_are_checked),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
