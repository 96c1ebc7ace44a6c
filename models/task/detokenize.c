/* Takes the blanks out of WikiText-103. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "models/task/detokenize.h"
#include "models/task/python_text.h"
#include "runtime/base/memory.h"

int64_t mtlm_detokenize_words(const char *text, int64_t bytes)
{
    int64_t words = 1;

    mtlm_python_text_strip(&text, &bytes);
    for (int64_t i = 0; i < bytes; i++)
        words += text[i] == ' ';
    return words;
}

/* A text under change: bytes from `done` on are read, `out` is written. */
struct rewrite {
    const char *done, *end;
    char *out;
};

/* Writes n bytes from `from` on. */
static void put(struct rewrite *c, const char *from, int64_t n)
{
    memmove(c->out, from, (size_t) n);
    c->out += n;
}

/* Writes what is left of the text.  Returns the bytes of the new text. */
static int64_t put_rest(struct rewrite *c, const char *text)
{
    put(c, c->done, c->end - c->done);
    return c->out - text;
}

/* Replaces `from` by `to`, which is no longer, from left to right. */
static int64_t replace(char *text, int64_t n, const char *from, const char *to)
{
    const int64_t old = (int64_t) strlen(from), new = (int64_t) strlen(to);
    struct rewrite c = {text, text + n, text};
    const char *hit;

    while ((hit = memmem(c.done, (size_t) (c.end - c.done), from, old))) {
        put(&c, c.done, hit - c.done);
        put(&c, to, new);
        c.done = hit + old;
    }
    return put_rest(&c, text);
}

/* Takes out white space behind `open` and before the next `close`. */
static int64_t tighten(char *text, int64_t n, char open, char close)
{
    struct rewrite c = {text, text + n, text};

    for (;;) {
        const char *begin = memchr(c.done, open, (size_t) (c.end - c.done));
        const char *stop =
            begin ? memchr(begin + 1, close, (size_t) (c.end - begin - 1))
                  : NULL;
        const char *inner;
        int64_t bytes;

        if (!stop)
            return put_rest(&c, text);
        inner = begin + 1;
        bytes = stop - inner;
        mtlm_python_text_strip(&inner, &bytes);
        put(&c, c.done, begin + 1 - c.done);
        put(&c, inner, bytes);
        put(&c, stop, 1);
        c.done = stop + 1;
    }
}

/* Megatron-LM's rule for a digit between slashes, /' 5/, writes its own
 * pattern.  The published numbers have this rule, so we keep the rule. */
#define DIGIT_BEFORE "/' "
#define DIGIT_AFTER "/'[0-9]/"

/* Returns the next place of the rule in text [n], or NULL. */
static const char *find_digit(const char *text, int64_t n)
{
    const char *const end = text + n;
    const char *hit;

    while ((hit = memmem(text, (size_t) (end - text), DIGIT_BEFORE,
                         strlen(DIGIT_BEFORE)))) {
        if (end - hit >= 5 && hit[3] >= '0' && hit[3] <= '9' && hit[4] == '/')
            return hit;
        text = hit + 1;
    }
    return NULL;
}

/* Returns a copy of text [*n] with the rule applied, and sets *n. */
static char *copy_with_digits(const char *text, int64_t *n)
{
    const char *const end = text + *n;
    struct rewrite c = {text, end, NULL};
    int64_t places = 0;
    const char *hit;
    char *copy;

    for (const char *at = text; (hit = find_digit(at, end - at)); at = hit + 5)
        places++;
    copy = mtlm_calloc((size_t) *n + places * (strlen(DIGIT_AFTER) - 5) + 1, 1);
    c.out = copy;
    while ((hit = find_digit(c.done, end - c.done))) {
        put(&c, c.done, hit - c.done);
        put(&c, DIGIT_AFTER, strlen(DIGIT_AFTER));
        c.done = hit + 5;
    }
    *n = put_rest(&c, copy);
    return copy;
}

char *mtlm_detokenize(const char *text, int64_t bytes, int64_t *n)
{
    static const char *const marks[][2] = {
        {" @-@ ", "-"}, {" @,@ ", ","}, {" @.@ ", "."},
        {" : ", ": "},  {" ; ", "; "},  {" . ", ". "},
        {" ! ", "! "},  {" ? ", "? "},  {" , ", ", "}};
    static const char pairs[][2] = {
        {'(', ')'}, {'[', ']'}, {'{', '}'}, {'"', '"'}, {'\'', '\''}};
    static const char *const rest[][2] = {
        {"= = = =", "===="}, {"= = =", "==="},
        {"= =", "=="},       {" \xc2\xb0 ", "\xc2\xb0"}, /* the degree sign */
        {" \n", "\n"},       {"\n ", "\n"},
        {" N ", " 1 "},      {" 's", "'s"}};
    char *raw = mtlm_calloc((size_t) bytes + 1, 1), *copy;

    memcpy(raw, text, (size_t) bytes);
    *n = replace(raw, bytes, "s '", "s'");
    copy = copy_with_digits(raw, n);
    free(raw);
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        *n = replace(copy, *n, marks[i][0], marks[i][1]);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        *n = tighten(copy, *n, pairs[i][0], pairs[i][1]);
    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++)
        *n = replace(copy, *n, rest[i][0], rest[i][1]);
    copy[*n] = '\0';
    return copy;
}
