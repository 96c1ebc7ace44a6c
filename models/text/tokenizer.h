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
     * line, and the next part does not begin with white space
     * (mtlm_tokenizer_white_space()).  The parts' tokens are those of the whole
     * text. */
    int64_t (*encode)(const struct mtlm_tokenizer *tokenizer,
                      struct mtlm_word_cache *cache, const char *text,
                      int64_t bytes, bool more, int32_t *tokens);

    /* Returns the bytes of a token, which the tokenizer owns, and their number;
     * a token that is no text has 0.  NULL: this tokenizer is for a BERT. */
    const char *(*text)(const struct mtlm_tokenizer *tokenizer, int32_t token,
                        int64_t *bytes);

    void (*destroy)(struct mtlm_tokenizer *tokenizer); /* NULL: constant */
};

/* Opens the tokenizer of a type with its files (NULL: not given); the caller
 * closes the tokenizer.  NULL on failure.  MTLM_EXIT_USAGE, with the known
 * types: no such type, or other files are needed.  MTLM_EXIT_INPUT: a file
 * breaks its format. */
const struct mtlm_tokenizer *mtlm_tokenizer_open(const char *type,
                                                 const char *vocab_file,
                                                 const char *merge_file,
                                                 struct mtlm_error *err);

/* Frees the tokenizer. */
void mtlm_tokenizer_close(const struct mtlm_tokenizer *tokenizer);

/* Returns one line about the tokenizer, which the caller frees; NULL for
 * NULL. */
char *mtlm_tokenizer_describe(const struct mtlm_tokenizer *tokenizer);

/* Whether text [bytes >= 1] begins with Unicode white space. */
bool mtlm_tokenizer_white_space(const char *text, int64_t bytes);

#endif /* MTLM_TOKENIZER_H */
