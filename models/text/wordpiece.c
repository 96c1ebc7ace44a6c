/* BERT's WordPiece tokenizer. */

#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "models/text/bert_words.h"
#include "models/text/vocabulary.h"
#include "models/text/wordpiece.h"
#include "runtime/base/memory.h"

enum { LONGEST_WORD = 200 }; /* characters */

struct wordpiece {
    struct mtlm_tokenizer tokenizer;
    struct mtlm_bert_vocab bert;
    struct mtlm_vocabulary vocabulary;
    int32_t unknown;
    bool lower;
};

static bool continues(const struct mtlm_bert_vocab *vocab, int32_t before,
                      int32_t token)
{
    const struct wordpiece *w =
        (const void *) ((const char *) vocab
                        - offsetof(struct wordpiece, bert));
    const int64_t *begin = w->vocabulary.begin + token;

    (void) before;
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

static int64_t encode(const struct mtlm_tokenizer *tokenizer,
                      struct mtlm_word_cache *cache, const char *text,
                      int64_t bytes, bool more, int32_t *tokens)
{
    const struct wordpiece *w = (const struct wordpiece *) tokenizer;
    struct mtlm_bert_words *words =
        mtlm_bert_words_create(text, bytes, w->lower);
    int64_t n = 0, length, characters;
    char *word;

    (void) more; /* the end of a line ends a word */
    while ((word = mtlm_bert_words_next(words, &length, &characters))) {
        int64_t found = mtlm_word_cache_find(cache, word, length, tokens + n);

        if (found < 0 && characters > LONGEST_WORD) {
            tokens[n] = w->unknown;
            found = 1;
        } else if (found < 0) {
            char kept[4 * LONGEST_WORD]; /* cut() overwrites the word */

            memcpy(kept, word, (size_t) length);
            found = cut(w, word, length, tokens + n);
            mtlm_word_cache_keep(cache, kept, length, tokens + n, found);
        }
        n += found;
    }
    mtlm_bert_words_destroy(words);
    return n;
}

static void destroy(struct mtlm_tokenizer *tokenizer)
{
    struct wordpiece *w = (struct wordpiece *) tokenizer;

    mtlm_vocabulary_free(&w->vocabulary);
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
                                  "line \"%s\"",
                                  path, text);
    }
    return 0;
}

const struct mtlm_tokenizer *mtlm_wordpiece_open(const char *vocab_file,
                                                 bool lower,
                                                 struct mtlm_error *err)
{
    struct wordpiece *w = mtlm_calloc(1, sizeof(*w));

    w->lower = lower;
    if (mtlm_vocabulary_read_lines(&w->vocabulary, vocab_file, err) < 0
        || find_special(w, vocab_file, err) < 0) {
        destroy(&w->tokenizer);
        return NULL;
    }
    w->tokenizer = (struct mtlm_tokenizer){
        .name = lower ? "BertWordPieceLowerCase" : "BertWordPieceCase",
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
