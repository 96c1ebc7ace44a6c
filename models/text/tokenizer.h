#ifndef MTLM_TOKENIZER_H
#define MTLM_TOKENIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "models/text/bert_vocab.h"
#include "models/text/word_cache.h"
#include "runtime/base/error.h"

/* A tokenizer turns text into tokens.  Constant after creation: any number of
 * threads may use one, each with its own cache. */
struct mtlm_tokenizer {
    const char *name; /* as in --tokenizer-type */
    int64_t vocab_size;
    int32_t eod;   /* the token at the end of a document */
    uint64_t hash; /* of the tokens and merges of its files; 0: no files */
    const struct mtlm_bert_vocab *bert; /* NULL: not for a BERT */

    /* Writes the tokens of text [bytes], any bytes, to tokens [bytes].  Returns
     * the number of tokens.  cache may be NULL.
     *
     * A text may come in parts; more: another part follows.  A part ends with a
     * line, and the next part does not begin with text that
     * mtlm_tokenizer_joins().  The parts' tokens are those of the whole
     * text. */
    int64_t (*encode)(const struct mtlm_tokenizer *tokenizer,
                      struct mtlm_word_cache *cache, const char *text,
                      int64_t bytes, bool more, int32_t *tokens);

    /* Whether text [bytes >= 1] may begin with a part of the word before, if
     * that ends with white space.  NULL: if text begins with white space. */
    bool (*joins)(const struct mtlm_tokenizer *tokenizer, const char *text,
                  int64_t bytes);

    /* Returns the bytes of a token, which the tokenizer owns, and their number;
     * a token that is no text has 0.  NULL: this tokenizer is for a BERT. */
    const char *(*text)(const struct mtlm_tokenizer *tokenizer, int32_t token,
                        int64_t *bytes);

    void (*destroy)(struct mtlm_tokenizer *tokenizer); /* NULL: constant */
};

/* Files of a tokenizer; NULL: not given. */
struct mtlm_tokenizer_files {
    const char *vocab, *merge; /* vocab.json and merges.txt, or vocab.txt */
    const char *model;         /* tokenizer.json, or its directory */
};

/* Opens the tokenizer of a type with its files; the caller closes the
 * tokenizer.  NULL on failure.  MTLM_EXIT_USAGE, with the known
 * types: no such type, or other files are needed.  MTLM_EXIT_INPUT: a file
 * breaks its format. */
const struct mtlm_tokenizer *mtlm_tokenizer_open(
    const char *type, const struct mtlm_tokenizer_files *files,
    struct mtlm_error *err);

/* Frees the tokenizer. */
void mtlm_tokenizer_close(const struct mtlm_tokenizer *tokenizer);

/* Returns one line about the tokenizer, which the caller frees; NULL for
 * NULL. */
char *mtlm_tokenizer_describe(const struct mtlm_tokenizer *tokenizer);

/* Whether text [bytes >= 1] may begin with a part of the word before, if that
 * ends with white space. */
bool mtlm_tokenizer_joins(const struct mtlm_tokenizer *tokenizer,
                          const char *text, int64_t bytes);

/* Whether text [bytes >= 1] begins with Unicode white space. */
bool mtlm_tokenizer_white_space(const char *text, int64_t bytes);

#endif /* MTLM_TOKENIZER_H */
