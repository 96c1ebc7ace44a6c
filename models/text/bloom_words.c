/* Cuts text into words like BLOOM's tokenizer. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "models/text/bloom_words.h"
#include "models/text/tokenizer.h"
#include "runtime/base/memory.h"

struct mtlm_bloom_class {
    int n;
    utf8proc_int32_t mark[]; /* [n] */
};

/* Whether a character has a meaning of its own within a class. */
static bool has_meaning(utf8proc_int32_t c)
{
    return c == '[' || c == ']' || c == '\\' || c == '^' || c == '&'
           || c == '-';
}

struct mtlm_bloom_class *mtlm_bloom_words_class(const char *pattern)
{
    static const char before[] = " ?[^(\\s|[", behind[] = "])]+";
    const size_t bytes = strlen(pattern), first = sizeof(before) - 1;
    const size_t last = sizeof(behind) - 1;
    struct mtlm_bloom_class *c;

    if (bytes < first + last || memcmp(pattern, before, first) != 0
        || strcmp(pattern + bytes - last, behind) != 0)
        return NULL;
    c = mtlm_calloc(1, sizeof(*c) + (bytes + 3) * sizeof(*c->mark));
    for (size_t at = first; at < bytes - last;) {
        const utf8proc_ssize_t n = utf8proc_iterate(
            (const utf8proc_uint8_t *) pattern + at,
            (utf8proc_ssize_t) (bytes - last - at), &c->mark[c->n]);

        if (n <= 0 || has_meaning(c->mark[c->n])) {
            free(c);
            return NULL;
        }
        c->n++;
        at += (size_t) n;
    }
    c->mark[c->n++] = '(';
    c->mark[c->n++] = ')';
    c->mark[c->n++] = '|';
    return c;
}

/* Whether text begins with a character of the class; *length: its bytes. */
static bool classify(const struct mtlm_bloom_class *c, const char *text,
                     int64_t bytes, int64_t *length)
{
    utf8proc_int32_t first;

    *length = utf8proc_iterate((const utf8proc_uint8_t *) text, bytes, &first);
    if (*length <= 0) {
        *length = 1;
        return false;
    }
    for (int i = 0; i < c->n; i++)
        if (c->mark[i] == first)
            return true;
    return mtlm_tokenizer_white_space(text, bytes);
}

bool mtlm_bloom_words_in_class(const struct mtlm_bloom_class *c,
                               const char *text, int64_t bytes)
{
    int64_t length;

    return classify(c, text, bytes, &length);
}

/* Returns the end of the run of characters in the class, or outside of it, that
 * begins at from; *last: where its last character begins. */
static int64_t run_end(const struct mtlm_bloom_class *c, bool inside,
                       const char *text, int64_t from, int64_t bytes,
                       int64_t *last)
{
    int64_t at = from, length;

    while (at < bytes
           && classify(c, text + at, bytes - at, &length) == inside) {
        *last = at;
        at += length;
    }
    return at;
}

int64_t mtlm_bloom_words_next(const struct mtlm_bloom_class *c,
                              const char *text, int64_t bytes)
{
    int64_t last = 0, end;

    if (*text == ' ' && bytes > 1
        && !mtlm_bloom_words_in_class(c, text + 1, bytes - 1))
        return run_end(c, false, text, 1, bytes, &last);
    end = run_end(c, true, text, 0, bytes, &last);
    if (end == 0)
        return run_end(c, false, text, 0, bytes, &last);
    /* A blank before a word belongs to the word. */
    return end < bytes && text[last] == ' ' && last > 0 ? last : end;
}
