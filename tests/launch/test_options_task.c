/* --task: what goes with it, what it ignores, its help. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launch/options/options_answer.h"
#include "tests/launch/parse.h"

#define TINY "--model gpt-tiny --load nowhere "
#define WIKITEXT TINY "--task wikitext103 --valid-data some "
#define LAMBADA TINY "--task lambada --valid-data some "

static void test_a_task_stands_for_a_training(void **state)
{
    (void) state;
    accepts(WIKITEXT);
    assert_ptr_equal(options.task, &mtlm_task_wikitext103);
    assert_string_equal(options.valid_data, "some");
    assert_int_equal(options.overlapping_eval, 32);
    assert_true(options.eval_only && !options.summary_text);
    assert_string_equal(options.tokenizer->name, "byte");
    accepts(LAMBADA "--strict-lambada --eval-only");
    assert_ptr_equal(options.task, &mtlm_task_lambada);
    assert_true(options.strict_lambada);
}

/* As Megatron-LM writes the names. */
static void test_names_may_be_in_capitals(void **state)
{
    (void) state;
    accepts(TINY "--task WIKITEXT103 --valid-data some");
    assert_ptr_equal(options.task, &mtlm_task_wikitext103);
    accepts(TINY "--task LAMBADA --valid-data some");
    assert_ptr_equal(options.task, &mtlm_task_lambada);
}

static void test_what_a_training_needs_is_dropped(void **state)
{
    (void) state;
    accepts_config("global-batch-size = 12\nsave = there\n"
                   "data-path = words\neval-iters = 3\n",
                   WIKITEXT);
    assert_null(options.save_dir);
    assert_null(options.data_path);
    assert_int_equal(options.global_batch_size, options.micro_batch_size);
    accepts(WIKITEXT "--global-batch-size 8");
    assert_string_equal(options.notes,
                        "--global-batch-size has no effect with --task");
}

static void test_a_window_holds_the_overlap(void **state)
{
    (void) state;
    accepts(WIKITEXT "--seq-length 16");
    assert_int_equal(options.overlapping_eval, 16);
    accepts(WIKITEXT "--seq-length 16 --overlapping-eval 16");
    /* Another task does not mind a file's. */
    accepts_config("overlapping-eval = 8\n", LAMBADA);
    refuses(WIKITEXT "--seq-length 16 --overlapping-eval 17",
            "--overlapping-eval 17 is more than the --seq-length 16");
    refuses(WIKITEXT "--overlapping-eval 0",
            "--overlapping-eval is '0', it must be a whole number from 1 to "
            "1048576");
}

static void test_contradictions_are_refused(void **state)
{
    (void) state;
    refuses(TINY "--task wikitext10 --valid-data some",
            "unknown task 'wikitext10'; did you mean wikitext103?");
    refuses(TINY "--task xyz --valid-data some",
            "unknown task 'xyz'; the tasks are wikitext103, lambada, "
            "mnli, qqp, race, squad");
    refuses(TINY "--task lambada",
            "--task lambada needs --valid-data FILE; mtlm-dag --task lambada "
            "--help says where to get it");
    refuses("--model gpt-tiny --task lambada --valid-data some",
            "--task needs --load DIR, the directory of the checkpoint");
    refuses(LAMBADA "more.jsonl",
            "--task lambada takes one file in --valid-data, found 2");
    refuses(TINY "--task lambada --valid-data 1 test.jsonl",
            "--valid-data takes files alone, without weights");
    refuses(WIKITEXT "--generate word",
            "--task and --generate contradict each other; give one of them");
    refuses(WIKITEXT "--prompt-file word",
            "--task and --prompt-file contradict each other; give one of "
            "them");
    refuses(WIKITEXT "--strict-lambada",
            "--strict-lambada is for --task lambada");
    refuses(LAMBADA "--overlapping-eval 8",
            "--overlapping-eval is for --task wikitext103");
    refuses(WIKITEXT "--metrics some",
            "--metrics is not for --task, which prints its result");
    refuses(WIKITEXT "--trace there",
            "--trace needs training, and --task does not train");
    refuses(WIKITEXT "--simulate cluster.ini",
            "--simulate predicts a training and contradicts --task; give one "
            "of them");
    refuses("--model bert-tiny --load nowhere --task lambada --valid-data x",
            "--task lambada is for a GPT; this model is a BERT");
    refuses(WIKITEXT "--vocab-size 300",
            "--task needs the tokenizer of the model: give --vocab-file and "
            "--merge-file, or --tokenizer-model, whose vocabulary has 300 "
            "tokens");
}

static void test_options_of_tasks_need_one(void **state)
{
    (void) state;
    refuses("--model gpt-tiny --valid-data some",
            "--valid-data is for --task NAME");
    refuses("--model gpt-tiny --overlapping-eval 8",
            "--overlapping-eval is for --task NAME");
    refuses("--model gpt-tiny --strict-lambada",
            "--strict-lambada is for --task NAME");
}

/* Returns what the request of the line prints; the caller frees the text. */
static char *answer_to(const char *line)
{
    const int request = parse(line);
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(request, MTLM_REQUEST_HELP);
    mtlm_options_answer(&options, request, out);
    fclose(out);
    return text;
}

static void has_help_also(const char *line, const char *expected)
{
    char *text = answer_to(line);

    assert_string_equal(text, expected);
    free(text);
}

/* The page does not depend on which of the two options comes first. */
static void test_help_before_a_task_is_about_the_task(void **state)
{
    char *text = answer_to("--task race --help");

    (void) state;
    has_help_also("--help --task race", text);
    has_help_also("--help --lr 1 --task=race", text);
    has_help_also("--task race --help --task mnli", text);
    free(text);
    refuses("--help --task xyz",
            "unknown task 'xyz'; the tasks are wikitext103, lambada, "
            "mnli, qqp, race, squad");
    assert_int_equal(parse("--help --task"), MTLM_REQUEST_HELP);
    assert_null(options.task);
}

static void test_each_task_has_help(void **state)
{
    (void) state;
    for (int i = 0; mtlm_tasks[i]; i++) {
        char line[64];
        char *text;

        snprintf(line, sizeof(line), "--task %s --help", mtlm_tasks[i]->name);
        text = answer_to(line);
        assert_non_null(strstr(text, "Data (nothing is downloaded):\n  http"));
        assert_non_null(strstr(text, "Licence: "));
        assert_non_null(strstr(text, "MB"));
        snprintf(line, sizeof(line), "--task %s ", mtlm_tasks[i]->name);
        assert_non_null(strstr(text, line));
        assert_non_null(strstr(text, "arXiv"));
        for (char *at = text; *at; at += strcspn(at, "\n") + 1)
            assert_true(strcspn(at, "\n") < 80);
        free(text);
    }
    refuses("--task xyz --help",
            "unknown task 'xyz'; the tasks are wikitext103, lambada, "
            "mnli, qqp, race, squad");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_task_stands_for_a_training),
        cmocka_unit_test(test_names_may_be_in_capitals),
        cmocka_unit_test(test_what_a_training_needs_is_dropped),
        cmocka_unit_test(test_a_window_holds_the_overlap),
        cmocka_unit_test(test_contradictions_are_refused),
        cmocka_unit_test(test_options_of_tasks_need_one),
        cmocka_unit_test(test_each_task_has_help),
        cmocka_unit_test(test_help_before_a_task_is_about_the_task),
    };

    return cmocka_run_group_tests(tests, parse_setup, parse_teardown);
}
