/* Data options: lists on the command line and in files, for all splits or for
 * each. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/options/options_print.h"
#include "tests/launch/parse.h"

static char file_name[] = "/tmp/mtlm-test.XXXXXX";

static void write_file(const char *text)
{
    FILE *file = fopen(file_name, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* accepts(), refuses() and a wrong file, with the name of the file behind the
 * line. */
static void accepts_file(const char *option)
{
    char line[256];

    snprintf(line, sizeof(line), "--model gpt-tiny %s %s", option, file_name);
    accepts(line);
}

static void refuses_file(const char *option, const char *words, int code)
{
    char line[256];

    snprintf(line, sizeof(line), "--model gpt-tiny %s %s", option, file_name);
    assert_int_equal(parse(line), -1);
    if (!strstr(error.text, words))
        fail_msg("\"%s\" lacks \"%s\"", error.text, words);
    assert_int_equal(error.code, code);
}

static void test_words_become_a_list(void **state)
{
    (void) state;
    accepts("--model gpt-tiny --data-path 0.7 a 0.3 b --seed 7");
    assert_string_equal(options.data_path, "0.7 a 0.3 b");
    assert_int_equal(options.seed, 7);
    assert_false(options.mock_data);
    accepts("--model gpt-tiny --data-path a b c");
    assert_string_equal(options.data_path, "a b c");
    accepts("--model gpt-tiny --train-data-path 1 a 2 b --valid-data-path c "
            "--test-data-path d e");
    assert_string_equal(options.train_data_path, "1 a 2 b");
    assert_string_equal(options.valid_data_path, "c");
    assert_string_equal(options.test_data_path, "d e");
    assert_false(options.mock_data);
    refuses("--model gpt-tiny --data-path 0.7 a 0.3",
            "--data-path: '0.7' stands where a prefix is expected; give WEIGHT "
            "PREFIX pairs, or prefixes alone");
    refuses("--model gpt-tiny --data-path a --valid-data-path 1 a 0 b",
            "--data-path names the data of all splits and --valid-data-path "
            "those of one; give one of them");
    refuses("--model gpt-tiny --train-data-path a --valid-data-path 1 a 0 b",
            "--valid-data-path: the weight of b is '0', it must be a number "
            "above 0");
    refuses("--model gpt-tiny --data-path", "--data-path needs a value: "
                                            "--data-path [W] PREFIX...");
}

static void test_each_split_needs_its_data(void **state)
{
    (void) state;
    refuses("--model gpt-tiny --valid-data-path a",
            "there is data for another split and none to train on; give "
            "--train-data-path");
    refuses("--model gpt-tiny --train-data-path a",
            "--train-data-path leaves none to validate on; give "
            "--valid-data-path, or --eval-iters 0");
    accepts("--model gpt-tiny --train-data-path a --eval-iters 0");
    accepts("--model gpt-tiny --load nowhere --eval-only --valid-data-path a");
    refuses("--model gpt-tiny --load nowhere --eval-only --test-data-path a",
            "--eval-only needs data to validate on; give --valid-data-path");
    accepts("--model gpt-tiny --train-data-path a --valid-data-path b --split "
            "8,1,1");
    assert_string_equal(options.notes,
                        "--split is not used: each split has data of its own");
}

static void test_a_stronger_source_counts(void **state)
{
    (void) state;
    accepts_config("data-path = a\nmodel = gpt-tiny\n",
                   "--train-data-path b --valid-data-path c");
    assert_null(options.data_path);
    accepts_config("train-data-path = a\nvalid-data-path = 2 a 1 b\n"
                   "model = gpt-tiny\n",
                   "--data-path c");
    assert_null(options.train_data_path);
    assert_null(options.valid_data_path);
    assert_string_equal(options.data_path, "c");
}

static void test_made_up_tokens_are_no_data(void **state)
{
    static const char *const data[] = {"data-path", "valid-data-path",
                                       "data-args-path"};

    (void) state;
    for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
        char line[256], sentence[256];

        snprintf(line, sizeof(line), "--model gpt-tiny --mock-data --%s a",
                 data[i]);
        snprintf(sentence, sizeof(sentence),
                 "--mock-data trains on made-up tokens and --%s names data; "
                 "give one of them",
                 data[i]);
        refuses(line, sentence);
    }
    accepts_config("model = gpt-tiny\ndata-path = a\n", "--mock-data");
    assert_true(options.mock_data);
    assert_null(options.data_path);
    accepts_config("model = gpt-tiny\nmock-data = yes\n", "--data-path a");
    assert_false(options.mock_data);
    assert_string_equal(options.data_path, "a");
}

static void test_a_file_has_the_words(void **state)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void) state;
    write_file("0.7 a\n\t0.3  b\n");
    accepts_file("--data-args-path");
    assert_string_equal(options.data_path, "0.7 a  0.3  b");
    /* What is printed names the file, and is read back. */
    mtlm_options_print(&options, out);
    fclose(out);
    assert_non_null(strstr(text, "\n# data-path = 0.7 a"));
    assert_non_null(strstr(text, "\ndata-args-path = /tmp/"));
    free(text);
    write_file(" \n");
    refuses_file("--data-args-path", "names no data set for --data-path",
                 MTLM_EXIT_INPUT);
    write_file("0.7 a b c");
    refuses_file("--data-args-path",
                 "--data-path: the weight of c is 'b', it must be a number "
                 "above 0",
                 MTLM_EXIT_USAGE);
    write_file("a");
    refuses_file("--data-path a --data-args-path", "give one of them",
                 MTLM_EXIT_USAGE);
    assert_int_equal(parse("--model gpt-tiny --data-args-path /nowhere/x"), -1);
    assert_int_equal(error.code, MTLM_EXIT_INPUT);
    assert_non_null(strstr(error.text, "--data-args-path: /nowhere/x"));
}

static void test_a_file_has_lists_for_each_split(void **state)
{
    (void) state;
    write_file("{\"train\": [\"2\", \"a\", \"1\", \"b\"], \"valid\": [\"c\"], "
               "\"test\": null}");
    accepts_file("--per-split-data-args-path");
    assert_string_equal(options.train_data_path, "2 a 1 b");
    assert_string_equal(options.valid_data_path, "c");
    assert_null(options.test_data_path);
    write_file("{\"train\": \"a\", \"valid\": [\"c\"]}");
    refuses_file("--per-split-data-args-path",
                 ": \"train\": expected an array of texts, weights and "
                 "prefixes",
                 MTLM_EXIT_INPUT);
    write_file("{\"train\": [1, \"a\"]}");
    refuses_file("--per-split-data-args-path", "expected an array of texts",
                 MTLM_EXIT_INPUT);
    write_file("{");
    refuses_file("--per-split-data-args-path",
                 "--per-split-data-args-path: ", MTLM_EXIT_INPUT);
    write_file("{\"train\": [\"a\"]}");
    refuses_file("--eval-iters 0 --train-data-path b "
                 "--per-split-data-args-path",
                 "give one of them", MTLM_EXIT_USAGE);
}

static void test_what_samples_do_not_need_is_noted(void **state)
{
    (void) state;
    accepts("--model gpt-tiny --mask-prob 0.2 --dump-samples 9");
    assert_string_equal(options.notes,
                        "--mask-prob changes nothing here: it is for a bert\n"
                        "--dump-samples changes nothing here: it is for "
                        "--dump-first-step");
    accepts("--model gpt-tiny --dump-samples 9 --dump-first-step x");
    assert_null(options.notes);
    accepts("--model bert-tiny --mask-prob 0.2 --short-seq-prob 0.1");
    assert_null(options.notes);
    /* A file may serve jobs of several models. */
    accepts_config("mask-prob = 0.2\n", "--model gpt-tiny");
    assert_null(options.notes);
}

/* An evaluation has no moments, a prompt neither; both have weights. */
static void test_moments_that_nothing_has_are_noted(void **state)
{
    static const char *const lines[] = {
        "--model gpt-tiny --load nowhere --mock-data --eval-only --offload ",
        "--model gpt-tiny --load nowhere --generate word --offload "};

    (void) state;
    for (int i = 0; i < 2; i++) {
        char line[128];

        snprintf(line, sizeof(line), "%soptimizer", lines[i]);
        accepts(line);
        assert_string_equal(options.notes,
                            "--offload changes nothing here: it is for a "
                            "training; --offload all moves weights");
        snprintf(line, sizeof(line), "%sall --offload-dir .", lines[i]);
        accepts(line);
        assert_null(options.notes);
    }
    accepts("--model gpt-tiny --offload optimizer --offload-dir .");
    assert_null(options.notes);
}

static int setup(void **state)
{
    const int fd = mkstemp(file_name);

    return fd < 0 || close(fd) < 0 ? -1 : parse_setup(state);
}

static int teardown(void **state)
{
    unlink(file_name);
    return parse_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_become_a_list),
        cmocka_unit_test(test_each_split_needs_its_data),
        cmocka_unit_test(test_a_stronger_source_counts),
        cmocka_unit_test(test_made_up_tokens_are_no_data),
        cmocka_unit_test(test_a_file_has_the_words),
        cmocka_unit_test(test_a_file_has_lists_for_each_split),
        cmocka_unit_test(test_what_samples_do_not_need_is_noted),
        cmocka_unit_test(test_moments_that_nothing_has_are_noted),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
