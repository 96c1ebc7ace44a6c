/* A context of SQuAD in words and tokens. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "models/task/python_text.h"
#include "models/task/squad_document.h"
#include "models/text/unicode.h"
#include "runtime/base/memory.h"

static bool separates(int32_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == 0x202f;
}

/* Cuts the text, of these bytes, into words. */
static void cut_words(struct mtlm_squad_document *d, int64_t bytes)
{
    bool within = false;

    d->word_of = mtlm_calloc((size_t) bytes + 1, sizeof(*d->word_of));
    d->begin = mtlm_calloc((size_t) bytes + 1, sizeof(*d->begin));
    d->end = mtlm_calloc((size_t) bytes + 1, sizeof(*d->end));
    for (int64_t at = 0; at < bytes;) {
        const int64_t begin = at;

        if (separates(mtlm_unicode_next(d->text, bytes, &at))) {
            within = false;
        } else {
            if (!within)
                d->begin[d->words++] = begin;
            d->end[d->words - 1] = at;
            within = true;
        }
        d->word_of[d->characters++] = (int32_t) d->words - 1;
    }
}

static void cut_tokens(struct mtlm_squad_document *d,
                       const struct mtlm_tokenizer *tokenizer,
                       struct mtlm_word_cache *cache, int64_t bytes)
{
    d->token = mtlm_calloc((size_t) bytes + 1, sizeof(*d->token));
    d->word_of_token =
        mtlm_calloc((size_t) bytes + 1, sizeof(*d->word_of_token));
    d->first_token =
        mtlm_calloc((size_t) d->words + 1, sizeof(*d->first_token));
    for (int64_t w = 0; w < d->words; w++) {
        const int64_t n = tokenizer->encode(
            tokenizer, cache, d->text + d->begin[w], d->end[w] - d->begin[w],
            false, d->token + d->tokens);

        for (int64_t i = 0; i < n; i++)
            d->word_of_token[d->tokens++] = (int32_t) w;
        d->first_token[w + 1] = (int32_t) d->tokens;
    }
}

void mtlm_squad_document_read(struct mtlm_squad_document *d,
                              const struct mtlm_tokenizer *tokenizer,
                              struct mtlm_word_cache *cache, const char *text)
{
    const int64_t bytes = (int64_t) strlen(text);

    *d = (struct mtlm_squad_document){.text = text};
    cut_words(d, bytes);
    cut_tokens(d, tokenizer, cache, bytes);
}

void mtlm_squad_document_free(struct mtlm_squad_document *d)
{
    free(d->word_of);
    free(d->begin);
    free(d->end);
    free(d->first_token);
    free(d->token);
    free(d->word_of_token);
    *d = (struct mtlm_squad_document){0};
}

char *mtlm_squad_document_words(const struct mtlm_squad_document *d,
                                int64_t first, int64_t last)
{
    char *text = mtlm_calloc((size_t) (d->end[last] - d->begin[first]) + 1, 1);
    char *end = text;

    for (int64_t w = first; w <= last; w++) {
        if (w > first)
            *end++ = ' ';
        end = mempcpy(end, d->text + d->begin[w],
                      (size_t) (d->end[w] - d->begin[w]));
    }
    return text;
}

/* Whether words first .. last hold the answer. */
static bool hold(const struct mtlm_squad_document *d, int64_t first,
                 int64_t last, const char *answer)
{
    char *words = mtlm_squad_document_words(d, first, last);
    char *joined = mtlm_python_text_squeeze(answer);
    const bool found = strstr(words, joined) != NULL;

    free(words);
    free(joined);
    return found;
}

/* Makes *first .. *last the first run of the answer's tokens in them, if there
 * is one. */
static void improve(const struct mtlm_squad_document *d,
                    const struct mtlm_tokenizer *tokenizer, const char *answer,
                    int64_t *first, int64_t *last)
{
    const int64_t bytes = (int64_t) strlen(answer);
    int32_t *token = mtlm_calloc((size_t) bytes + 1, sizeof(*token));
    const int64_t n =
        tokenizer->encode(tokenizer, NULL, answer, bytes, false, token);

    for (int64_t i = *first; n > 0 && i + n - 1 <= *last; i++)
        if (memcmp(d->token + i, token, (size_t) n * sizeof(*token)) == 0) {
            *first = i;
            *last = i + n - 1;
            break;
        }
    free(token);
}

bool mtlm_squad_document_find(const struct mtlm_squad_document *d,
                              const struct mtlm_tokenizer *tokenizer,
                              const char *answer, int64_t character,
                              int64_t *first, int64_t *last)
{
    const int64_t a = d->word_of[character];
    const int64_t b =
        d->word_of[character + mtlm_unicode_characters(answer) - 1];

    if (a < 0 || !hold(d, a, b, answer))
        return false;
    *first = d->first_token[a];
    *last = d->first_token[b + 1] - 1;
    if (*last < *first)
        return false;
    improve(d, tokenizer, answer, first, last);
    return true;
}
