/* Cuts text into words like GPT-2's tokenizer. */

#include "config.h"

#include <string.h>

#include <utf8proc.h>

#include "models/text/gpt2_words.h"
#include "models/text/tokenizer.h"

enum class { OTHER, LETTER, NUMBER, WHITE };

static const unsigned char ascii[128] = {
    ['\t'] = WHITE,         ['\n'] = WHITE,         ['\v'] = WHITE,
    ['\f'] = WHITE,         ['\r'] = WHITE,         [' '] = WHITE,
    ['0' ... '9'] = NUMBER, ['A' ... 'Z'] = LETTER, ['a' ... 'z'] = LETTER,
};

/* White_Space of Unicode beyond ASCII: the separators and one control. */
static enum class class_of(utf8proc_int32_t c) {
    switch (utf8proc_category(c)){
        case UTF8PROC_CATEGORY_LU : case UTF8PROC_CATEGORY_LL : case
        UTF8PROC_CATEGORY_LT : case UTF8PROC_CATEGORY_LM : case
        UTF8PROC_CATEGORY_LO : return LETTER;
        case UTF8PROC_CATEGORY_ND : case UTF8PROC_CATEGORY_NL : case
        UTF8PROC_CATEGORY_NO : return NUMBER;
        case UTF8PROC_CATEGORY_ZS : case UTF8PROC_CATEGORY_ZL : case
        UTF8PROC_CATEGORY_ZP : return WHITE;
        default : return c == 0x85 ? WHITE : OTHER;
    }
}

/* Returns the class of the first character, and its length in bytes. */
static enum class classify_first(const char *text, int64_t bytes,
                                 int64_t *length) {
    utf8proc_int32_t c;

    *length = 1;
    if ((unsigned char) *text < 128) return ascii[(unsigned char) *text];
    *length = utf8proc_iterate((const utf8proc_uint8_t *) text, bytes, &c);
    if (*length > 0) return class_of(c);
    *length = 1;
    return OTHER;
}

bool mtlm_tokenizer_white_space(const char *text, int64_t bytes)
{
    int64_t length;

    return classify_first(text, bytes, &length) == WHITE;
}

/* Returns the end of the run of one class that begins at from; *last: where the
 * run's last character begins. */
static int64_t run_length(const char *text, int64_t from, int64_t bytes,
                          enum class c, int64_t *last)
{
    int64_t at = from, length;

    while (at < bytes && classify_first(text + at, bytes - at, &length) == c) {
        *last = at;
        at += length;
    }
    return at;
}

static int64_t contraction(const char *text, int64_t bytes)
{
    static const char *const known[] = {"'s", "'t",  "'re", "'ve",
                                        "'m", "'ll", "'d"};

    for (int i = 0; i < 7; i++) {
        const int64_t n = (int64_t) strlen(known[i]);

        if (n <= bytes && memcmp(text, known[i], (size_t) n) == 0)
            return n;
    }
    return 0;
}

int64_t mtlm_gpt2_words_next(const char *text, int64_t bytes, bool more)
{
    const int64_t first = *text == ' ' && bytes > 1;
    int64_t last = 0, end = *text == '\'' ? contraction(text, bytes) : 0;
    enum class c;

    if (end)
        return end;
    c = classify_first(text + first, bytes - first, &end);
    if (c != WHITE)
        return run_length(text, first, bytes, c, &last);
    /* Leave out the last character of white space before a word.  A blank there
     * belongs to the word; another character is a word of its own. */
    end = run_length(text, 0, bytes, WHITE, &last);
    return (end == bytes && !more) || last == 0 ? end : last;
}
