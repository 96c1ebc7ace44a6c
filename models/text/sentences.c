/* Finds the ends of sentences in English prose. */

#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "models/text/sentences.h"
#include "runtime/base/blank.h"

/* A text and its end; nothing is read beyond. */
struct text {
    const char *begin, *end;
};

/* Classes of ASCII characters, independent of the locale. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_letter(char c)
{
    return is_upper(c) || (c >= 'a' && c <= 'z') || (unsigned char) c >= 128;
}

/* Returns the bytes of the mark at c: one byte of `ascii`, or three bytes
 * (UTF-8) of `more`; 0: no mark. */
static int mark(const char *c, const char *end, const char *ascii,
                const char *more)
{
    if (c < end && *c && strchr(ascii, *c))
        return 1;
    for (; *more; more += 3)
        if (end - c >= 3 && memcmp(c, more, 3) == 0)
            return 3;
    return 0;
}

/* Quotation marks and brackets. */
static const char *skip_closing(const char *c, const char *end)
{
    for (int n; (n = mark(c, end, "\"')]}*_", "\u201d\u2019")) > 0;)
        c += n;
    return c;
}

static const char *skip_opening(const char *c, const char *end)
{
    for (int n; (n = mark(c, end, "\"'([{*_`", "\u201c\u2018")) > 0;)
        c += n;
    return c;
}

static const char *skip_space(const char *c, const char *end)
{
    while (c < end && mtlm_is_space(*c))
        c++;
    return c;
}

/* Whether the white space from c to end holds an empty line. */
static bool parts_paragraphs(const char *c, const char *end)
{
    int lines = 0;

    for (; c < end; c++) {
        lines += *c == '\n';
        if (lines == 2 || *c == '\f')
            return true;
    }
    return false;
}

static bool begins_sentence(const char *c, const char *end)
{
    c = skip_opening(c, end);
    if (c == end)
        return false;
    /* A-grave to Thorn, but for the multiplication sign. */
    if (end - c >= 2 && *c == '\xc3')
        return (unsigned char) c[1] <= 0x9e && (unsigned char) c[1] != 0x97;
    return is_upper(*c) || is_digit(*c);
}

/* Whether the word from begin to end, without its full stop, is in list, where
 * a blank stands before and after each word. */
static bool in_list(const char *begin, const char *end, const char *list)
{
    char word[16];
    const size_t n = end - begin;

    if (n + 3 > sizeof(word))
        return false;
    word[0] = ' ';
    memcpy(word + 1, begin, n);
    word[n + 1] = ' ';
    word[n + 2] = '\0';
    return n > 0 && !memchr(begin, ' ', n) && strstr(list, word) != NULL;
}

/* Abbreviations before names and words. */
static const char titles[] =
    " Mr Mrs Ms Messrs Dr Prof St Rev Fr Gen Col Maj Capt Lt Sgt Cpl Adm Gov "
    "Sen Rep Hon Pres Mt vs cf viz Cf ";

/* Abbreviations before numbers. */
static const char numbered[] =
    " p pp P vol vols Vol Vols ch chs Ch chap chaps Chap sec secs Sec sect "
    "Sect fig figs Fig Figs eq eqs Eq no nos No Nos art Art ed eds ver al ca "
    "c approx Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec ";

/* Whether the full stop at `stop` belongs to an abbreviation, or to a number at
 * the begin of the text.  next: the first byte after the white space. */
static bool is_abbreviation(const struct text *text, const char *stop,
                            const char *next)
{
    const char *word = stop, *first = skip_space(text->begin, text->end);

    while (word > text->begin && (is_letter(word[-1]) || is_digit(word[-1])))
        word--;
    first = skip_opening(first, text->end);
    if (word == stop)
        return false;
    if (word <= first) { /* at the begin of the text: "1.", "a." */
        bool number = true;

        for (const char *c = word; c < stop; c++)
            number = number && is_digit(*c);
        if (number)
            return true;
    }
    if (stop - word == 1 && is_letter(*word)) {
        /* "Bob's.", but "O'B. Smith" */
        const bool ending =
            word > text->begin && word[-1] == '\'' && !is_upper(*word);

        return !ending && (*word != 'I' || word <= first);
    }
    if (in_list(word, stop, titles))
        return true;
    next = skip_opening(next, text->end);
    return next < text->end && is_digit(*next) && in_list(word, stop, numbered);
}

int64_t mtlm_sentences_length(const char *begin, int64_t n)
{
    const struct text text = {begin, begin + n};
    const char *c = skip_space(begin, text.end);

    while (c < text.end) {
        const char stop = *c, *at = c++;
        const char *after, *next;

        if (!mtlm_is_space(stop) && stop != '.' && stop != '?' && stop != '!')
            continue;
        after = mtlm_is_space(stop) ? at : skip_closing(c, text.end);
        next = skip_space(after, text.end);
        if (next == after)
            continue;
        if (next == text.end || parts_paragraphs(after, next))
            return next - begin;
        if (mtlm_is_space(stop)) {
            c = next;
            continue;
        }
        if (begins_sentence(next, text.end)
            && (stop != '.' || !is_abbreviation(&text, at, next)))
            return next - begin;
    }
    return n;
}
