/* BERT's WordPiece tokenizer. */

#include "config.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "models/text/bert_words.h"
#include "models/text/vocabulary.h"
#include "models/text/wordpiece.h"
#include "runtime/base/memory.h"

struct wordpiece {
    struct mtlm_tokenizer tokenizer;
    struct mtlm_bert_vocab bert;
    struct mtlm_vocabulary vocabulary;
    int32_t unknown;
    struct mtlm_wordpiece_rules rules;
    struct mtlm_added_tokens added;
};

static bool continues(const struct mtlm_bert_vocab *vocab, int32_t before,
                      int32_t token)
{
    const struct wordpiece *w =
        (const void *) ((const char *) vocab
                        - offsetof(struct wordpiece, bert));
    const int64_t *begin = w->vocabulary.begin + token;

    (void) before;
    assert(token >= 0 && token < w->vocabulary.n);
    return begin[1] - begin[0] >= 2
           && memcmp(w->vocabulary.text + begin[0], "##", 2) == 0;
}

/* Returns the longest token at the begin of text, and its bytes; -1: none.
 * Tokens are UTF-8, and end with a character. */
static int32_t longest(const struct mtlm_vocabulary *v, const char *text,
                       int64_t bytes, int64_t *taken)
{
    if (bytes > v->longest)
        bytes = v->longest;
    for (; bytes > 0; bytes--) {
        const int32_t token = mtlm_vocabulary_find(v, text, bytes);

        if (token >= 0) {
            *taken = bytes;
            return token;
        }
    }
    return -1;
}

/* Writes the tokens of a word.  After the first token, "##" overwrites the two
 * bytes before the rest, which are already encoded. */
static int64_t cut(const struct wordpiece *w, char *word, int64_t bytes,
                   int32_t *tokens)
{
    int64_t n = 0, taken;

    for (int64_t at = 0; at < bytes; at += taken) {
        const int64_t mark = at ? 2 : 0;

        if (mark)
            memcpy(word + at - 2, "##", 2);
        tokens[n] = longest(&w->vocabulary, word + at - mark, bytes - at + mark,
                            &taken);
        taken -= mark;
        if (tokens[n] < 0 || taken <= 0) {
            tokens[0] = w->unknown;
            return 1;
        }
        n++;
    }
    return n;
}

static int64_t encode_words(const struct mtlm_added_tokens_text *t,
                            const char *text, int64_t bytes, bool more,
                            int32_t *tokens)
{
    const struct wordpiece *w = t->tokenizer;
    struct mtlm_bert_words *words =
        mtlm_bert_words_create(text, bytes, &w->rules.words);
    int64_t n = 0, length, characters;
    char *word;

    (void) more; /* the end of a line ends a word */
    while ((word = mtlm_bert_words_next(words, &length, &characters))) {
        int64_t found =
            mtlm_word_cache_find(t->cache, word, length, tokens + n);

        if (found < 0 && characters > w->rules.longest) {
            tokens[n] = w->unknown;
            found = 1;
        } else if (found < 0) {
            /* cut() overwrites the word */
            char kept[4 * MTLM_WORDPIECE_LONGEST];

            memcpy(kept, word, (size_t) length);
            found = cut(w, word, length, tokens + n);
            mtlm_word_cache_keep(t->cache, kept, length, tokens + n, found);
        }
        n += found;
    }
    mtlm_bert_words_destroy(words);
    return n;
}

static int64_t encode(const struct mtlm_tokenizer *tokenizer,
                      struct mtlm_word_cache *cache, const char *text,
                      int64_t bytes, bool more, int32_t *tokens)
{
    const struct wordpiece *w = (const struct wordpiece *) tokenizer;
    const struct mtlm_added_tokens_text t = {
        .tokenizer = w, .cache = cache, .encode = encode_words};

    return mtlm_added_tokens_encode(&w->added, &t, text, bytes, more, tokens);
}

static void destroy(struct mtlm_tokenizer *tokenizer)
{
    struct wordpiece *w = (struct wordpiece *) tokenizer;

    mtlm_vocabulary_free(&w->vocabulary);
    mtlm_added_tokens_free(&w->added);
    free(w);
}

static int find_special(struct wordpiece *w, const char *path,
                        struct mtlm_error *err)
{
    const struct {
        const char *text;
        int32_t *token;
    } special[] = {{"[PAD]", &w->bert.pad},
                   {"[UNK]", &w->unknown},
                   {"[CLS]", &w->bert.cls},
                   {"[SEP]", &w->bert.sep},
                   {"[MASK]", &w->bert.mask}};

    for (int i = 0; i < 5; i++) {
        const char *text = special[i].text;

        *special[i].token =
            mtlm_vocabulary_find(&w->vocabulary, text, (int64_t) strlen(text));
        if (*special[i].token < 0)
            return mtlm_error_set(err, MTLM_EXIT_INPUT,
                                  "%s: not a vocabulary of BERT: it has no "
                                  "token \"%s\"",
                                  path, text);
    }
    return 0;
}

const struct mtlm_tokenizer *mtlm_wordpiece_create(
    const char *name, const struct mtlm_wordpiece_rules *rules,
    const struct mtlm_vocabulary *vocabulary,
    const struct mtlm_added_tokens *added, const char *path,
    struct mtlm_error *err)
{
    struct wordpiece *w = mtlm_calloc(1, sizeof(*w));

    w->rules = *rules;
    w->vocabulary = *vocabulary;
    w->added = *added;
    if (find_special(w, path, err) < 0) {
        destroy(&w->tokenizer);
        return NULL;
    }
    w->tokenizer = (struct mtlm_tokenizer){.name = name,
                                           .vocab_size = w->vocabulary.n,
                                           .eod = w->bert.sep,
                                           .hash = w->vocabulary.hash,
                                           .bert = &w->bert,
                                           .encode = encode,
                                           .destroy = destroy};
    w->bert.size = w->bert.ordinary = (int32_t) w->vocabulary.n;
    w->bert.continues = continues;
    return &w->tokenizer;
}

const struct mtlm_tokenizer *mtlm_wordpiece_open(const char *vocab_file,
                                                 bool lower,
                                                 struct mtlm_error *err)
{
    const struct mtlm_wordpiece_rules rules = {
        .words = {.lower = lower, .strip_accents = lower},
        .longest = MTLM_WORDPIECE_LONGEST};
    const struct mtlm_added_tokens none = {0};
    struct mtlm_vocabulary vocabulary;

    if (mtlm_vocabulary_read_lines(&vocabulary, vocab_file, err) < 0)
        return NULL;
    return mtlm_wordpiece_create(lower ? "BertWordPieceLowerCase"
                                       : "BertWordPieceCase",
                                 &rules, &vocabulary, &none, vocab_file, err);
}

const char *mtlm_wordpiece_text(const struct mtlm_tokenizer *tokenizer,
                                int32_t token, int64_t *bytes)
{
    const struct wordpiece *w = (const struct wordpiece *) tokenizer;
    const int64_t *begin = w->vocabulary.begin + token;

    *bytes = begin[1] - begin[0];
    return w->vocabulary.text + begin[0];
}

const struct mtlm_bert_rules *mtlm_wordpiece_words(
    const struct mtlm_tokenizer *tokenizer)
{
    return &((const struct wordpiece *) tokenizer)->rules.words;
}
