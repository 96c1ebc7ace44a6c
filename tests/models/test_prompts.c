/* Prompts: a text, the lines of a file, several sequences of each. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "models/text/byte_tokenizer.h"
#include "models/text/prompts.h"
#include "tests/models/files.h"

static const struct mtlm_tokenizer *const byte = &mtlm_tokenizer_byte;

static void check(const struct mtlm_prompts *prompts, int64_t sequence,
                  const char *want)
{
    int64_t n;
    const int32_t *token = mtlm_prompts_tokens(prompts, sequence, &n);

    assert_int_equal(n, *want ? (int64_t) strlen(want) : 1);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(token[i], *want ? want[i] : MTLM_BYTE_EOD);
}

static void test_a_text_begins_each_sample(void **state)
{
    struct mtlm_prompts *prompts =
        mtlm_prompts_create(byte, MTLM_BYTE_EOD, "Two\nlines ", 3);
    int32_t token[4];

    (void) state;
    assert_int_equal(prompts->sequences, 3);
    assert_int_equal(prompts->longest, 10);
    for (int i = 0; i < 3; i++)
        check(prompts, i, "Two\nlines ");
    mtlm_samples_read(&prompts->source, 2, MTLM_FIELD_TOKENS, 8, 4, token);
    assert_memory_equal(token, ((int32_t[]){'s', ' ', 0, 0}), sizeof(token));
    mtlm_prompts_destroy(prompts);
}

static void test_no_text_is_the_end_of_a_document(void **state)
{
    struct mtlm_prompts *prompts =
        mtlm_prompts_create(byte, MTLM_BYTE_EOD, "", 1);

    (void) state;
    check(prompts, 0, "");
    mtlm_prompts_destroy(prompts);
}

static void test_a_line_is_a_prompt(void **state)
{
    /* A byte order mark is no part of the text. */
    static const char text[] = "\xef\xbb\xbfone\n\nthree and more\r\nfour";
    struct mtlm_prompts *prompts, *other;

    (void) state;
    files_write("prompts", text, sizeof(text) - 1);
    prompts =
        mtlm_prompts_read(byte, MTLM_BYTE_EOD, files_path("prompts"), 2, NULL);
    assert_int_equal(prompts->sequences, 8);
    assert_int_equal(prompts->longest, 14);
    check(prompts, 1, "one");
    check(prompts, 2, "");
    check(prompts, 5, "three and more");
    check(prompts, 6, "four");
    other = mtlm_prompts_create(byte, MTLM_BYTE_EOD, "one", 1);
    assert_true(other->hash != prompts->hash);
    mtlm_prompts_destroy(other);
    mtlm_prompts_destroy(prompts);
}

static void test_a_file_without_a_line_is_refused(void **state)
{
    struct mtlm_error err;

    (void) state;
    files_write("nothing", "", 0);
    assert_null(
        mtlm_prompts_read(byte, MTLM_BYTE_EOD, files_path("nothing"), 1, &err));
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    assert_non_null(strstr(err.text, "nothing: the file holds no prompt"));
    assert_null(
        mtlm_prompts_read(byte, MTLM_BYTE_EOD, files_path("nowhere"), 1, &err));
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_text_begins_each_sample),
        cmocka_unit_test(test_no_text_is_the_end_of_a_document),
        cmocka_unit_test(test_a_line_is_a_prompt),
        cmocka_unit_test(test_a_file_without_a_line_is_refused),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
