/* Cuts text into words like BERT's basic tokenizer. */

#include "config.h"

#include <stdlib.h>

#include <utf8proc.h>

#include "models/text/bert_words.h"
#include "models/text/unicode.h"
#include "runtime/base/memory.h"

enum { LONGEST = 8 }; /* a canonical decomposition has at most 4 */

struct mtlm_bert_words {
    const char *text;
    int64_t bytes, at;
    struct mtlm_bert_rules rules;

    /* The text between two pieces of white space, by the rules.  Words are cut
     * off its begin: `taken` of n characters. */
    utf8proc_int32_t *c; /* [room] */
    int64_t n, taken, room;
    char *word; /* two bytes, and the word */
    size_t word_room;
};

struct mtlm_bert_words *mtlm_bert_words_create(
    const char *text, int64_t bytes, const struct mtlm_bert_rules *rules)
{
    struct mtlm_bert_words *w = mtlm_calloc(1, sizeof(*w));

    w->text = text;
    w->bytes = bytes;
    w->rules = *rules;
    return w;
}

void mtlm_bert_words_destroy(struct mtlm_bert_words *w)
{
    free(w->word);
    free(w->c);
    free(w);
}

static bool is_white(utf8proc_int32_t c)
{
    const utf8proc_category_t kind = utf8proc_category(c);

    return c == '\t' || c == '\n' || c == '\r' || kind == UTF8PROC_CATEGORY_ZS
           || kind == UTF8PROC_CATEGORY_ZL || kind == UTF8PROC_CATEGORY_ZP;
}

static bool is_left_out(const struct mtlm_bert_words *w, utf8proc_int32_t c)
{
    const utf8proc_category_t kind = utf8proc_category(c);

    return c == 0xfffd || kind == UTF8PROC_CATEGORY_CC
           || kind == UTF8PROC_CATEGORY_CF
           || (w->rules.hugging_face && kind == UTF8PROC_CATEGORY_CO);
}

static bool is_chinese(const struct mtlm_bert_words *w, utf8proc_int32_t c)
{
    if (w->rules.hugging_face && c >= 0x2b820 && c <= 0x2b91f)
        return false;
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf)
           || (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f)
           || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b820 && c <= 0x2ceaf)
           || (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

/* In ASCII also symbols that are no punctuation in Unicode, such as "$". */
static bool is_punctuation(utf8proc_int32_t c)
{
    const utf8proc_category_t kind = utf8proc_category(c);

    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96)
           || (c >= 123 && c <= 126)
           || (kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO);
}

/* Makes room for n more characters. */
static void make_room(struct mtlm_bert_words *w, int64_t n)
{
    if (w->n + n <= w->room)
        return;
    w->room = 2 * (w->n + n) + 64;
    w->c = mtlm_realloc(w->c, (size_t) w->room, sizeof(*w->c));
}

/* Returns the next character; -1 after the last. */
static utf8proc_int32_t next_character(struct mtlm_bert_words *w)
{
    while (w->at < w->bytes) {
        const utf8proc_int32_t c = mtlm_unicode_next(w->text, w->bytes, &w->at);

        if (c >= 0)
            return c;
    }
    return -1;
}

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return (x > y) - (x < y);
}

/* Sorts the marks of a letter in Unicode's order: by class, stable within a
 * class. */
static void order_marks(utf8proc_int32_t *c, const int64_t n)
{
    enum { INDEX_BITS = 32, CHARACTER_BITS = 21 };
    uint64_t *key = mtlm_calloc((size_t) n, sizeof(*key));

    for (int64_t i = 0; i < n; i++)
        key[i] = (uint64_t) utf8proc_get_property(c[i])->combining_class
                     << (INDEX_BITS + CHARACTER_BITS)
                 | (uint64_t) i << CHARACTER_BITS | (uint64_t) c[i];
    qsort(key, (size_t) n, sizeof(*key), by_key);
    for (int64_t i = 0; i < n; i++)
        c[i] =
            (utf8proc_int32_t) (key[i] & ((UINT64_C(1) << CHARACTER_BITS) - 1));
    free(key);
}

/* Sorts the marks of all letters and drops nonspacing marks. */
static void drop_accents(struct mtlm_bert_words *w)
{
    int64_t kept = 0;

    for (int64_t i = 0, end; i < w->n; i = end) {
        end = i + 1;
        if (!utf8proc_get_property(w->c[i])->combining_class)
            continue;
        while (end < w->n && utf8proc_get_property(w->c[end])->combining_class)
            end++;
        if (end > i + 1)
            order_marks(w->c + i, end - i);
    }
    for (int64_t i = 0; i < w->n; i++)
        if (utf8proc_category(w->c[i]) != UTF8PROC_CATEGORY_MN)
            w->c[kept++] = w->c[i];
    w->n = kept;
}

/* Writes what a character becomes to `to`; returns its length. */
static utf8proc_ssize_t change(const struct mtlm_bert_rules *rules,
                               utf8proc_int32_t c, bool final,
                               utf8proc_int32_t *to)
{
    int boundary = 0;

    if (rules->lower && c == 0x130) { /* an i, and a dot */
        to[0] = 'i';
        to[1] = 0x307;
        return 2;
    }
    if (rules->lower)
        c = c == 0x3a3 && final ? 0x3c2 : utf8proc_tolower(c);
    if (rules->strip_accents)
        return utf8proc_decompose_char(c, to, LONGEST, UTF8PROC_DECOMPOSE,
                                       &boundary);
    *to = c;
    return 1;
}

static void apply_rules(struct mtlm_bert_words *w)
{
    const struct mtlm_bert_rules *rules = &w->rules;
    const int64_t n = w->n;
    utf8proc_int32_t *c = w->c;
    bool ascii = true;

    for (int64_t i = 0; i < n; i++)
        ascii &= c[i] < 128;
    if (ascii) {
        for (int64_t i = 0; i < n && rules->lower; i++)
            c[i] += c[i] >= 'A' && c[i] <= 'Z' ? 'a' - 'A' : 0;
        return;
    }
    w->c = NULL;
    w->n = w->room = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool final = c[i] == 0x3a3 && !rules->hugging_face
                           && mtlm_unicode_ends_word(c, n, i);

        make_room(w, LONGEST);
        w->n += change(rules, c[i], final, w->c + w->n);
    }
    free(c);
    if (rules->strip_accents)
        drop_accents(w);
}

/* Reads text up to white space or a Chinese character, without dropped
 * characters; false: no text is left. */
static bool refill(struct mtlm_bert_words *w)
{
    utf8proc_int32_t c;

    w->n = w->taken = 0;
    while ((c = next_character(w)) >= 0) {
        if (is_white(c)) {
            if (w->n > 0)
                break;
        } else if (is_chinese(w, c)) {
            if (w->n > 0) {
                w->at -= c < 0x10000 ? 3 : 4; /* for the next call */
                break;
            }
            make_room(w, 1);
            w->c[w->n++] = c;
            break;
        } else if (!is_left_out(w, c)) {
            make_room(w, 1);
            w->c[w->n++] = c;
        }
    }
    if (w->n == 0)
        return false;
    if (w->rules.lower || w->rules.strip_accents)
        apply_rules(w);
    return true;
}

/* Returns n characters from taken on, in UTF-8. */
static char *write_word(struct mtlm_bert_words *w, int64_t n, int64_t *bytes)
{
    utf8proc_uint8_t *out;

    w->word = mtlm_make_room(w->word, &w->word_room, 4 * n + 2, 1);
    out = (utf8proc_uint8_t *) w->word + 2;
    for (int64_t i = 0; i < n; i++)
        out += utf8proc_encode_char(w->c[w->taken + i], out);
    w->taken += n;
    *bytes = (char *) out - (w->word + 2);
    return w->word + 2;
}

char *mtlm_bert_words_next(struct mtlm_bert_words *w, int64_t *bytes,
                           int64_t *characters)
{
    for (;;) {
        int64_t end;

        /* A decomposition can hold white space. */
        while (w->taken < w->n && is_white(w->c[w->taken]))
            w->taken++;
        if (w->taken == w->n) {
            if (!refill(w))
                return NULL;
            continue;
        }
        end = w->taken + 1;
        if (!is_punctuation(w->c[w->taken]))
            while (end < w->n && !is_punctuation(w->c[end])
                   && !is_white(w->c[end]))
                end++;
        *characters = end - w->taken;
        return write_word(w, *characters, bytes);
    }
}
