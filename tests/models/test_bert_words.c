/* Words of BERT's basic tokenizer: the limits of the ranges of characters that
 * are words of their own. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <utf8proc.h>

#include "models/text/bert_words.h"

/* The words of "a", the character and "a". */
static int words_around(utf8proc_int32_t c)
{
    const struct mtlm_bert_rules *rules = &(struct mtlm_bert_rules){0};
    utf8proc_uint8_t text[8] = "a";
    int64_t bytes = 1 + utf8proc_encode_char(c, text + 1), some, characters;
    struct mtlm_bert_words *words;
    int n = 0;

    text[bytes++] = 'a';
    words = mtlm_bert_words_create((const char *) text, bytes, rules);
    while (mtlm_bert_words_next(words, &some, &characters))
        n++;
    mtlm_bert_words_destroy(words);
    return n;
}

/* CJK Unified Ideographs, their extensions A to E, and the compatibility
 * ideographs with their supplement, as in google-research/bert. */
static void test_chinese_characters_are_words(void **state)
{
    static const struct {
        utf8proc_int32_t first, last;
    } range[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},
                 {0x20000, 0x2a6df}, {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f},
                 {0x2b820, 0x2ceaf}, {0x2f800, 0x2fa1f}};
    static const utf8proc_int32_t others[] = {
        0x33ff, 0x4dc0,  0x4dff,  0xa000,  0xac00,  0xf8ff,  0xfb00,
        0xff21, 0x1ffff, 0x2a6e0, 0x2a6ff, 0x2ceb0, 0x2f7ff, 0x2fa20};

    (void) state;
    for (size_t i = 0; i < sizeof(range) / sizeof(range[0]); i++) {
        assert_int_equal(words_around(range[i].first), 3);
        assert_int_equal(words_around(range[i].last), 3);
        assert_int_equal(words_around((range[i].first + range[i].last) / 2), 3);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(words_around(others[i]), 1);
}

static void test_marks_of_ascii_are_words(void **state)
{
    (void) state;
    for (int c = 33; c < 127; c++) {
        const bool letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z')
                            || (c >= 'a' && c <= 'z');

        assert_int_equal(words_around(c), letter ? 1 : 3);
    }
    assert_int_equal(words_around(' '), 2);
    assert_int_equal(words_around(0x7f), 1);
}

/* The words of text in small letters, with a | between them. */
static const char *small_words(const char *text)
{
    static char out[256];
    const struct mtlm_bert_rules rules = {.lower = true, .strip_accents = true};
    struct mtlm_bert_words *words =
        mtlm_bert_words_create(text, strlen(text), &rules);
    int64_t bytes, characters;
    size_t n = 0;

    for (const char *w; (w = mtlm_bert_words_next(words, &bytes, &characters));
         n += bytes) {
        if (n)
            out[n++] = '|';
        memcpy(out + n, w, bytes);
    }
    out[n] = '\0';
    mtlm_bert_words_destroy(words);
    return out;
}

static void test_small_letters_have_no_accents(void **state)
{
    (void) state;
    assert_string_equal(small_words("The END"), "the|end");
    assert_string_equal(small_words("\u00c9t\u00e9 a\u0301\u0323b"), "ete|ab");
    /* A sigma at the end of a word. */
    assert_string_equal(small_words("\u03a3\u0391\u03a3 \u03a3"),
                        "\u03c3\u03b1\u03c2|\u03c3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chinese_characters_are_words),
        cmocka_unit_test(test_marks_of_ascii_are_words),
        cmocka_unit_test(test_small_letters_have_no_accents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
