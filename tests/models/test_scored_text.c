/* Zero-shot data: windows of WikiText-103, passages of LAMBADA. */

#include "config.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/task/detokenize.h"
#include "models/task/lambada.h"
#include "models/task/wikitext.h"
#include "models/text/byte_tokenizer.h"
#include "tests/models/files.h"

static const struct mtlm_tokenizer *const byte = &mtlm_tokenizer_byte;

/* Values of a field of a sample; s at most 64. */
static const int32_t *field_of(struct mtlm_scored_text *text, int64_t sample,
                               enum mtlm_field field)
{
    static int32_t values[MTLM_FIELD_COUNT][64];
    const int64_t s = text->source.seq_length;

    mtlm_samples_read(&text->source, sample, field, 0, s / 2, values[field]);
    mtlm_samples_read(&text->source, sample, field, s / 2, s - s / 2,
                      values[field] + s / 2);
    return values[field];
}

/* ---- windows ---- */

/* A text of n tokens that tell their place, and that no rule changes. */
static void write_numbered(int n)
{
    char *text = malloc(n);

    for (int i = 0; i < n; i++)
        text[i] = (char) ('a' + i % 25);
    text[1] = ' '; /* two words */
    files_write("text", text, n);
    free(text);
}

/* Every token but the first is scored once, behind all context that fits. */
static void check_windows(int n, int s, int overlap)
{
    struct mtlm_scored_text *text =
        mtlm_wikitext_read(byte, files_path("text"), s, overlap, NULL);
    const int more = n - 1 <= s ? 0 : (n - 1 - s + overlap - 1) / overlap;
    int next = 1;

    assert_int_equal(text->tokens, n);
    assert_int_equal(text->scored, n - 1);
    assert_int_equal(text->samples, 1 + more);
    for (int i = 0; i < text->samples; i++) {
        const int32_t *tokens = field_of(text, i, MTLM_FIELD_TOKENS);
        const int32_t *labels = field_of(text, i, MTLM_FIELD_LABELS);
        const int32_t *mask = field_of(text, i, MTLM_FIELD_LOSS_MASK);

        for (int k = 0; k < s; k++) {
            const int at = i * overlap + k;

            assert_int_equal(tokens[k], at < n ? text->token[at] : byte->eod);
            assert_int_equal(labels[k],
                             at + 1 < n ? text->token[at + 1] : byte->eod);
            assert_int_equal(mask[k],
                             at + 1 < n && (i == 0 || k >= s - overlap));
            if (mask[k])
                assert_int_equal(at + 1, next++);
        }
    }
    assert_int_equal(next, n);
    mtlm_samples_destroy(&text->source);
}

static void test_windows_score_each_token_once(void **state)
{
    static const int lengths[] = {3, 16, 17, 18, 20, 21, 33, 48, 49, 100};

    (void) state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        write_numbered(lengths[i]);
        check_windows(lengths[i], 16, 1);
        check_windows(lengths[i], 16, 4);
        check_windows(lengths[i], 16, 5);
        check_windows(lengths[i], 16, 16);
    }
}

/* A batch may be larger than what is left. */
static void test_samples_behind_the_last_score_nothing(void **state)
{
    struct mtlm_scored_text *text;

    (void) state;
    write_numbered(20);
    text = mtlm_wikitext_read(byte, files_path("text"), 16, 16, NULL);
    assert_int_equal(text->samples, 2);
    for (int i = 2; i < 5; i++) {
        const int32_t *mask = field_of(text, i, MTLM_FIELD_LOSS_MASK);
        const int32_t *tokens = field_of(text, i, MTLM_FIELD_TOKENS);

        for (int k = 0; k < 16; k++)
            assert_true(mask[k] == 0 && tokens[k] == byte->eod);
    }
    mtlm_samples_destroy(&text->source);
}

/* Attention reads so many rows. */
static void test_samples_have_the_whole_length(void **state)
{
    struct mtlm_scored_text *text;
    int32_t length;

    (void) state;
    write_numbered(10);
    text = mtlm_wikitext_read(byte, files_path("text"), 16, 16, NULL);
    for (int i = 0; i < 3; i++) {
        mtlm_samples_read(&text->source, i, MTLM_FIELD_LENGTH, 0, 1, &length);
        assert_int_equal(length, 16);
    }
    mtlm_samples_destroy(&text->source);
}

static void test_words_of_the_raw_text_are_counted(void **state)
{
    static const char raw[] = " \n = A title = \n \n two words , and  more \n ";
    int64_t n;
    char *clean = mtlm_detokenize(raw, sizeof(raw) - 1, &n);

    (void) state;
    /* Two blanks have a word between them, which is empty. */
    assert_int_equal(mtlm_detokenize_words(raw, sizeof(raw) - 1), 12);
    assert_int_equal(mtlm_detokenize_words("a b", 3), 2);
    assert_int_equal(mtlm_detokenize_words("", 0), 1);
    assert_string_equal(clean, "\n= A title =\n\ntwo words, and  more\n");
    assert_int_equal(n, strlen(clean));
    free(clean);
}

static void refuses_text(const char *content, int64_t bytes, const char *reason)
{
    struct mtlm_error err;

    files_write("text", content, bytes);
    assert_null(mtlm_wikitext_read(byte, files_path("text"), 16, 4, &err));
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    if (!strstr(err.text, reason))
        fail_msg("no \"%s\" in: %s", reason, err.text);
}

static void test_text_that_cannot_be_scored_is_refused(void **state)
{
    struct mtlm_error err;

    (void) state;
    refuses_text("", 0, "text: the file is empty");
    refuses_text("a", 1, "expected text of two words or more, found 1 token");
    refuses_text("word", 4, "expected text of two words or more");
    refuses_text("a b\n\xff c", 7, "line 2: expected UTF-8");
    refuses_text("a b\n\xed\xa0\x80", 7, "line 2: expected UTF-8");
    assert_null(mtlm_wikitext_read(byte, files_path("nowhere"), 16, 4, &err));
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
}

/* ---- passages ---- */

static struct mtlm_scored_text *passages(const char *content, int64_t s,
                                         bool strict)
{
    struct mtlm_scored_text *text;
    struct mtlm_error err;

    files_write("passages", content, strlen(content));
    text = mtlm_lambada_read(byte, files_path("passages"), s, strict, &err);
    if (!text)
        fail_msg("%s", err.text);
    return text;
}

/* The sample reads `before` and scores `scored` behind it. */
static void check_passage(struct mtlm_scored_text *text, int64_t sample,
                          const char *before, const char *scored)
{
    const int b = (int) strlen(before), n = (int) strlen(scored);
    const int32_t *tokens = field_of(text, sample, MTLM_FIELD_TOKENS);
    const int32_t *labels = field_of(text, sample, MTLM_FIELD_LABELS);
    const int32_t *mask = field_of(text, sample, MTLM_FIELD_LOSS_MASK);

    for (int k = 0; k < text->source.seq_length; k++) {
        const bool counts = k >= b - 1 && k < b - 1 + n;

        assert_int_equal(mask[k], counts);
        if (counts)
            assert_int_equal(labels[k], scored[k - (b - 1)]);
        if (k < b + n)
            assert_int_equal(tokens[k], k < b ? before[k] : scored[k - b]);
    }
}

static const char two[] =
    "{\"text\": \"one two  three \\n\"}\r\n\n \n"
    "{\"domain\": [99999999999999999999, {}], \"text\": \"\\u00e9 x y\"}";

static void test_the_last_token_is_scored(void **state)
{
    struct mtlm_scored_text *text = passages(two, 40, false);

    (void) state;
    assert_int_equal(text->samples, 2);
    assert_int_equal(text->scored, 2);
    check_passage(text, 0, "one two  three ", "\n");
    mtlm_samples_destroy(&text->source);
}

static void test_strictly_the_last_word_is_scored(void **state)
{
    struct mtlm_scored_text *text = passages(two, 40, true);

    (void) state;
    assert_int_equal(text->samples, 2);
    assert_int_equal(text->scored, 6 + 2);
    check_passage(text, 0, "one two", " three");
    assert_int_equal(text->cut, 0);
    mtlm_samples_destroy(&text->source);
}

static void test_white_space_is_that_of_unicode(void **state)
{
    struct mtlm_scored_text *text = passages(
        "{\"text\": \"a\\u00a0bc\\u3000de\\u2028\\u0085\\u001f\"}", 40, true);

    (void) state;
    assert_int_equal(text->scored, 3);
    assert_int_equal(text->tokens, 1 + 2 + 2 + 3);
    mtlm_samples_destroy(&text->source);
}

static void test_long_passages_keep_their_end(void **state)
{
    struct mtlm_scored_text *text = passages(
        "{\"text\": \"abcdefghijklmnop qrs\"}\n{\"text\": \"ab c\"}", 8, true);

    (void) state;
    assert_int_equal(text->cut, 1);
    check_passage(text, 0, "lmnop", " qrs");
    check_passage(text, 1, "ab", " c");
    mtlm_samples_destroy(&text->source);
}

static void refuses_passages(const char *content, bool strict,
                             const char *reason)
{
    struct mtlm_error err;

    files_write("passages", content, strlen(content));
    assert_null(
        mtlm_lambada_read(byte, files_path("passages"), 8, strict, &err));
    assert_int_equal(err.code, MTLM_EXIT_INPUT);
    if (!strstr(err.text, reason))
        fail_msg("no \"%s\" in: %s", reason, err.text);
}

static void test_damaged_files_are_refused_with_their_line(void **state)
{
    (void) state;
    refuses_passages("", false, "passages: the file is empty");
    refuses_passages("\n \n", false, "in each line, found none");
    refuses_passages("{\"text\": \"a b\"}\n{\"text\": \"a", false,
                     "passages: line 2, column ");
    refuses_passages("{\"text\": \"a b\"} {", false, "passages: line 1, col");
    refuses_passages("[1]\n", false,
                     "line 1: expected an object with a text \"text\", found "
                     "none");
    refuses_passages("{\"text\": 1}", true, "found another type");
    refuses_passages("{\"text\": \"\xff\"}", true, "passages: line 1, column ");
    refuses_passages("{\"text\": \"a\"}", false,
                     "line 1: expected a passage of two words or more");
    refuses_passages("{\"text\": \" word \"}", true,
                     "line 1: expected a passage of two words or more");
    refuses_passages("{\"text\": \"\"}", true,
                     "line 1: expected a passage of two words or more");
    refuses_passages("{\"text\": \"a b\"}\n{\"text\": \"a longword\"}", true,
                     "line 2: the last word has 9 tokens, and --seq-length "
                     "is 8");
}

static void test_a_byte_order_mark_is_no_part_of_a_line(void **state)
{
    struct mtlm_scored_text *text =
        passages("\xef\xbb\xbf{\"text\": \"a b\"}", 40, true);

    (void) state;
    assert_int_equal(text->samples, 1);
    check_passage(text, 0, "a", " b");
    mtlm_samples_destroy(&text->source);
}

/* A zero byte is a character like others. */
static void test_a_zero_byte_may_be_in_a_passage(void **state)
{
    struct mtlm_scored_text *text =
        passages("{\"text\": \"a b\\u0000c\"}", 40, true);

    (void) state;
    assert_int_equal(text->scored, 4);
    assert_int_equal(text->token[3], 0);
    mtlm_samples_destroy(&text->source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_score_each_token_once),
        cmocka_unit_test(test_samples_behind_the_last_score_nothing),
        cmocka_unit_test(test_samples_have_the_whole_length),
        cmocka_unit_test(test_words_of_the_raw_text_are_counted),
        cmocka_unit_test(test_text_that_cannot_be_scored_is_refused),
        cmocka_unit_test(test_the_last_token_is_scored),
        cmocka_unit_test(test_strictly_the_last_word_is_scored),
        cmocka_unit_test(test_white_space_is_that_of_unicode),
        cmocka_unit_test(test_long_passages_keep_their_end),
        cmocka_unit_test(test_damaged_files_are_refused_with_their_line),
        cmocka_unit_test(test_a_byte_order_mark_is_no_part_of_a_line),
        cmocka_unit_test(test_a_zero_byte_may_be_in_a_passage),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
